"""The states of a grid, from files as Snakemake and the stages leave them."""

import io
import json
import subprocess
import sys

import pytest
import yaml
from rich.console import Console

from infonce.cluster.queue import QueuedJob
from infonce.cluster.recover import snakemakes
from infonce.cluster.states import FINISHED, State, states
from infonce.cluster.status import duration, status
from infonce.plan.workflow import Workflow
from tests.workflow.conftest import SMALL


@pytest.fixture
def workflow(tmp_path):
    file = tmp_path / "grid.yaml"
    values = SMALL | {"positives": ["augment"]}
    file.write_text(yaml.safe_dump(values))
    return Workflow(values, [file])


def leave(folder, workflow, run, *, log=None, finished=(), seconds=None):
    """The files of a run as its stages leave them."""
    for stage in finished:
        path = folder / workflow.results / "runs" / run.token / FINISHED[stage]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        if seconds is not None:
            record = folder / workflow.benchmark(stage).format(**run.axes())
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_text(json.dumps({"s": seconds}) + "\n")
    if log:
        path = folder / f"{workflow.log(log).format(**run.axes())}.attempts"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def job(folder, run, state, rule="train", run_seconds=None, seconds_left=None):
    wildcards = "_".join(run.axes().values())
    return QueuedJob("7", state, run_seconds, seconds_left, "infonce_1", str(folder), rule, wildcards)


def test_each_state(tmp_path, workflow):
    done, failed, running, _ = workflow.runs.values()
    leave(tmp_path, workflow, done, log="evaluate", finished=("train", "evaluate"), seconds=100)
    leave(tmp_path, workflow, failed, log="train")
    leave(tmp_path, workflow, running, log="train")
    queued = [job(tmp_path, running, "RUNNING", run_seconds=30, seconds_left=600)]
    found = states(workflow, tmp_path, queued, snakemake_is_at_work=False)
    assert [run.state for run in found] == [State.DONE, State.FAILED, State.RUNNING, State.MISSING]
    assert [run.seconds_left for run in found] == [None, 200, 170, 200]
    assert found[2].limit_seconds == 600
    assert found[1].log.exists()


def test_a_trained_run_is_in_evaluation(tmp_path, workflow):
    run = next(iter(workflow.runs.values()))
    leave(tmp_path, workflow, run, log="train", finished=("train",))
    first, *_ = states(workflow, tmp_path, [], snakemake_is_at_work=True)
    assert (first.state, first.stage) == (State.WAITING, "evaluate")
    leave(tmp_path, workflow, run, log="evaluate")
    first, *_ = states(workflow, tmp_path, [], snakemake_is_at_work=True)
    assert (first.state, first.stage) == (State.FAILED, "evaluate")


def test_a_job_of_another_folder_is_not_this_grids(tmp_path, workflow):
    run = next(iter(workflow.runs.values()))
    queued = [job(tmp_path / "elsewhere", run, "RUNNING", run_seconds=1)]
    assert states(workflow, tmp_path, queued, snakemake_is_at_work=False)[0].state is State.MISSING
    queued = [job(tmp_path, run, "PENDING")]
    assert states(workflow, tmp_path, queued, snakemake_is_at_work=False)[0].state is State.WAITING


def test_a_stage_on_this_machine_runs(tmp_path, workflow):
    run = next(iter(workflow.runs.values()))
    weights = f"{workflow.results}/runs/{run.token}/weights.safetensors"
    code = "import sys, time; print('here', flush=True); time.sleep(60)"
    words = ["infonce", "train", "--weights", weights]
    with subprocess.Popen([sys.executable, "-c", code, *words], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        first, *_ = states(workflow, tmp_path, [], snakemake_is_at_work=True)
        process.kill()
    assert (first.state, first.stage) == (State.RUNNING, "train")
    assert 0 <= first.run_seconds < 30


def test_no_snakemake_is_at_work_in_an_empty_folder(tmp_path):
    assert snakemakes(tmp_path) == []


def test_the_table_counts_and_lists(tmp_path, workflow, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))  # no squeue
    done, failed, *_ = workflow.runs.values()
    leave(tmp_path, workflow, done, log="evaluate", finished=("train", "evaluate"), seconds=120)
    leave(tmp_path, workflow, failed, log="train")
    console = Console(file=io.StringIO(), width=160)
    console.print(status(workflow, tmp_path))
    shown = console.file.getvalue()
    assert "digits augment mlp normalize d=8 infonce n=256 shared" in shown
    assert "4 runs: 1 done, 1 failed, 2 missing. About 12 min left" in shown
    assert f"results/logs/train/{failed.token}.log.attempts" in shown
    assert "missing" not in shown.split("stage")[1]
    console.print(status(workflow, tmp_path, everything=True))
    assert console.file.getvalue().split("stage")[-1].count("missing") == 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0, "0 s"),
        (99.4, "99 s"),
        (120, "2 min"),
        (3 * 3600 + 240, "3 h 04 min"),
        (86400 * 3 + 3600, "3 d 1 h"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text
