"""The tables' reference in Markdown, generated from their schemas so that the two agree."""

from pathlib import Path

import pyarrow as pa

from infonce.files import write_text
from infonce.records.schemas import SCHEMAS

MARK = "<!-- Below this line: generated from infonce/records/schemas.py by `make reference`. -->"

_TYPES = {pa.string(): "text", pa.int64(): "whole number", pa.float64(): "number", pa.bool_(): "true or false"}


def with_reference(text: str) -> str:
    """A Markdown text whose part below the mark is the generated reference."""
    return f"{text.partition(MARK)[0]}{MARK}\n\n{tables_reference()}"


def tables_reference() -> str:
    """The columns that all tables share, then a Markdown table of each table's own."""
    schemas = list(SCHEMAS.values())
    shared = [field for field in schemas[0] if all(field in list(schema) for schema in schemas)]
    parts = [_table("Columns of every table", shared)]
    for name, schema in SCHEMAS.items():
        parts.append(_table(f"`{name}`", [field for field in schema if field not in shared]))
    return "\n".join(parts)


def _table(title: str, fields: list[pa.Field]) -> str:
    lines = [f"## {title}", "", "| column | type | null | kind | meaning |", "|---|---|---|---|---|"]
    for field in fields:
        kind, meaning = (field.metadata[key].decode().replace("|", "\\|") for key in (b"kind", b"meaning"))
        null = "may be" if field.nullable else "never"
        lines.append(f"| `{field.name}` | {_TYPES[field.type]} | {null} | {kind} | {meaning} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    page = Path("docs/tables.md")
    write_text(page, with_reference(page.read_text(encoding="utf-8")))
