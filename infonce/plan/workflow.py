"""What the Snakefile asks: the runs of the grid, and for each the parameters and resources of its jobs."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from infonce.data.registry import prepared_name
from infonce.errors import ConfigError
from infonce.plan.digest import code_digest
from infonce.plan.grid import expand, load_config
from infonce.plan.resources import request
from infonce.spec.config import Config
from infonce.spec.run import AXES, RUN_PATTERN, RunSpec, axis_text
from infonce.spec.source import check_yaml


class Workflow:
    """A checked configuration with its grid; every attribute is plain text or numbers, as Snakemake compares them."""

    def __init__(self, values: Mapping[str, Any], config_files: Sequence[str | Path] = ()) -> None:
        """Raises ConfigError, before any job is planned, for a configuration that is refused."""
        sources = [Path(file) for file in config_files]
        for source in sources:
            check_yaml(source)
        self.config: Config = load_config(values, sources)
        self.runs: dict[str, RunSpec] = expand(self.config)
        self.results = self.config.results_folder.rstrip("/")
        self.data = self.config.data_folder.rstrip("/")
        self.run_folder = f"{self.results}/runs/{RUN_PATTERN}"
        self.prepared = {prepared_name(run.dataset, run.dataset_options): run for run in self.runs.values()}

    def files(self, name: str) -> list[str]:
        """The file `name` of every run."""
        return [f"{self.results}/runs/{token}/{name}" for token in self.runs]

    def log(self, stage: str) -> str:
        """The log of a stage, with the wildcards of a run."""
        return f"{self.results}/logs/{stage}/{RUN_PATTERN}.log"

    @cached_property
    def constraints(self) -> dict[str, str]:
        """For each wildcard exactly the values that the grid has, so that another spelling is no run."""
        import re

        values = {axis: {run.axes()[axis] for run in self.runs.values()} for axis in AXES}
        return {axis: "|".join(map(re.escape, sorted(found))) for axis, found in values.items()}

    def run(self, wildcards: Any) -> RunSpec:
        """The run that the wildcards of a job name."""
        token = RUN_PATTERN.format(**{axis: wildcards[axis] for axis in AXES})
        if token not in self.runs:
            raise ConfigError(f"{token}: is no run of the grid; its values occur, but not together")
        return self.runs[token]
