"""Time and size of the page of about a thousand runs.

    python benchmarks/report.py [--rounds 3]

The tables are those of the tests' model: eight selections (data set, positives, loss) of 20 cells (five k, four τ) with
six seeds each. Medians of the wall clock and of the processor's time of all processes that draw.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from infonce.report import build
from tests.report.model import make_tables, specs


def processor_seconds():
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    grid = specs(datasets=("digits", "cifar10"), losses=("infonce", "dcl"), seeds=range(6))
    tables = make_tables(grid)
    clock, processor = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            began, used = time.perf_counter(), processor_seconds()
            page = build(tables, Path(folder), "About a thousand runs", grid)
            clock.append(time.perf_counter() - began)
            processor.append(processor_seconds() - used)
            size = page.stat().st_size
    print(
        f"{len(grid)} runs: {statistics.median(clock):.0f} s by the clock ({min(clock):.0f} to {max(clock):.0f}), ",
        end="",
    )
    print(f"{statistics.median(processor):.0f} s of processor time, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
