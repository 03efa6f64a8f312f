"""A small grid with faults: one run diverged, one missing, one cell with one seed, two selections."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infonce.report import Tables, build
from tests.report.model import failed, make_tables, specs


@dataclass(frozen=True)
class Built:
    folder: Path
    tables: Tables
    requested: list[dict[str, Any]]

    @property
    def page(self) -> str:
        return (self.folder / "report.html").read_text(encoding="utf-8")


def faulty_grid() -> tuple[Tables, list[dict[str, Any]]]:
    requested = specs(positives=("class",)) + specs(
        positives=("augment",), losses=("dcl",), negatives=(4, 64), temperatures=(0.2, 1.0)
    )
    present = [spec for spec in requested if not _is(spec, negatives=4, temperature=0.5, seed=1)]
    tables = make_tables(present)
    run = tables.runs[(tables.runs["negatives"] == 16) & (tables.runs["temperature"] == 0.1)]["run"].iloc[0]
    return failed(tables, run, "diverged", "the loss was not finite at step 12"), requested


def _is(spec: dict[str, Any], **values: Any) -> bool:
    return all(spec[key] == value for key, value in values.items())


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    tables, requested = faulty_grid()
    folder = tmp_path_factory.mktemp("report")
    build(tables, folder, "A small grid", requested, jobs=1)
    return Built(folder, tables, requested)
