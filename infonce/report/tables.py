"""The four result tables as data frames, read with their schemas checked."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from infonce.records.schemas import SCHEMAS
from infonce.records.tables import read_table


@dataclass(frozen=True)
class Tables:
    """The results of a grid, one data frame a table, with the columns of `infonce.records.schemas`."""

    runs: pd.DataFrame
    curves: pd.DataFrame
    terms: pd.DataFrame
    history: pd.DataFrame


def read_tables(folder: Path) -> Tables:
    """Read `runs`, `curves`, `terms` and `history` from a folder; RecordError names what is wrong with a file."""
    return Tables(**{name: read_table(folder / f"{name}.parquet", name).to_pandas() for name in SCHEMAS})
