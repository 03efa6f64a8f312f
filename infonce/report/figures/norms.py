"""B_τ, the norm term of Lemma 1, against τ."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from infonce.report.figures.ledger import log_values
from infonce.report.format import integer, temperature
from infonce.report.selection import Selection
from infonce.report.style import Drawing, at_values, legend_below, lines, panels

NORM_TERM, LARGEST = "B_τ", "largest norms"


def norm_terms(selection: Selection, term: str = NORM_TERM) -> pd.DataFrame:
    """One row a run with B_τ, or with the sum of the largest norms: its logarithm in `log`."""
    terms = selection.terms
    rows = terms[terms["term"] == term]
    return rows.assign(log=log_values(rows)).dropna(subset="log")


def norms(selection: Selection) -> Drawing:
    """log₁₀ B_τ against τ, one line a k."""
    frame = norm_terms(selection)
    frame = frame.assign(decades=frame["log"] / np.log(10))
    by = ["negatives", "temperature"]
    grouped = frame.groupby(by)["decades"]
    data = grouped.agg(mean="mean", se="sem", n="size").reset_index()
    return Drawing(
        name="norms",
        title="The norm term of Lemma 1",
        alt="Logarithm of B_τ against temperature τ, one line for each k.",
        caption="Means over seeds of log₁₀ B_τ; bars are one standard error where n ≥ 2. The exponent on the norms "
        "of the negatives is 2/min(1, τ).",
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    figure, axes = panels(1, height=3.2)
    lines(axes[0], data, "temperature", "negatives", lambda k: f"k = {integer(k)}")
    at_values(axes[0], sorted(data["temperature"].unique()), temperature)
    axes[0].set(xlabel="temperature τ", ylabel="log₁₀ B_τ")
    legend_below(figure)
    return figure
