"""What a grid takes: the sum of the estimates of its runs, and of the median of what finished runs took."""

import io
import json

import pytest
import yaml
from rich.console import Console

from infonce.cluster.cost import cost, hours
from infonce.plan.costs import evaluation_seconds, training_seconds
from infonce.plan.workflow import Workflow
from tests.workflow.conftest import SMALL


@pytest.fixture
def workflow() -> Workflow:
    grid = SMALL | {
        "positives": ["augment"],
        "negatives": [1, 4, 16],
        "resources": {"train": {"gpus": 2}, "evaluate": {"threads": 3}},
    }
    return Workflow(yaml.safe_load(yaml.safe_dump(grid)))


def finished(workflow: Workflow, folder, stage: str, seconds: list[float]) -> None:
    """Snakemake's records of the first runs of the grid."""
    for run, taken in zip(workflow.runs.values(), seconds, strict=False):
        path = folder / workflow.benchmark(stage).format(**run.axes())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"s": taken}) + "\n")


def test_hours_are_the_sum_of_the_estimates_in_devices(workflow, tmp_path):
    train, evaluate = hours(workflow, tmp_path)
    runs = list(workflow.runs.values())
    assert (train.kind[0], train.unit, train.runs, train.measured) == ("train", "GPU", len(runs), None)
    assert train.estimated == pytest.approx(2 * sum(training_seconds(run, 2, 1) for run in runs) / 3600)
    options = workflow.config.evaluation
    assert (evaluate.kind[0], evaluate.unit) == ("evaluate", "core")
    assert evaluate.estimated == pytest.approx(3 * sum(evaluation_seconds(run, options, 0, 3) for run in runs) / 3600)


def test_finished_runs_stand_for_all_of_their_kind(workflow, tmp_path):
    finished(workflow, tmp_path, "train", [100.0, 300.0, 200.0])
    train, evaluate = hours(workflow, tmp_path)
    assert train.measured == pytest.approx(2 * 200.0 * train.runs / 3600)
    assert evaluate.measured is None


def shown(workflow, folder) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(cost(workflow, folder))
    return console.export_text()


def test_a_sum_by_finished_runs_leaves_nothing_out(workflow, tmp_path):
    assert shown(workflow, tmp_path).count("none yet") == 2
    finished(workflow, tmp_path, "train", [36_000.0] * 3)
    assert "none yet" in shown(workflow, tmp_path)
    finished(workflow, tmp_path, "evaluate", [3600.0] * 3)
    last = shown(workflow, tmp_path).splitlines()[-1]
    runs = len(workflow.runs)
    assert f"{20 * runs} GPU h + {3 * runs} core h" in last.replace(",", "")
