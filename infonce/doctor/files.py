"""What lies in the folders of data and results already."""

import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from infonce.cluster.surroundings import Finding
from infonce.data.download import missing_members
from infonce.data.prepared import MANIFEST, load
from infonce.data.registry import dataset, prepared_name
from infonce.errors import DataError, RecordError
from infonce.files import CLOCKS_DIFFER
from infonce.plan.workflow import Workflow
from infonce.records.collect import FILES, collect

READ = 200  # runs at most whose tables are read
SHOWN = 3  # files at most that are named one by one


def waiting_data(workflow: Workflow, folder: Path) -> Iterator[Finding]:
    """Each data set of the grid: prepared, there but not prepared, to be fetched, or damaged."""
    for run in {prepared_name(run.dataset, run.dataset_options): run for run in workflow.runs.values()}.values():
        info, name = dataset(run.dataset), f"data of {run.dataset}"
        place = folder / workflow.data / "prepared" / prepared_name(run.dataset, run.dataset_options)
        if (place / MANIFEST).exists():
            try:
                load(place)
                yield Finding(name, True, f"present, prepared in {place}")
            except DataError as error:
                yield Finding(name, False, f"{error}: remove {place}")
            continue
        raw = folder / workflow.data / "raw" / run.dataset
        if not info.downloaded:
            yield Finding(name, True, "built in; the workflow prepares it")
        elif not missing_members(info, raw):
            yield Finding(name, True, f"present in {raw}; the workflow prepares it")
        else:
            size = sum(file.size for file in info.files) / 1e6
            yield Finding(
                name,
                True,
                f"missing; the workflow fetches {size:,.0f} MB, or run `infonce data fetch {run.dataset} --raw "
                f"{shlex.quote(str(raw.parent))}` where there is a network",
            )


def results(workflow: Workflow, folder: Path) -> Iterator[Finding]:
    """How far the grid is."""
    runs = folder / workflow.results / "runs"
    done = sum((runs / token / FILES["runs"]).exists() for token in workflow.runs)
    yield Finding("runs", True, f"{done} of {len(workflow.runs)} runs are done in {runs}")


def damaged(workflow: Workflow, folder: Path) -> Iterator[Finding]:
    """The first table that would be refused, and how many runs are not of the grid."""
    runs = folder / workflow.results / "runs"
    present = [token for token in workflow.runs if (runs / token / FILES["runs"]).exists()]
    looked_at = {token: workflow.runs[token] for token in present[:READ]}
    try:
        collect(looked_at, runs, partial=True)
    except RecordError as error:
        yield Finding("tables", False, str(error))
        return
    strays = sum(path.parent.relative_to(runs).as_posix() not in workflow.runs for path in runs.rglob(FILES["runs"]))
    text = f"those of {'the first ' if len(present) > READ else ''}{len(looked_at)} runs are whole"
    yield Finding("tables", True, text + (f"; {strays} runs are not of this grid and are left out" if strays else ""))


def future(workflow: Workflow, folder: Path) -> Iterator[Finding]:
    """Files whose time lies in the future, after a clock was wrong: Snakemake refuses a job whose input is one."""
    limit = time.time() + CLOCKS_DIFFER
    places = [folder / workflow.data / "prepared", folder / workflow.results]
    late = [path for place in places for path in place.rglob("*") if path.is_file() and path.stat().st_mtime > limit]
    if not late:
        yield Finding("clock", True, "no file of the data or results lies in the future")
        return
    shown = ", ".join(str(path) for path in late[:SHOWN]) + (" …" if len(late) > SHOWN else "")
    quoted = " ".join(shlex.quote(str(place)) for place in places if place.exists())
    yield Finding(
        "clock",
        False,
        f"{len(late)} files lie in the future ({shown}): a clock was wrong, or is now. If it is right now, "
        f"`find {quoted} -newermt now -exec touch -d @$(date +%s) {{}} +` mends it; nothing is trained anew for that",
    )
