from pathlib import Path

import jsonschema
import yaml

from infonce.spec.document import MARK, config_schema, with_reference

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.json"
REFERENCE = ROOT / "config" / "README.md"


def test_the_schema_file_is_that_of_the_types():
    assert SCHEMA.read_text() == config_schema(), "run `make reference`"


def test_the_reference_is_that_of_the_types():
    text = REFERENCE.read_text()
    assert MARK in text
    assert text == with_reference(text), "run `make reference`"


def test_every_key_has_a_meaning():
    rows = [line for line in REFERENCE.read_text().partition(MARK)[2].splitlines() if line.startswith("| `")]
    without = [row for row in rows if row.endswith("|  |") and "its own table" not in row]
    assert len(rows) > 50
    assert not without


def test_the_default_configuration_fits_the_schema():
    import json

    values = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    jsonschema.validate(values, json.loads(SCHEMA.read_text()))
