"""What every run of a grid is doing, from its files, the cluster's queue and the processes of this machine."""

import contextlib
import enum
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from infonce.cluster.queue import QueuedJob
from infonce.plan.workflow import Workflow
from infonce.spec.run import RunSpec

STAGES = ("train", "evaluate")
FINISHED = {"train": "weights.safetensors", "evaluate": "run.parquet"}


class State(enum.StrEnum):
    """Of a run: whether its numbers are there, and if not, why."""

    DONE = "done"
    FAILED = "failed"
    RUNNING = "running"
    WAITING = "waiting"
    MISSING = "missing"


@dataclass(frozen=True)
class RunState:
    """A run, the stage that it is in, and how long it may still take."""

    spec: RunSpec
    state: State
    stage: str
    log: Path
    """Of the stage; every attempt is in it."""
    run_seconds: float | None = None
    """Since its job began."""
    seconds_left: float | None = None
    """To the end of the run, by what finished runs of its kind took; None before the first of them."""
    limit_seconds: float | None = None
    """Until the cluster ends the job."""


def states(workflow: Workflow, folder: Path, queued: list[QueuedJob], snakemake_is_at_work: bool) -> list[RunState]:
    """The state of every run of the grid, in its order. `folder` is where Snakemake works."""
    observed = _Observed(workflow, folder.resolve(), queued, snakemake_is_at_work)
    return [observed.active(run) or observed.resting(run) for run in workflow.runs.values()]


class _Observed:
    """All that is asked once for a whole grid."""

    def __init__(self, workflow: Workflow, folder: Path, queued: list[QueuedJob], snakemake_is_at_work: bool) -> None:
        self.workflow, self.folder, self.at_work = workflow, folder, snakemake_is_at_work
        self.jobs = {(job.rule, job.wildcards): job for job in queued if Path(job.folder) == folder}
        self.local = dict(_local_jobs(folder))
        self.typical = typical_seconds(workflow, folder)

    def active(self, run: RunSpec) -> RunState | None:
        """A run that has a job; one that makes an existing output anew counts as well."""
        for position, stage in enumerate(STAGES):
            job = self.jobs.get((stage, _slurm_wildcards(run)))
            begun = job.run_seconds if job and job.running else self.local.get((stage, self._place(run)))
            if job is None and begun is None:
                continue
            left = self._left(run, STAGES[position:], begun or 0)
            state = State.WAITING if begun is None else State.RUNNING
            limit = job.seconds_left if job and job.running else None
            return RunState(run, state, stage, self._log(stage, run), begun, left, limit)
        return None

    def resting(self, run: RunSpec) -> RunState:
        """A run without a job."""
        unfinished = [stage for stage in STAGES if not (self._place(run) / FINISHED[stage]).exists()]
        if not unfinished:
            return RunState(run, State.DONE, STAGES[-1], self._log(STAGES[-1], run))
        log = self._log(unfinished[0], run)
        state = State.FAILED if log.exists() else State.WAITING if self.at_work else State.MISSING
        return RunState(run, state, unfinished[0], log, seconds_left=self._left(run, unfinished, 0))

    def _place(self, run: RunSpec) -> Path:
        return self.folder / self.workflow.results / "runs" / run.token

    def _log(self, stage: str, run: RunSpec) -> Path:
        return self.folder / f"{self.workflow.log(stage).format(**run.axes())}.attempts"

    def _left(self, run: RunSpec, stages: Sequence[str], begun: float) -> float | None:
        """Seconds until the last of `stages` ends, the first of them begun that long ago."""
        times = [self.typical.get(kind_of(stage, run)) for stage in stages]
        known = [time for time in times if time is not None]
        return max(known[0] - begun, 0.0) + sum(known[1:]) if len(known) == len(times) else None


def _slurm_wildcards(run: RunSpec) -> str:
    """How the Slurm plugin names a job in its comment."""
    return "_".join(run.axes().values()).replace("/", "_")


def kind_of(stage: str, run: RunSpec) -> tuple[str, ...]:
    """Runs that take about the same time."""
    return (stage, run.dataset, run.encoder, run.positives)


def typical_seconds(workflow: Workflow, folder: Path) -> dict[tuple[str, ...], float]:
    """The median time of the finished jobs of each kind, by Snakemake's own records."""
    taken: dict[tuple[str, ...], list[float]] = {}
    for stage in STAGES:
        for run in workflow.runs.values():
            with contextlib.suppress(OSError, ValueError, KeyError):
                path = folder / workflow.benchmark(stage).format(**run.axes())
                taken.setdefault(kind_of(stage, run), []).append(
                    float(json.loads(path.read_text().splitlines()[-1])["s"])
                )
    return {kind: statistics.median(values) for kind, values in taken.items() if values}


def _local_jobs(folder: Path) -> Iterator[tuple[tuple[str, Path], float]]:
    """Stages that run on this machine outside the queue: stage and folder of the run, and seconds since it began."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ValueError):
            words = process.cmdline()
            place = words.index("infonce")
            stage = words[place + 1]
            if stage in STAGES and Path(process.cwd()) == folder:
                weights = folder / words[words.index("--weights") + 1]
                yield (stage, weights.parent), max(0.0, time.time() - process.create_time())
