"""Joining the tables of all runs; drift, duplicates, strays and gaps are named, never passed over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from infonce.errors import RecordError
from infonce.records.schemas import SCHEMAS
from infonce.records.tables import read_table
from infonce.spec.run import RunSpec

FILES = {
    "runs": "run.parquet",
    "curves": "curves.parquet",
    "terms": "terms.parquet",
    "history": "history.parquet",
}

MEASURED = ("ok", "stopped_early")  # how a training can end that is then measured


@dataclass(frozen=True)
class Collection:
    """The joined tables, with what the grid asked for and was not found."""

    tables: dict[str, pa.Table]
    missing: list[str] = field(default_factory=list)  # tokens of runs without a result
    strays: list[str] = field(default_factory=list)  # tokens of results that the grid does not ask for


def collect(runs: Mapping[str, RunSpec], folder: Path, partial: bool = False) -> Collection:
    """The tables of all `runs` from their folders below `folder`, in the order of the grid.

    Raises RecordError for a file that is cut, foreign, of another schema or of another spec, and, unless
    `partial`, for a run without a result.
    """
    parts: dict[str, list[pa.Table]] = {name: [] for name in FILES}
    missing = []
    for token, spec in runs.items():
        if not (folder / token / FILES["runs"]).exists():
            missing.append(token)
            continue
        found = {name: _read_run(folder / token / file, name, spec) for name, file in FILES.items()}
        _refuse_rowless(found, folder / token)
        for name, table in found.items():
            parts[name].append(table)
    if missing and not partial:
        shown = "\n  ".join(missing[:10])
        raise RecordError(
            f"{folder}: {len(missing)} of {len(runs)} runs have no result; run the workflow, or ask for `partial` to "
            f"report what exists:\n  {shown}"
        )
    tables = {name: pa.concat_tables(parts[name]) if parts[name] else SCHEMAS[name].empty_table() for name in FILES}
    return Collection(tables, missing, _strays(runs, folder))


def _read_run(path: Path, name: str, spec: RunSpec) -> pa.Table:
    table = read_table(path, name)
    remake = "remove the file and run the workflow again to remake it"
    if name == "runs" and table.num_rows != 1:
        raise RecordError(f"{path}: has {table.num_rows} rows, a run has one; {remake}")
    for column, expected in (("run", spec.token), ("spec_hash", spec.content_hash)):
        found = pc.unique(table[column]).to_pylist()
        if found not in ([], [expected]):
            raise RecordError(f"{path}: belongs to another run ({column} {found}, expected {expected!r}); {remake}")
    return table


def _refuse_rowless(tables: Mapping[str, pa.Table], folder: Path) -> None:
    """A run that was measured has rows in every table; a file without any may be that of a diverged run."""
    if tables["runs"]["status"][0].as_py() not in MEASURED:
        return
    for name, table in tables.items():
        if table.num_rows == 0:
            raise RecordError(
                f"{folder / FILES[name]}: has no rows, though the run was measured; remove the file and run the "
                "workflow again to remake it"
            )


def _strays(runs: Mapping[str, RunSpec], folder: Path) -> list[str]:
    found = (path.parent.relative_to(folder).as_posix() for path in folder.rglob(FILES["runs"]))
    return sorted(token for token in found if token not in runs)
