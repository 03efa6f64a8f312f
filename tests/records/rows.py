"""Rows that the schemas take, for any run."""

import pyarrow as pa

from infonce.records.collect import FILES
from infonce.records.schemas import SCHEMAS
from infonce.records.tables import write_table

_FILLER = {pa.string(): "text", pa.int64(): 3, pa.float64(): 0.25, pa.bool_(): True}


def row(name, spec, **values):
    """A row of the table `name` with every column that needs a value."""
    head = {"run": spec.token, "spec_hash": spec.content_hash, **spec.columns()}
    filled = {field.name: _FILLER[field.type] for field in SCHEMAS[name] if not field.nullable}
    return filled | head | values


def write_run(folder, spec, **changes):
    """The four files of a run that was measured; `changes` go into its row of the table `runs`."""
    measured = {"status": "ok", "cross_entropy": -float(spec.negatives)}
    write_table(folder / FILES["runs"], "runs", [row("runs", spec, **measured | changes)])
    for name in ("curves", "terms", "history"):
        write_table(folder / FILES[name], name, [row(name, spec), row(name, spec)])
