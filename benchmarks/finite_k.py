"""Exact finite-k risks: the binned method against one log-sum-exp pass, the direct quadrature and Monte Carlo.

    python benchmarks/finite_k.py [--threads 1] [--repeats 5] [--clock wall]

Times are medians, and ratios are taken within one run. `--clock cpu` counts the processor's time instead of the wall
clock's, for a machine that is busy with other things. The log-sum-exp pass is `torch.logsumexp(S / τ, 1)` over the
finished similarity matrix S in float64; the binned method starts from the embeddings, so it pays for S as well.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable

import torch

from infonce.theory.finite_k import finite_risks

ANCHORS, POOL, DIMENSION = 2_000, 10_000, 32
NEGATIVES = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 100_000, 300_000, 1_000_000)
DIRECT_ANCHORS = 100  # the direct quadrature is timed on these and scaled; its cost is linear in the anchors
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
MONTE_CARLO = {16: 4_000, 256: 250}  # k: draws


def clustered(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ten clusters, as of a trained encoder."""
    centres = torch.randn(10, DIMENSION, generator=generator, dtype=torch.float64)

    def rows(count: int) -> torch.Tensor:
        chosen = centres[torch.randint(10, (count,), generator=generator)]
        noise = torch.randn(count, DIMENSION, generator=generator, dtype=torch.float64)
        return torch.nn.functional.normalize(chosen + 0.7 * noise, dim=1)

    anchors, pool = rows(ANCHORS), rows(POOL)
    noise = torch.randn(anchors.shape, generator=generator, dtype=torch.float64)
    return anchors, torch.nn.functional.normalize(anchors + 0.2 * noise, dim=1), pool


def median_seconds(function: Callable[[], object], repeats: int, now: Callable[[], float]) -> float:
    times = []
    for _ in range(repeats + 1):
        start = now()
        function()
        times.append(now() - start)
    return statistics.median(times[1:])


def blocked_log_sum_exp(similarity: torch.Tensor, tau: float) -> torch.Tensor:
    """The same pass in blocks that stay in the cache: the floor."""
    return torch.cat([torch.logsumexp(block / tau, 1) for block in similarity.split(32)])


def monte_carlo(
    anchors: torch.Tensor,
    positives: torch.Tensor,
    pool: torch.Tensor,
    tau: float,
    k: int,
    draws: int,
    now: Callable[[], float],
) -> tuple[float, float]:
    """(seconds, standard error of one anchor) with negatives of each anchor's own and the control variate."""
    generator = torch.Generator().manual_seed(1)
    start = now()
    r = ((anchors @ pool.T - (anchors * positives).sum(1, keepdim=True)) / tau).exp()
    picked = torch.randint(len(pool), (len(anchors), draws * k), generator=generator)
    means = r.gather(1, picked).view(len(anchors), draws, k).mean(2)
    values = torch.log(means + 1 / k) - (means / r.mean(1, keepdim=True) - 1)
    error = float((values.std(1) / math.sqrt(draws)).mean())
    return now() - start, error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    options = parser.parse_args()
    now = CLOCKS[options.clock]
    torch.set_num_threads(options.threads)
    anchors, positives, pool = clustered(torch.Generator().manual_seed(0))
    similarity = anchors @ pool.T
    few = slice(0, DIRECT_ANCHORS)
    print(f"{ANCHORS} anchors x {POOL} pool points, d = {DIMENSION}, {len(NEGATIVES)} k, {options.threads} thread(s)\n")
    print("| τ | log-sum-exp, s | in blocks, s | binned, s | ratio | ratio to blocks | direct ratio | largest error |")
    print("|---|---|---|---|---|---|---|---|")
    for tau in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        plain = median_seconds(lambda t=tau: torch.logsumexp(similarity / t, 1), options.repeats, now)
        blocks = median_seconds(lambda t=tau: blocked_log_sum_exp(similarity, t), options.repeats, now)
        binned = median_seconds(
            lambda t=tau: finite_risks(anchors, positives, pool, t, NEGATIVES), options.repeats, now
        )
        start = now()
        reference = finite_risks(anchors[few], positives[few], pool, tau, NEGATIVES, method="direct")
        direct = (now() - start) * ANCHORS / DIRECT_ANCHORS
        fast = finite_risks(anchors[few], positives[few], pool, tau, NEGATIVES)
        error = max(abs(fast.risk(loss) - reference.risk(loss)).max() for loss in ("infonce", "dcl"))
        print(
            f"| {tau} | {plain:.3f} | {blocks:.3f} | {binned:.3f} | {binned / plain:.1f} | {binned / blocks:.1f} | "
            f"{direct / plain:.0f} | {error:.1e} |"
        )
    print(
        "\n| τ | k | Monte Carlo, s | its standard error | s for an error of 1e-7 | exact, all k and both losses, s |"
    )
    print("|---|---|---|---|---|---|")
    for tau in (0.1, 0.5):
        exact = median_seconds(lambda t=tau: finite_risks(anchors[few], positives[few], pool, t, NEGATIVES), 3, now)
        for k, draws in MONTE_CARLO.items():
            seconds, error = monte_carlo(anchors[few], positives[few], pool, tau, k, draws, now)
            equal = seconds * (error / 1e-7) ** 2
            print(f"| {tau} | {k} | {seconds:.2f} | {error:.1e} | {equal:.1e} | {exact:.3f} |")


if __name__ == "__main__":
    main()
