"""Reading and writing the tables, each cast to its explicit schema on write and verified on read."""

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from json import dumps
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import json

from infonce.errors import RecordError
from infonce.files import replacing
from infonce.records.schemas import SCHEMA_VERSION, SCHEMAS, columns_of_kind


def write_table(path: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write `rows` as the table `name`, whole or not at all.

    Raises RecordError for a column that the schema does not have, a value of another type (2.5 where a whole number
    belongs) or a value that is not finite: a number that could not be computed is null, and says why elsewhere.
    """
    write_arrow(path, name, _typed(path, name, rows))


def write_arrow(path: Path, name: str, table: pa.Table) -> None:
    """Write an Arrow table that has the schema of the table `name`."""
    missing = [field.name for field in SCHEMAS[name] if not field.nullable and table[field.name].null_count]
    if missing:
        raise RecordError(f"{path}: the table {name} needs a value in every row of {missing}")
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", version="2.6")


def read_table(path: Path, name: str) -> pa.Table:
    """The table `name` from `path`, or a RecordError that says what is wrong with the file and how to remake it."""
    remake = "remove the file and run the workflow again to remake it"
    if not path.is_file():
        raise RecordError(f"{path}: no such file; run the workflow to make it")
    if path.stat().st_size == 0:
        raise RecordError(f"{path}: is empty; {remake}")
    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowInvalid, OSError) as error:
        raise RecordError(f"{path}: is no whole Parquet file ({_first_line(error)}); {remake}") from None
    metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    if metadata.get("table") != name:
        raise RecordError(f"{path}: is the table {metadata.get('table', 'of something else')}, not {name}; {remake}")
    if metadata.get("schema_version") != str(SCHEMA_VERSION):
        raise RecordError(
            f"{path}: has schema version {metadata.get('schema_version')}, this program reads "
            f"{SCHEMA_VERSION}; {remake}"
        )
    if not table.schema.equals(SCHEMAS[name]):
        raise RecordError(f"{path}: its columns are not those of the table {name}; {remake}")
    return table


def without_provenance(table: pa.Table, name: str) -> pa.Table:
    """The columns that must be equal when the same grid is run twice."""
    return table.drop_columns(columns_of_kind(SCHEMAS[name], "provenance"))


def _typed(path: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table, by way of JSON lines: the reader is strict about types, where `pa.array`
    would cut 2.5 to 2 without a word and import pandas, half a second in every job.
    """
    schema = SCHEMAS[name]
    if not rows:
        return schema.empty_table()
    for position, row in enumerate(rows):
        if unknown := set(row) - set(schema.names):
            raise RecordError(f"{path}: row {position}: the table {name} has no column {sorted(unknown)}")
        for column, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise RecordError(f"{path}: row {position}: {column} is {value}; a table holds finite numbers or null")
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    options = json.ParseOptions(explicit_schema=nullable)
    lines = "\n".join(dumps(row, default=lambda value: value.item()) for row in rows)
    try:
        table = json.read_json(BytesIO(lines.encode()), parse_options=options)
    except pa.ArrowException as error:
        raise RecordError(f"{path}: does not fit the schema of the table {name}: {error}") from None
    return pa.Table.from_arrays(table.columns, schema=schema)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
