"""Time and peak memory of the search-kernel statistics and the exact risks over a large pool.

    python benchmarks/kernels.py [--anchors 100000] [--pool 100000] [--dimension 128] [--device cpu] [--threads 2]

The whole similarity matrix of the default sizes would take 80 GB in float64.
"""

import argparse
import resource
import time

import torch

from infonce.theory.finite_k import finite_risks
from infonce.theory.kernels import kernel_statistics, standard_error

NEGATIVES = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 100_000, 1_000_000)


def unit_rows(count: int, dimension: int, seed: int, device: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(count, dimension, generator=generator), dim=1).to(device)


def peak_mib(device: str) -> float:
    if device != "cpu":
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--anchors", type=int, default=100_000)
    parser.add_argument("--pool", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=128)
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    anchors = unit_rows(options.anchors, options.dimension, 0, options.device)
    positives = torch.nn.functional.normalize(anchors + 0.05 * unit_rows(*anchors.shape, 1, options.device), dim=1)
    pool = unit_rows(options.pool, options.dimension, 2, options.device)
    print(f"{options.anchors} x {options.pool}, d = {options.dimension}, τ = {options.temperature}, {options.device}")
    print(f"before: peak {peak_mib(options.device):.0f} MiB")
    start = time.perf_counter()
    statistics = kernel_statistics(anchors, positives, pool, options.temperature)
    error = standard_error(statistics.cross_entropy, statistics.pool_influence)
    print(
        f"kernel statistics: {time.perf_counter() - start:.0f} s, peak {peak_mib(options.device):.0f} MiB, "
        f"CE = {statistics.cross_entropy.mean():.6f} ± {error:.6f}"
    )
    start = time.perf_counter()
    risks = finite_risks(anchors, positives, pool, options.temperature, NEGATIVES)
    print(
        f"exact risks at {len(NEGATIVES)} k, both losses: {time.perf_counter() - start:.0f} s, "
        f"peak {peak_mib(options.device):.0f} MiB, R(1) = {risks.risk('infonce')[0].mean():.6f}"
    )


if __name__ == "__main__":
    main()
