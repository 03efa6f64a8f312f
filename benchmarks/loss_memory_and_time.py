"""Loss and gradient at k up to 65,536, against info-nce-pytorch and pytorch-metric-learning: time and peak memory.

    python benchmarks/loss_memory_and_time.py [--batch 256] [--dimension 128] [--negatives 16384 65536] [--rounds 7]

Both libraries give every anchor of the batch the same k negatives, since their own per-anchor form would need a
tensor of batch·k·dimension. Ours is measured in two ways: `shared` is their problem, so that the work is the same;
`own` is what the training does, k independent draws for each anchor from a pool of k embeddings. Every measurement is
a process of its own; the ways take turns, so that whatever else the machine does meets all of them alike. Memory is the
rise of the resident set's peak over the inputs, divided by one matrix of batch·k logits in float32.
"""

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch.nn.functional import normalize

TEMPERATURE = 0.1


def unit_rows(count, dimension, seed):
    return normalize(torch.randn(count, dimension, generator=torch.Generator().manual_seed(seed)), dim=1)


def ours(anchors, positives, pool, own):
    from infonce.random import integers
    from infonce.training.pooled import pooled_loss

    k = len(pool)
    everything = torch.arange(k)
    rows, columns = torch.arange(len(anchors)), torch.arange(k)

    def negatives_of(part):
        if own:
            return integers(1, k, rows[part, None], columns)
        return everything.expand(part.stop - part.start, k)

    return pooled_loss(anchors, positives, pool, negatives_of, k, TEMPERATURE, "infonce").losses.mean()


def info_nce_pytorch(anchors, positives, pool):
    from info_nce import InfoNCE

    loss = InfoNCE(temperature=TEMPERATURE, negative_mode="unpaired")(anchors, positives, pool)
    loss.backward()
    return loss


def pytorch_metric_learning(anchors, positives, pool):
    from pytorch_metric_learning.losses import NTXentLoss

    labels = torch.arange(len(anchors))
    reference = torch.cat([positives, pool])
    others = torch.full((len(pool),), len(anchors))
    loss = NTXentLoss(temperature=TEMPERATURE)(
        anchors, labels, ref_emb=reference, ref_labels=torch.cat([labels, others])
    )
    loss.backward()
    return loss


def peak_bytes():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def measure(way, batch, k, dimension, threads):
    """Print the seconds of the second call and the rise of the peak as JSON."""
    torch.set_num_threads(threads)
    inputs = [unit_rows(count, dimension, seed) for seed, count in enumerate((batch, batch, k))]
    calls = {
        "infonce, own negatives": lambda: ours(*inputs, own=True),
        "infonce, shared negatives": lambda: ours(*inputs, own=False),
        "info-nce-pytorch": lambda: info_nce_pytorch(*[part.clone().requires_grad_() for part in inputs]),
        "pytorch-metric-learning": lambda: pytorch_metric_learning(*[part.clone().requires_grad_() for part in inputs]),
    }
    small = [part[:8] for part in inputs]
    inputs, whole = small, inputs
    calls[way]()  # imports and code paths
    inputs = whole
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    before = peak_bytes()
    value = calls[way]()
    peak = peak_bytes() - before
    began, cpu_began = time.perf_counter(), time.process_time()
    calls[way]()
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "peak": peak, "loss": float(value)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--dimension", type=int, default=128)
    parser.add_argument("--negatives", type=int, nargs="+", default=[4096, 16384, 65536])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--metric-learning-up-to", type=int, default=4096, help="it takes batch·k² memory")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.batch, options.negatives[0], options.dimension, options.threads)
        return
    for k in options.negatives:
        compare(options, k)


def compare(options, k):
    ways = ["infonce, own negatives", "infonce, shared negatives"]
    if importlib.util.find_spec("info_nce"):
        ways.append("info-nce-pytorch")
    if importlib.util.find_spec("pytorch_metric_learning") and k <= options.metric_learning_up_to:
        ways.append("pytorch-metric-learning")
    results = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way in ways:
            command = [sys.executable, __file__, "--measure", way, "--negatives", str(k), "--batch", str(options.batch)]
            command += ["--dimension", str(options.dimension), "--threads", str(options.threads)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{way}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
                continue
            results[way].append(json.loads(done.stdout))
    logits = options.batch * k * 4
    print(
        f"\nbatch {options.batch}, k = {k}, d = {options.dimension}, {options.threads} threads, "
        f"torch {torch.__version__}"
    )
    print("| | seconds | ratio | CPU seconds | ratio | peak, matrices of logits |\n|---|---|---|---|---|---|")
    reference = {column: median(results[ways[0]], column) for column in ("seconds", "cpu_seconds")}
    for way, rows in results.items():
        if rows:
            times = [median(rows, column) for column in reference]
            cells = [
                f"{time:.3f} | {time / of_ours:.2f}" for time, of_ours in zip(times, reference.values(), strict=True)
            ]
            print(f"| {way} | {' | '.join(cells)} | {median(rows, 'peak') / logits:.2f} |", flush=True)


def median(rows, column):
    return statistics.median(row[column] for row in rows)


if __name__ == "__main__":
    main()
