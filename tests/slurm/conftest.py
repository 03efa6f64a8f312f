"""Copies of the checkout in temporary folders, and a real cluster for `snakemake --profile slurm`."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from tests.slurm import cluster as one_node

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "workflow", "config", "profiles", "slurm", "infonce", "environment.yml")

# Two runs on a few real images: seconds each. The request of a GPU stays, the pretended GPU computes nothing.
SMALL: dict[str, Any] = {
    "positives": ["augment"],
    "dimensions": [8],
    "negatives": [4, 64],
    "temperatures": [0.5],
    "tuples": [128],
    "seeds": [7],
    "slices": [],
    "dataset_options": {"digits": {"train_limit": 300, "held_out_limit": 100}},
    "training": {"steps": 10, "batch_size": 64, "history_points": 2, "device": "cpu"},
    "resources": {"train": {"gpus": 1}},
}
# One whose training a fault can meet.
ONE_LONG_RUN: dict[str, Any] = {"negatives": [4], "training": SMALL["training"] | {"steps": 8000}}
QUICK = (
    *("--slurm-init-seconds-before-status-checks", "2"),
    *("--max-jobs-per-timespan", "100/1s"),
    *("--latency-wait", "20"),
)


@dataclass(frozen=True)
class Job:
    """A job in Slurm's own records."""

    job_id: str
    state: str
    rule: str
    wildcards: str
    fields: dict[str, str]

    @property
    def gpus(self) -> str | None:
        """What it asked for beyond cores and memory."""
        return self.fields.get("TresPerJob") or self.fields.get("TresPerNode")

    @property
    def memory(self) -> str:
        return self.fields["MinMemoryNode"]

    @property
    def minutes(self) -> int:
        """The time that it has."""
        return _whole_minutes(self.fields["TimeLimit"])

    @property
    def run_minutes(self) -> int:
        """The time that it has used."""
        return _whole_minutes(self.fields["RunTime"])


@dataclass(frozen=True)
class Checkout:
    """A copy of the files that a clone has, in which Snakemake works."""

    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def configure(self, **changes: Any) -> None:
        (self.folder / "grid.yaml").write_text(yaml.safe_dump(SMALL | changes), encoding="utf-8")

    def command(self, *arguments: str, seconds: int = 420) -> list[str]:
        through_slurm = ("--profile", "slurm", *QUICK)
        bounded = ("timeout", "-k", "5", str(seconds))
        return [*bounded, "snakemake", *through_slurm, *arguments, "--configfile", "grid.yaml"]

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Snakemake through Slurm, in the background; its output goes to `snakemake.log`."""
        with (self.folder / "snakemake.log").open("w") as log:
            process = subprocess.Popen(
                self.command(*arguments),
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                env=self.environment() | environment,
            )
        self.started.append(process)
        return process

    def stop(self) -> None:
        """End what `start` started and is still there, as after a failed test."""
        for process in self.started:
            with contextlib.suppress(psutil.Error):
                for each in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
                    each.kill()
            process.wait(timeout=20)

    def finish(self, process: subprocess.Popen[str], seconds: float = 430) -> None:
        assert process.wait(timeout=seconds) == 0, self.output()

    def local(self, *arguments: str) -> None:
        """Snakemake on this machine, to its end."""
        command = ["timeout", "-k", "5", "420", "snakemake", "--cores", "2", *arguments, "--configfile", "grid.yaml"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=self.environment())
        assert done.returncode == 0, done.stdout + done.stderr

    def output(self) -> str:
        return (self.folder / "snakemake.log").read_text(encoding="utf-8")

    def infonce(self, *arguments: str, check: bool = True) -> str:
        """A command of this program in the folder."""
        done = subprocess.run(
            ["timeout", "120", sys.executable, "-m", "infonce", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=self.environment(),
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def environment(self) -> dict[str, str]:
        """That of a terminal with the environment activated."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return os.environ | {"PATH": path, "PYTHONPATH": str(self.folder), "COLUMNS": "200"}

    def jobs(self) -> list[Job]:
        """Every job of this folder that Slurm knows, the first submitted first."""
        text = _output("scontrol", "show", "job", "--oneliner")
        rows = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in text.splitlines()]
        rows = [row for row in rows if row.get("WorkDir") == str(self.folder)]
        found = []
        for row in sorted(rows, key=lambda row: int(row["JobId"])):
            rule, _, wildcards = row.get("Comment", "").removeprefix("rule_").partition("_wildcards_")
            found.append(Job(row["JobId"], row["JobState"], rule, wildcards, row))
        return found

    def states(self) -> list[Path]:
        """The states that trainings have kept."""
        return list(self.folder.glob("results/runs/**/.training-*.state"))

    def record(self) -> dict[str, Any]:
        """How the only training went, once it has ended."""
        (path,) = self.folder.glob("results/runs/**/training.json")
        return json.loads(path.read_text())

    def weights(self) -> bytes:
        """The file of the only run's weights."""
        (path,) = self.folder.glob("results/runs/**/weights.safetensors")
        return path.read_bytes()

    def attempts(self) -> str:
        """What every attempt of the only training said."""
        (path,) = self.folder.glob("results/logs/train/**/*.log.attempts")
        return path.read_text()


def _whole_minutes(text: str) -> int:
    hours, minutes, _ = (int(part) for part in text.split(":"))
    return 60 * hours + minutes


def wait_for(what: str, found: Callable[[], Any], seconds: float = 60) -> Any:
    """The first true answer of `found`."""
    end = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.2)
    return answer


def change_profile(folder: Path, old: str, new: str) -> None:
    """Edit a copy of the profile as its reader would."""
    profile = folder / "slurm" / "profile.yaml"
    text = profile.read_text()
    assert old in text
    profile.write_text(text.replace(old, new))


def _output(*command: str) -> str:
    return subprocess.run(["timeout", "20", *command], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    if reason := one_node.lacking():
        pytest.skip(f"no Slurm cluster here: {reason}")
    with one_node.cluster():
        yield


@pytest.fixture(scope="session")
def clone(cluster: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Checkout]]:
    """Makes copies of the checkout with the small grid as `grid.yaml`, and its prepared data unless `data` is False."""
    made: list[Checkout] = []
    prepared: list[Checkout] = []

    def make(name: str, data: bool = True) -> Checkout:
        if data and not prepared:
            prepared.append(make("prepared", data=False))
            prepared[0].local("data")
        folder = tmp_path_factory.mktemp(name)
        for part in PARTS:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / part, folder / part)
        if data:
            shutil.copytree(prepared[0].folder / "data", folder / "data")
        checkout = Checkout(folder)
        checkout.configure()
        made.append(checkout)
        return checkout

    yield make
    for checkout in made:
        checkout.stop()
