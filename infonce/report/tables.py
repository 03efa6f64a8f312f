"""The four result tables as data frames, read with their schemas checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from infonce.records.schemas import SCHEMAS
from infonce.records.tables import read_table


@dataclass(frozen=True)
class Tables:
    """The results of a grid, one data frame a table, with the columns of `infonce.records.schemas`."""

    runs: pd.DataFrame
    curves: pd.DataFrame
    terms: pd.DataFrame
    history: pd.DataFrame

    @classmethod
    def from_arrow(cls, tables: Mapping[str, pa.Table]) -> "Tables":
        """From Arrow tables by name, as collecting the runs gives them."""
        return cls(**{name: tables[name].to_pandas() for name in SCHEMAS})


def read_tables(folder: Path) -> Tables:
    """Read `runs`, `curves`, `terms` and `history` from a folder; RecordError names what is wrong with a file."""
    return Tables.from_arrow({name: read_table(folder / f"{name}.parquet", name) for name in SCHEMAS})
