"""A clock that jumps: between two runs, while a job runs, and under everything that measures time."""

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from infonce.data.folders import alone
from infonce.plan.grid import expand, load_config
from infonce.records.tables import read_table, without_provenance
from infonce.spec.source import read_config_files
from infonce.stages import prepare
from tests.workflow.conftest import ROOT, Workflow, finished_grid, workflow_environment
from tests.workflow.test_faults import TINY

pytestmark = pytest.mark.workflow

ONE = TINY | {"temperatures": [1]}
DAY, YEAR = 86_400, 31_536_000
# libfaketime cannot leave the monotonic clock true, as a jump of the real clock does: Python's sleep then fails.
WRONG_CLOCK = """
import os, time
told, told_ns = time.time, time.time_ns
def offset():
    with open(os.environ["CLOCK_OFFSET"]) as file:
        return int(file.read())
time.time = lambda: told() + offset()
time.time_ns = lambda: told_ns() + offset() * 10**9
"""


@pytest.fixture
def clock(tmp_path):
    """Sets the clock of processes with its environment to so many seconds from the truth; stopwatches stay true."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(WRONG_CLOCK)
    return Clock(tmp_path / "clock")


class Clock:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.set(0)
        paths = f"{folder}{os.pathsep}{ROOT}"
        self.environment = workflow_environment() | {"PYTHONPATH": paths, "CLOCK_OFFSET": str(folder / "offset")}

    def set(self, offset: int) -> None:
        (self.folder / "next").write_text(str(offset))
        (self.folder / "next").replace(self.folder / "offset")

    @contextlib.contextmanager
    def jumping(self):
        stopped = threading.Event()

        def jump() -> None:
            for offset in itertools.cycle([-YEAR, 0, YEAR, -DAY, DAY]):
                self.set(offset)
                if stopped.wait(0.2):
                    return

        thread = threading.Thread(target=jump)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()


@pytest.fixture(scope="module")
def one(tmp_path_factory) -> Workflow:
    """A finished grid of one run."""
    return finished_grid(tmp_path_factory.mktemp("one"), **ONE)


def test_a_clock_set_back_by_a_year_between_two_runs(one, tmp_path):
    """Everything that is there lies in the future."""
    shutil.copytree(one.folder, tmp_path / "grid")
    grid = Workflow(tmp_path / "grid")
    for path in grid.folder.rglob("*"):
        times = path.stat()
        os.utime(path, (times.st_atime + YEAR, times.st_mtime + YEAR))
    assert grid.planned() == {}
    trained = next(grid.path("results", "runs").rglob("weights.safetensors"))
    inode = trained.stat().st_ino
    grid.configure(**TINY)
    assert grid.planned()["train"] == 1
    grid.run()
    assert trained.stat().st_ino == inode
    assert grid.planned() == {}
    assert all(path.stat().st_mtime < time.time() + 1 for path in grid.path("results", "runs").rglob("*.*"))


def test_a_clock_set_back_while_a_training_runs_loses_nothing(tmp_path):
    """To the training it is as if its data came from the future."""
    grid = Workflow(tmp_path)
    grid.configure(**ONE | {"training": {"steps": 1500, "batch_size": 128, "history_points": 4}})
    running = subprocess.Popen(
        grid.command("encoders"), cwd=grid.folder, env=workflow_environment(), stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 120
        while not list(grid.folder.rglob(".training-*.lock")) and time.monotonic() < deadline:
            time.sleep(0.05)
        (manifest,) = grid.folder.rglob("manifest.json")
        os.utime(manifest, (time.time() + DAY,) * 2)
        _, errors = running.communicate(timeout=300)
    finally:
        running.kill()
    assert running.returncode == 0, errors
    assert len(list(grid.folder.rglob("weights.safetensors"))) == 1


def test_the_record_of_a_download_from_the_future_does_not_stop_its_preparation(tmp_path):
    record = tmp_path / "record.json"
    record.write_text("[]")
    os.utime(record, (time.time() + DAY,) * 2)
    prepare.run("digits", "{}", tmp_path / "raw", tmp_path / "prepared", [record])
    assert record.stat().st_mtime <= (tmp_path / "prepared" / "manifest.json").stat().st_mtime


def test_durations_and_numbers_under_a_clock_that_jumps_by_years(one, clock, tmp_path):
    config = load_config(read_config_files([one.path("grid.yaml")]))
    ((token, spec),) = expand(config).items()
    (manifest,) = one.folder.rglob("manifest.json")
    run = tmp_path / "run"
    files = ["--spec", spec.canonical_json(), "--data", str(manifest), "--weights", str(run / "weights.safetensors")]
    with clock.jumping():
        for stage in ("train", "evaluate"):
            done = subprocess.run(
                [sys.executable, "-m", "infonce", stage, *files], env=clock.environment, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
    found, expected = (read_table(folder / "run.parquet", "runs") for folder in (run, one.path("results/runs", token)))
    (row,) = found.to_pylist()
    for column in ("training_seconds", "seconds_per_step", "evaluation_seconds"):
        assert 0 <= row[column] < 300, column
    assert without_provenance(found, "runs").equals(without_provenance(expected, "runs"))


WAITING = """
import sys
from pathlib import Path
from infonce.data.folders import alone
with alone(Path(sys.argv[1]), lease_seconds=2):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("offset", [-YEAR, YEAR])
def test_a_lock_is_neither_stolen_nor_kept_for_ever_by_a_wrong_clock(tmp_path, clock, offset):
    lock = tmp_path / ".lock"
    clock.set(offset)
    arguments = [sys.executable, "-c", WAITING, str(lock)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with alone(lock, lease_seconds=2):
        waiting = subprocess.Popen(arguments, env=clock.environment, **pipes)
        said = []
        listener = threading.Thread(target=lambda: said.append(waiting.stdout.readline()))
        listener.start()
        listener.join(7)
        assert said == []  # the holder lives, so its lock is waited for, however old it looks
    listener.join(30)
    assert said == ["held\n"]
    # Killed with the lock in its hand; the next one's clock tells another year.
    waiting.kill()
    waiting.wait()
    assert lock.exists()
    next_one = subprocess.run(arguments, env=os.environ | {"PYTHONPATH": str(ROOT)}, input="", text=True, timeout=60,
                              stdout=subprocess.PIPE)  # fmt: skip
    assert next_one.stdout == "held\n"
