"""A workflow is parsed again in every job, so its parsing must stay light."""

import statistics
import subprocess
import sys
import time

from snakemake.io import expand

from infonce.plan.workflow import Workflow
from infonce.spec.run import AXES, RUN_PATTERN
from tests.workflow.conftest import SMALL

FILES = ("weights.safetensors", "run.parquet", "curves.parquet", "terms.parquet", "history.parquet")


def grid(seeds: int) -> dict:
    axes = {
        "negatives": [2**power for power in range(10)],
        "temperatures": [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1],
        "dimensions": [4, 8, 16, 32, 64],
        "seeds": list(range(seeds)),
    }
    return SMALL | axes


def parse_seconds(seeds: int) -> tuple[float, Workflow]:
    """Processor time of all that the Snakefile asks before jobs are planned."""
    values = grid(seeds)
    began = time.process_time()
    workflow = Workflow(values)
    workflow.constraints()
    for file in FILES:
        workflow.of_every_run(file)
    return time.process_time() - began, workflow


def bare_seconds(workflow: Workflow) -> float:
    """Processor time in which Snakemake's own `expand` makes the same lists of files."""
    values = {axis: sorted({run.axes()[axis] for run in workflow.runs.values()}) for axis in AXES}
    began = time.process_time()
    lists = [expand(f"results/runs/{RUN_PATTERN}/{file}", **values) for file in FILES]
    seconds = time.process_time() - began
    assert len(lists[0]) == len(workflow.runs)
    return seconds


def test_parsing_takes_at_most_twice_the_bare_expansion_and_grows_as_the_grid():
    rounds = [(parse_seconds(10), parse_seconds(1)) for _ in range(3)]
    large = statistics.median(seconds for (seconds, _), _ in rounds)
    small = statistics.median(seconds for _, (seconds, _) in rounds)
    workflow = rounds[0][0][1]
    assert len(workflow.runs) == 10_000
    bare = statistics.median(bare_seconds(workflow) for _ in range(3))
    assert large < 2 * bare, (large, bare)
    assert large < 25 * small, (large, small)


def test_nothing_heavy_is_imported_while_the_workflow_is_parsed():
    code = "import sys, infonce.plan.workflow; print([n for n in ('torch', 'pandas', 'pyarrow') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
