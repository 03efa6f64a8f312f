"""What the profile says of this site, and what the jobs of a grid will ask it for."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from infonce.errors import ConfigError
from infonce.plan.workflow import Workflow
from infonce.spec.source import check_yaml, lay_over, read_config_files


@dataclass(frozen=True)
class Site:
    """A profile's settings that concern the cluster."""

    path: Path
    status_command: str | None
    default_resources: Mapping[str, Any]
    set_resources: Mapping[str, Mapping[str, Any]]
    config: Mapping[str, Any]

    def resources(self, rule: str) -> dict[str, Any]:
        """What the profile sets for the jobs of a rule."""
        return {**self.default_resources, **self.set_resources.get(rule, {})}

    def partition(self, rule: str) -> str | None:
        """The partition of a rule's jobs; None for the cluster's default one."""
        return self.resources(rule).get("slurm_partition")


@dataclass(frozen=True)
class Request:
    """The largest request of one stage: each number the largest of any run."""

    stage: str
    memory_mib: int
    minutes: int
    threads: int
    gpus: Mapping[str, int | str]

    def described(self) -> str:
        """For people."""
        gpus = self.gpus.get("gres") or (f"{self.gpus['gpu']} GPU" if self.gpus else "no GPU")
        model = f" {self.gpus['gpu_model']}" if "gpu_model" in self.gpus else ""
        cores = "1 core" if self.threads == 1 else f"{self.threads} cores"
        return f"{gpus}{model}, {cores}, {self.memory_mib} MiB, {self.minutes} min"


def read_site(profile: Path) -> Site:
    """The profile in a folder. Raises ConfigError where there is none."""
    path = profile / "profile.yaml"
    check_yaml(path)
    values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    if values.get("executor") != "slurm":
        raise ConfigError(f"{path}: executor is {values.get('executor')!r}; this check is for executor: slurm")
    return Site(
        path,
        values.get("slurm-status-command"),
        values.get("default-resources") or {},
        values.get("set-resources") or {},
        values.get("config") or {},
    )


def read_workflow(site: Site, config_files: list[Path]) -> Workflow:
    """The grid as `snakemake --profile` would see it: the profile's `config` lies over the files."""
    values = read_config_files(config_files)
    lay_over(values, site.config)
    return Workflow(values, config_files)


def requests(workflow: Workflow, attempt: int = 1) -> list[Request]:
    """The largest request of each stage that goes to the cluster."""
    runs = [SimpleNamespace(**run.axes()) for run in workflow.runs.values()]
    calls = {
        "train": (workflow.training_memory, workflow.training_minutes),
        "evaluate": (workflow.evaluation_memory, workflow.evaluation_minutes),
    }
    return [
        Request(
            stage,
            max(memory(run, attempt) for run in runs),
            max(minutes(run, attempt) for run in runs),
            workflow.threads(stage),
            workflow.gpu_request(stage),
        )
        for stage, (memory, minutes) in calls.items()
    ]


def sbatch_options(request: Request, site: Site) -> list[str]:
    """The options with which such a job is submitted."""
    resources = site.resources(request.stage)
    options = [f"--mem={request.memory_mib}", f"--time={request.minutes}", f"--cpus-per-task={request.threads}"]
    named = {
        "slurm_account": "--account",
        "slurm_partition": "--partition",
        "constraint": "--constraint",
        "qos": "--qos",
    }
    options += [f"{option}={resources[key]}" for key, option in named.items() if resources.get(key)]
    options += shlex.split(" ".join(shlex.split(resources.get("slurm_extra", ""))))  # a quoted text in YAML's quotes
    gpus = request.gpus
    if "gres" in gpus:
        return [*options, f"--gres={gpus['gres']}"]
    if "gpu_model" in gpus:
        return [*options, f"--gpus={gpus['gpu_model']}:{gpus['gpu']}"]
    return [*options, f"--gpus={gpus['gpu']}"] if gpus else options
