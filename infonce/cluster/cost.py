"""`infonce cluster cost`: what a grid takes, estimated before the first job and by what finished jobs took."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from infonce.cluster.states import STAGES, kind_of, typical_seconds
from infonce.plan.costs import evaluation_seconds, training_seconds
from infonce.plan.workflow import Workflow


@dataclass(frozen=True)
class Hours:
    """All runs of one kind."""

    kind: tuple[str, ...]
    """Stage, data set, encoder and positives."""
    runs: int
    unit: str
    estimated: float
    measured: float | None
    """All runs at the median time of the finished ones; None before the first of them."""


def hours(workflow: Workflow, folder: Path) -> Iterator[Hours]:
    """A row for each stage and kind of run of the grid. `folder` is where Snakemake works."""
    typical = typical_seconds(workflow, folder)
    for stage in STAGES:
        request = getattr(workflow.config.resources, stage)
        unit, devices = ("GPU", request.gpus) if request.gpus else ("core", request.threads)
        estimates: dict[tuple[str, ...], list[float]] = {}
        for run in workflow.runs.values():
            seconds = (
                training_seconds(run, request.gpus, request.threads)
                if stage == "train"
                else evaluation_seconds(run, workflow.config.evaluation, request.gpus, request.threads)
            )
            estimates.setdefault(kind_of(stage, run), []).append(seconds)
        for kind, values in estimates.items():
            taken = typical.get(kind)
            measured = None if taken is None else taken * len(values) * devices / 3600
            yield Hours(kind, len(values), unit, sum(values) * devices / 3600, measured)


def cost(workflow: Workflow, folder: Path) -> Table:
    """The rows and their sums; what finished runs took is summed only where that leaves no part of the grid out."""
    rows = list(hours(workflow, folder.resolve()))
    table = Table(box=None, pad_edge=False, show_footer=True)
    for heading in ("stage", "data set", "encoder", "positives"):
        table.add_column(heading)
    table.add_column("runs", justify="right")
    table.add_column("estimated", justify="right", footer=_sums([(row.estimated, row.unit) for row in rows]))
    known = [(row.measured, row.unit) for row in rows if row.measured is not None]
    table.add_column("by finished runs", justify="right", footer=_sums(known) if len(known) == len(rows) else "")
    for row in rows:
        measured = "none yet" if row.measured is None else _text(row.measured, row.unit)
        table.add_row(*row.kind, str(row.runs), _text(row.estimated, row.unit), measured)
    return table


def _sums(values: list[tuple[float, str]]) -> str:
    units = dict.fromkeys(unit for _, unit in values)
    return " + ".join(_text(sum(value for value, its in values if its == unit), unit) for unit in units)


def _text(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit} h" if value >= 10 else f"{value:.2g} {unit} h"
