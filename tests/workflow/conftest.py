"""Runs of the real workflow in temporary folders, on a small grid of real images."""

import copy
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]

SMALL = {
    "datasets": ["digits"],
    "positives": ["augment", "class"],
    "encoders": ["mlp"],
    "heads": ["normalize"],
    "dimensions": [8],
    "losses": ["infonce"],
    "negatives": [4, 64],
    "temperatures": [0.2, 1],
    "tuples": [256],
    "tuple_designs": ["shared"],
    "seeds": [7],
    "slices": [],
    "dataset_options": {"digits": {"train_limit": 400, "held_out_limit": 200}},
    "training": {"steps": 20, "batch_size": 128, "history_points": 4},
}


@dataclass(frozen=True)
class Workflow:
    """A folder in which the workflow runs, with a configuration of its own."""

    folder: Path
    root: Path = ROOT  # the checkout whose Snakefile runs

    def configure(self, **changes: Any) -> None:
        values = copy.deepcopy(SMALL) | changes
        (self.folder / "grid.yaml").write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        fixed = ["--snakefile", str(self.root / "Snakefile"), "--directory", str(self.folder), "--cores", "2"]
        # The options first: behind a `--` among the arguments, everything is a target.
        return [sys.executable, "-m", "snakemake", "--configfile", str(self.folder / "grid.yaml"), *fixed, *arguments]

    def run(self, *arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=600,
            cwd=self.folder,
            env=workflow_environment() | environment,
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    def planned(self, *arguments: str) -> dict[str, int]:
        """Jobs that a dry run would start, by rule."""
        output = self.run("--dry-run", "--quiet", "rules", *arguments).stdout.splitlines()
        rows = [line.split() for line in output]
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit() and row[0] != "total"}

    def path(self, *parts: str) -> Path:
        return self.folder.joinpath(*parts)


def workflow_environment() -> dict[str, str]:
    """The environment of a terminal with the environment activated."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def finished_grid(folder: Path, **changes: Any) -> Workflow:
    """A grid that was run to its report in `folder`."""
    made = Workflow(folder)
    made.configure(**changes)
    made.run()
    return made


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    made = Workflow(tmp_path)
    made.configure()
    return made


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The small grid, run to its report once; tests that change it work on copies."""
    return finished_grid(tmp_path_factory.mktemp("finished"))
