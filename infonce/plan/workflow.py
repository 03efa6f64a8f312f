"""What the Snakefile asks: the runs of the grid, and for each the parameters and resources of its jobs."""

import functools
import inspect
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infonce.data.registry import dataset, prepared_name
from infonce.encoders.registry import encoder
from infonce.errors import ConfigError
from infonce.plan.costs import Cost, evaluation_cost, training_cost
from infonce.plan.digest import PACKAGE, TABLES_OF_DATA, code_digest, preparing_digest
from infonce.plan.facts import preparation_facts
from infonce.plan.grid import load_grid
from infonce.spec.config import Config, ResourceOptions
from infonce.spec.run import AXES, RUN_PATTERN, DatasetOptions, RunSpec
from infonce.spec.source import Sources, check_yaml


def let_jobs_find_the_package() -> None:
    """Put this checkout first on the import path that the shell commands of jobs inherit."""
    paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)


class asked_for_each_job:  # noqa: N801 - a decorator
    """A method that Snakemake calls for each job, handed out with its signature.

    Snakemake looks the signature up several times for each job; a stored one takes a tenth off the time of a dry run.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        """Read the signature, once."""
        self.method = method
        parameters = list(inspect.signature(method).parameters.values())[1:]
        self.signature = inspect.Signature(parameters)

    def __get__(self, workflow: "Workflow", owner: type) -> Callable[..., Any]:
        """The method, bound to a workflow."""
        bound = functools.partial(self.method, workflow)
        bound.__signature__ = self.signature  # type: ignore[attr-defined]
        return bound


class Workflow:
    """A checked configuration with its grid. What it hands to rules is text and whole numbers, which Snakemake
    compares exactly.
    """

    def __init__(self, values: Mapping[str, Any], files: Sequence[Path] = ()) -> None:
        """From merged configuration values and the files behind them, the last on top.

        Raises ConfigError, before any job is planned, for a configuration that is refused.
        """
        for file in files:
            check_yaml(file)
        self.config: Config
        self.runs: dict[str, RunSpec]
        self.config, self.runs = load_grid(values, Sources(files, values))
        self.results = self.config.results_folder.rstrip("/")
        self.data = self.config.data_folder.rstrip("/")
        self.run_folder = f"{self.results}/runs/{RUN_PATTERN}"
        self._prepared = {
            prepared_name(run.dataset, run.dataset_options): (run.dataset, run.dataset_options)
            for run in self.runs.values()
        }

    @classmethod
    def of_snakemake(cls, values: Mapping[str, Any], config_files: Sequence[str | Path]) -> "Workflow":
        """From Snakemake's merged configuration; it lists the Snakefile's own file last and lays the others over it."""
        return cls(values, [Path(file) for file in [*config_files[-1:], *config_files[:-1]]])

    # Paths

    def of_every_run(self, file: str) -> list[str]:
        """The file of that name in the folder of every run."""
        return [f"{self.results}/runs/{token}/{file}" for token in self.runs]

    def log(self, stage: str) -> str:
        """The log of a stage, a file for each run."""
        return f"{self.results}/logs/{stage}/{RUN_PATTERN}.log"

    def benchmark(self, stage: str) -> str:
        """Snakemake's own record of time and memory, a file for each run."""
        return f"{self.results}/benchmarks/{stage}/{RUN_PATTERN}.jsonl"

    def prepared_folders(self) -> list[str]:
        """The manifests of all prepared data sets of the grid."""
        return [f"{self.data}/prepared/{name}/manifest.json" for name in self._prepared]

    @asked_for_each_job
    def prepared_data(self, wildcards: Any) -> str:
        """The manifest of the prepared data set that a run is trained on."""
        run = self.run(wildcards)
        return f"{self.data}/prepared/{prepared_name(run.dataset, run.dataset_options)}/manifest.json"

    def raw_record(self, wildcards: Any) -> list[str]:
        """The record of the download that a prepared folder needs; nothing for data that a package ships."""
        name = self.dataset(wildcards)
        return [f"{self.results}/data/{name}.json"] if dataset(name).downloaded else []

    # Wildcards

    def constraints(self) -> dict[str, str]:
        """For each wildcard exactly the values that the grid has, so that another spelling is no run."""
        axes = [run.axes() for run in self.runs.values()]
        found = {axis: sorted({values[axis] for values in axes}) for axis in AXES}
        found["prepared"] = sorted(self._prepared)
        return {name: "|".join(map(re.escape, values)) for name, values in found.items()}

    def run(self, wildcards: Any) -> RunSpec:
        """The run that the wildcards of a job name."""
        token = RUN_PATTERN.format(**{axis: getattr(wildcards, axis) for axis in AXES})
        if token not in self.runs:
            raise ConfigError(
                f"{token}: is no run of the grid: its values occur in the configuration, but not together"
            )
        return self.runs[token]

    # Parameters of rules

    @asked_for_each_job
    def spec(self, wildcards: Any) -> str:
        """The run's settings as JSON: all that its training is told."""
        return self.run(wildcards).canonical_json()

    def dataset(self, wildcards: Any) -> str:
        """The data set that a prepared folder holds."""
        return self._prepared[wildcards.prepared][0]

    def mirror(self, wildcards: Any) -> str:
        """Where to look for a data set first, as an option of the command line."""
        place = self.config.downloads.mirrors.get(wildcards.dataset)
        return f"--mirror {shlex.quote(place)}" if place else ""

    def dataset_options(self, wildcards: Any) -> str:
        """The options of a prepared folder, as JSON without defaults."""
        options: DatasetOptions = self._prepared[wildcards.prepared][1]
        return options.model_dump_json(exclude_defaults=True)

    def evaluation(self) -> str:
        """The settings of the evaluation as JSON."""
        return self.config.evaluation.model_dump_json(exclude={"device"})

    def grid(self) -> str:
        """The configuration as JSON without defaults: enough to name every run again. What jobs ask a cluster for is
        left out, so that a grid is the same wherever it runs.
        """
        return self.config.model_dump_json(exclude_defaults=True, exclude={"resources", "downloads"})

    @staticmethod
    def code(stage: str) -> str:
        """The digest of the code that a stage's results depend on."""
        return code_digest(f"infonce.stages.{stage}")

    def preparing_code(self, wildcards: Any) -> str:
        """The digest of all that a prepared folder depends on: code, and what the registry says of its data set."""
        name, options = self._prepared[wildcards.prepared]
        return preparing_digest(name, dataset(name).downloaded, preparation_facts(name, options))

    @asked_for_each_job
    def training_code(self, wildcards: Any) -> str:
        """The digest of the code that a run's training depends on; its encoder stands in a file of its own."""
        return code_digest("infonce.stages.train", encoder(self.run(wildcards).encoder).module, without=TABLES_OF_DATA)

    @asked_for_each_job
    def evaluation_code(self, wildcards: Any) -> str:
        """The digest of the code that a run's evaluation depends on."""
        return code_digest(
            "infonce.stages.evaluate", encoder(self.run(wildcards).encoder).module, without=TABLES_OF_DATA
        )

    # Resources: a job that is tried again asks for twice the memory and time

    def threads(self, stage: str) -> int:
        """Processor cores of a job."""
        return self._request(stage).threads

    def gpu_request(self, stage: str) -> dict[str, int | str]:
        """The resources that ask for the GPUs of a job, in the form that the configuration chooses; none for none."""
        gpus, model = self._request(stage).gpus, self.config.resources.gpu_model
        if gpus == 0:
            return {}
        if self.config.resources.gpu_request == "gres":
            return {"gres": f"gpu:{model}:{gpus}" if model else f"gpu:{gpus}"}
        if self.config.resources.gpu_request == "gpu_model" and model:
            return {"gpu": gpus, "gpu_model": model}
        return {"gpu": gpus}

    def device(self, stage: str) -> str:
        """Where a job computes. One that asks for a GPU stops where it sees none, instead of using the processor."""
        asked = self.config.training.device if stage == "train" else self.config.evaluation.device
        return "cuda" if asked == "auto" and self._request(stage).gpus else asked

    @asked_for_each_job
    def training_memory(self, wildcards: Any, attempt: int) -> int:
        """MiB for a training job."""
        request = self._request("train")
        return (request.memory_mib or self._training_cost(wildcards).memory_mib) * 2 ** (attempt - 1)

    @asked_for_each_job
    def training_minutes(self, wildcards: Any, attempt: int) -> int:
        """Minutes for a training job."""
        request = self._request("train")
        return (request.minutes or self._training_cost(wildcards).minutes) * 2 ** (attempt - 1)

    @asked_for_each_job
    def evaluation_memory(self, wildcards: Any, attempt: int) -> int:
        """MiB for an evaluation job."""
        request = self._request("evaluate")
        return (request.memory_mib or self._evaluation_cost(wildcards).memory_mib) * 2 ** (attempt - 1)

    @asked_for_each_job
    def evaluation_minutes(self, wildcards: Any, attempt: int) -> int:
        """Minutes for an evaluation job."""
        request = self._request("evaluate")
        return (request.minutes or self._evaluation_cost(wildcards).minutes) * 2 ** (attempt - 1)

    def _training_cost(self, wildcards: Any) -> Cost:
        request = self._request("train")
        return training_cost(self.run(wildcards), request.gpus, request.threads)

    def _evaluation_cost(self, wildcards: Any) -> Cost:
        request = self._request("evaluate")
        return evaluation_cost(self.run(wildcards), self.config.evaluation, request.gpus, request.threads)

    def _request(self, stage: str) -> ResourceOptions:
        request: ResourceOptions = getattr(self.config.resources, stage)
        return request
