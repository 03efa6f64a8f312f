"""All findings, one after the other; what a check itself stumbles over is a finding too."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from infonce.cluster.surroundings import Finding
from infonce.doctor.files import damaged, future, results, waiting_data
from infonce.doctor.machine import cores, graphics
from infonce.doctor.places import disk, lock, writable
from infonce.doctor.software import commands, git, python, versions
from infonce.errors import ConfigError
from infonce.plan.workflow import Workflow
from infonce.spec.source import read_config_files

Check = Callable[[], Iterator[Finding]]


def examine(config_files: Sequence[Path], folder: Path) -> Iterator[Finding]:
    """Findings about the programs, the machine, `folder`, and the grid of the configuration; asks no network."""
    yield from _tried("Python", python)
    yield from _tried("versions", versions)
    yield from _tried("commands", commands)
    yield from _tried("git", git)
    yield from _tried("cores", cores)
    yield from _tried("lock", lambda: lock(folder))
    try:
        workflow = Workflow(read_config_files(list(config_files)), list(config_files))
    except ConfigError as error:
        yield Finding("configuration", False, f"is refused: {error}")
        yield from _tried("GPU", lambda: graphics(None))
        return
    except Exception as error:
        yield _stumbled("configuration", error)
        return
    yield Finding("configuration", True, f"{len(workflow.runs)} runs")
    checks: dict[str, Check] = {
        "GPU": lambda: graphics(workflow),
        "writing": lambda: writable(workflow, folder),
        "data": lambda: waiting_data(workflow, folder),
        "results": lambda: results(workflow, folder),
        "damage": lambda: damaged(workflow, folder),
        "clock": lambda: future(workflow, folder),
        "disk": lambda: disk(workflow, folder),
    }
    for name, check in checks.items():
        yield from _tried(name, check)


def _tried(name: str, check: Check) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as error:  # a doctor that falls ill helps nobody
        yield _stumbled(name, error)


def _stumbled(name: str, error: Exception) -> Finding:
    return Finding(name, False, f"could not be looked at ({type(error).__name__}: {error})")
