from pathlib import Path

import pytest

from infonce.report import build
from tests.report.model import make_tables, specs


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    grid = specs(negatives=(4, 64), temperatures=(0.2, 1.0)) + specs(
        negatives=(4, 64), temperatures=(0.2, 1.0), losses=("dcl",)
    )
    return build(make_tables(grid), tmp_path_factory.mktemp("report"), "A title", grid, jobs=1)


def test_every_section_is_there(built: Path) -> None:
    page = built.read_text()
    for section in ("summary", "overview", "rate", "ledger", "gaps", "runs", "methods", "data", "provenance", "cite"):
        assert f'<section id="{section}"' in page
