"""The record of a training beside its weights: how it ended and where it was made, with a digest of the whole."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infonce.errors import RecordError
from infonce.files import json_digest, write_json
from infonce.records.tables import REMAKE_ALL
from infonce.spec.run import RunSpec

_PARTS = ("results", "provenance")


def write_record(path: Path, spec: RunSpec, results: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
    """Write the columns of the table `runs` that a training knows, whole or not at all."""
    record = {"run": spec.token, "spec_hash": spec.content_hash, "results": results, "provenance": provenance}
    write_json(path, {**record, "sha256": json_digest(record)})


def read_record(path: Path, spec: RunSpec) -> dict[str, dict[str, Any]]:
    """The parts `results` and `provenance`; RecordError for a record that is cut, changed or of another run."""
    remake = "remove it and run the workflow again to remake it"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        found, digest = record.pop("spec_hash"), record.pop("sha256", None)
    except FileNotFoundError:
        raise RecordError(f"{path}: no such file; train the run first") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecordError(f"{path}: is no whole record of a training ({error}); {remake}") from None
    if digest is None:
        raise RecordError(f"{path}: was written by another version of this program; {REMAKE_ALL}")
    if found != spec.content_hash:
        raise RecordError(f"{path}: belongs to another run (spec {found}, expected {spec.content_hash}); {remake}")
    if digest != json_digest({**record, "spec_hash": found}):
        raise RecordError(f"{path}: its content is not what was written, by its digest; {remake}")
    return {part: record[part] for part in _PARTS}
