"""Reading and writing the tables, each cast to its explicit schema on write and verified on read.

A file carries a digest of its rows, so that a byte that was changed on the disk or on the way is seen; each page has a
checksum too, which is compared before the page is decoded.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from json import dumps
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import json

from infonce.errors import RecordError
from infonce.files import replacing
from infonce.records.schemas import SCHEMA_VERSION, SCHEMAS, columns_of_kind

# For files of another version, of which there are as many as runs.
REMAKE_ALL = (
    "`snakemake --cores 2 --forcerun train` makes all of them anew, `--forcerun evaluate` all but the trainings"
)
_DIGEST = "rows_sha256"


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
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), _DIGEST: _digest(table)})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", version="2.6", write_page_checksum=True)


def read_table(path: Path, name: str) -> pa.Table:
    """The table `name` from `path`, or a RecordError that says what is wrong with the file and how to remake it."""
    remake = "remove the file and run the workflow again to remake it"
    if not path.is_file():
        raise RecordError(f"{path}: no such file; run the workflow to make it")
    if path.stat().st_size == 0:
        raise RecordError(f"{path}: is empty; {remake}")
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
        table.validate(full=True)
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise RecordError(f"{path}: is no whole Parquet file ({_first_line(error)}); {remake}") from None
    if metadata.get("table") != name:
        raise RecordError(f"{path}: is the table {metadata.get('table', 'of something else')}, not {name}; {remake}")
    if metadata.get("schema_version") != str(SCHEMA_VERSION) or _DIGEST not in metadata:
        raise RecordError(
            f"{path}: was written by another version of this program (schema version "
            f"{metadata.get('schema_version')}, {'with' if _DIGEST in metadata else 'without'} a digest of its rows; "
            f"this one reads {SCHEMA_VERSION} with a digest); {REMAKE_ALL}"
        )
    if not table.schema.equals(SCHEMAS[name]):
        raise RecordError(f"{path}: its columns are not those of the table {name}; {remake}")
    if metadata.get(_DIGEST) != _digest(table):
        raise RecordError(f"{path}: its rows are not those that were written, by their digest; {remake}")
    return table.replace_schema_metadata(SCHEMAS[name].metadata)


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


def _digest(table: pa.Table) -> str:
    """SHA-256 over names, types and every value, in whatever pieces the table lies."""
    digest = hashlib.sha256(f"{table.num_rows}".encode())
    for field, column in zip(table.schema, table.columns, strict=True):
        digest.update(f"|{field.name}:{field.type}|".encode())
        digest.update(_bytes(column.is_valid()))
        if pa.types.is_string(field.type):
            texts = [text.encode() for text in column.to_pylist() if text is not None]
            digest.update(b"".join(len(text).to_bytes(8, "little") + text for text in texts))
        else:
            digest.update(_bytes(column.drop_null()))
    return digest.hexdigest()


def _bytes(column: pa.ChunkedArray) -> bytes:
    """The values of a column of numbers or flags without nulls. `to_numpy` would import pandas."""
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    width = column.type.bit_width // 8
    pieces = [(chunk.buffers()[1], chunk.offset * width, len(chunk) * width) for chunk in column.chunks if len(chunk)]
    return b"".join(bytes(values[start : start + length]) for values, start, length in pieces)


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
