"""A small grid with faults: one run diverged, one missing, one cell with one seed, two selections."""

import pytest

from tests.report.model import Built, small_report


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return small_report(tmp_path_factory.getbasetemp())
