"""The telling: figures, tables and one page, from the four Parquet tables alone."""

from infonce.report.build import build
from infonce.report.tables import Tables, read_tables

__all__ = ["Tables", "build", "read_tables"]
