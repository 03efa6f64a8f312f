"""Whatever happens to a manifest: the folder is read as it was prepared, or refused by name."""

import json

import pytest
from hypothesis import HealthCheck, given, settings

from infonce.data.prepared import load
from infonce.errors import DataError
from infonce.stages import prepare
from tests.records.test_fuzz import damage


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared") / "digits"
    prepare.run("digits", "{}", folder.parent / "raw", folder)
    path = folder / "manifest.json"
    return path, path.read_bytes(), told(load(folder))


def told(found):
    return found.name, found.classes, found.mean, found.std, found.digest, found.manifest["options"]


def refused_or_as_prepared(path, expected):
    try:
        found = load(path.parent)
    except DataError as error:
        assert str(path.parent) in str(error)
    else:
        assert told(found) == expected


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(damage())
def test_damaged_manifests(prepared, harmed):
    path, whole, expected = prepared
    path.write_bytes(harmed(whole))
    refused_or_as_prepared(path, expected)


@pytest.mark.parametrize("value", [None, 7, "x", [], {}])
@pytest.mark.parametrize("key", ["arrays", "classes", "digest", "mean", "name", "options", "std", "format_version"])
def test_values_of_other_types(prepared, key, value):
    path, whole, expected = prepared
    path.write_text(json.dumps(json.loads(whole) | {key: value}))
    refused_or_as_prepared(path, expected)
