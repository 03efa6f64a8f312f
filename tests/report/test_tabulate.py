import csv
import io
import math
from dataclasses import replace

import pytest

from infonce.report import tabulate
from infonce.report.fits import Mean
from infonce.report.tabulate import Column, Table

TABLE = Table(
    "example",
    "A caption with 100 % and τ.",
    [
        Column("name", "Name", "text"),
        Column("negatives", "k", "integer"),
        Column("slope", "Slope", "interval"),
        Column("bound", "Bound", "overflowing"),
    ],
    [
        {"name": "a_b & 50 % $", "negatives": 1024, "slope": Mean(-1.0, 0.01, 3), "bound": (2.0, math.log(2))},
        {"name": "数|字", "negatives": 4, "slope": Mean(-0.9, None, 1), "bound": (math.inf, 2000.0)},
        {"name": "empty", "negatives": None, "slope": Mean(math.nan, None, 0), "bound": None},
    ],
)


def test_csv_keeps_raw_values_and_every_part_of_an_interval() -> None:
    rows = list(csv.DictReader(io.StringIO(tabulate.to_csv(TABLE))))
    assert rows[0]["negatives"] == "1024"
    assert (rows[0]["slope"], rows[0]["slope_half_width"], rows[0]["slope_n"]) == ("-1.0", "0.01", "3")
    assert rows[1]["slope_half_width"] == ""
    assert rows[1]["bound_log"] == "2000.0"
    assert rows[0]["name"] == "a_b & 50 % $"


def test_a_mean_says_what_it_leaves_out() -> None:
    mean = Mean(-1.0, 0.01, 3, cells_left_out=2, seeds_left_out=1)
    assert tabulate.shown(mean, "interval").endswith(
        "(n = 3, without 2 cells that a seed lacks and 1 seed with too few cells)"
    )
    table = replace(TABLE, rows=[{"slope": mean}])
    (row,) = csv.DictReader(io.StringIO(tabulate.to_csv(table)))
    assert row["slope_cells_left_out"] == "2"


def test_what_overflows_keeps_its_logarithm() -> None:
    assert tabulate.overflowing(math.log(2)) == (pytest.approx(2), math.log(2))
    assert tabulate.overflowing(1e4) == (math.inf, 1e4)
    assert tabulate.overflowing(None) is tabulate.overflowing(math.nan) is None


def test_markdown_is_a_table_of_equal_rows() -> None:
    lines = [line for line in tabulate.to_markdown(TABLE).splitlines() if line.startswith("|")]
    assert len(lines) == 5
    assert {line.replace("\\|", "").count("|") for line in lines} == {5}
    assert "10⁸⁶⁸" in lines[3]


def test_latex_escapes_what_it_would_read_otherwise() -> None:
    text = tabulate.to_latex(TABLE)
    assert r"a\_b \& 50 \% \$" in text
    assert r"A caption with 100 \% and $\tau$." in text
    assert r"$-$1.000 $\pm$ 0.010 (n = 3)" in text
    assert r"10$^{868}$" in text
    for command in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{lrrr}"):
        assert command in text


def test_an_absent_value_is_a_dash_and_sorts_last() -> None:
    cells = TABLE.cells(TABLE.rows[2])
    assert [text for text, _, _ in cells] == ["empty", "–", "–", "–"]
    assert [key for _, key, numeric in cells if numeric] == ["", "", ""]


def test_beyond_floats_the_order_is_kept() -> None:
    keys = [float(TABLE.cells(row)[3][1]) for row in TABLE.rows[:2]]
    assert keys[0] < keys[1] < math.inf
