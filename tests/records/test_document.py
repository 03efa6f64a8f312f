from pathlib import Path

import pytest

from infonce.records.document import MARK, with_reference
from infonce.records.schemas import SCHEMAS

REFERENCE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_reference_is_that_of_the_schemas():
    text = REFERENCE.read_text(encoding="utf-8")
    assert MARK in text
    assert text == with_reference(text), "run `make reference`"


def test_every_column_is_listed_once_under_its_table():
    shared, *own = REFERENCE.read_text(encoding="utf-8").partition(MARK)[2].split("\n## ")[1:]
    listed = {part.split("`")[1]: _listed(part) for part in own}
    for name, schema in SCHEMAS.items():
        assert _listed(shared) + listed[name] == schema.names


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_column_says_what_it_is(name):
    for field in SCHEMAS[name]:
        assert len(field.metadata[b"meaning"]) > 5, field.name


def _listed(part: str) -> list[str]:
    return [line.split("`")[1] for line in part.splitlines() if line.startswith("| `")]
