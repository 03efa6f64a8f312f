"""`infonce status`: the grid as a table."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from infonce.cluster.queue import queue_or_reason
from infonce.cluster.recover import snakemakes
from infonce.cluster.states import RunState, State, states
from infonce.plan.workflow import Workflow

STYLES = {
    State.DONE: "green",
    State.FAILED: "bold red",
    State.RUNNING: "bold blue",
    State.WAITING: "yellow",
    State.MISSING: "dim",
}
_SETTING = "{dataset} {positives} {encoder} {head} d={dimension} {loss} n={tuples} {tuple_design}"
LISTED = 40  # runs at most that are listed one by one unless all are asked for


def status(workflow: Workflow, folder: Path, everything: bool = False) -> RenderableType:
    """The counts of each setting over k, τ and seeds, then the runs that run, failed or wait, one by one."""
    queued, unknown = queue_or_reason()
    at_work = bool(snakemakes(folder.resolve()))
    found = states(workflow, folder, queued, at_work)
    parts: list[RenderableType] = [_counts(found), _summary(found, at_work)]
    if unknown:
        parts.insert(0, Text(f"{unknown}.", style="red"))
    unfinished = [run for run in found if run.state is not State.DONE]
    wanted = unfinished if everything else [run for run in unfinished if run.state is not State.MISSING]
    if wanted:
        parts.append(_list(wanted if everything else wanted[:LISTED], folder))
    if len(wanted) > LISTED and not everything:
        parts.append(Text(f"… and {len(wanted) - LISTED} more; --all lists them."))
    return Group(*parts)


def _counts(found: Sequence[RunState]) -> Table:
    table = Table("setting", box=None, pad_edge=False)
    for state in State:
        table.add_column(Text(state.value, style=STYLES[state]), justify="right")
    settings: dict[str, Counter[State]] = {}
    for run in found:
        name = _SETTING.format(**run.spec.axes())
        settings.setdefault(name, Counter())[run.state] += 1
    for name, counts in settings.items():
        table.add_row(name, *(_number(counts[state], state) for state in State))
    return table


def _number(count: int, state: State) -> Text:
    return Text(str(count) if count else "·", style=STYLES[state] if count else "dim")


def _summary(found: Sequence[RunState], at_work: bool) -> Text:
    counts = Counter(run.state for run in found)
    text = f"\n{len(found)} runs: " + ", ".join(f"{counts[state]} {state}" for state in State if counts[state]) + "."
    if counts[State.DONE] == len(found):
        return Text(text)
    known = [run.seconds_left for run in found if run.state is not State.DONE and run.seconds_left is not None]
    if known:
        at_once = max(counts[State.RUNNING], 1)
        text += f" About {duration(sum(known) / at_once)} left, {at_once} at a time, by what finished runs took."
    if not at_work:
        text += " No Snakemake is at work here on this machine."
    return Text(text)


def _list(found: Iterable[RunState], folder: Path) -> Table:
    table = Table(box=None, pad_edge=False, title_justify="left")
    for heading in ("state", "stage", "since", "left", "limit", "run and log"):
        table.add_column(heading, overflow="fold")
    for run in sorted(found, key=lambda run: list(State).index(run.state)):
        times = (duration(run.run_seconds), duration(run.seconds_left), duration(run.limit_seconds))
        where = run.spec.token
        if run.log.exists():
            where += f"\n  {run.log.relative_to(folder.resolve())}"
        table.add_row(Text(run.state, style=STYLES[run.state]), run.stage, *times, Text(where))
    return table


def duration(seconds: float | None) -> str:
    """`3 h 20 min`, `4 min`, `12 s`; empty where it is not known."""
    if seconds is None:
        return ""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"
