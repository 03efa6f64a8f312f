"""The averaging bound of Prop 4 against the maximising one of Eq 18, as k grows."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from infonce.report.figures.ledger import log_values
from infonce.report.figures.norms import LARGEST, NORM_TERM, norm_terms
from infonce.report.format import integer, temperature
from infonce.report.selection import Selection
from infonce.report.style import INK, Drawing, at_values, legend_below, logarithmic, note, panels, series_style

AVERAGING, MAXIMISING = "Prop 4", "Eq 18"
LEDGER_TERMS = {AVERAGING: "Proposition 4", MAXIMISING: "maximum over negatives"}


def displacements(selection: Selection) -> pd.DataFrame:
    """Upper bounds of both kinds, literal and tight, with the logarithm of each in `log`."""
    terms = selection.terms
    kind = terms["term"].map({term: kind for kind, term in LEDGER_TERMS.items()})
    rows = terms.assign(kind=kind, log=log_values(terms))
    return rows[rows["kind"].notna()]


def comparison(selection: Selection) -> Drawing:
    """Both bounds and the measured change of the loss against k, one panel a form."""
    frame = displacements(selection)
    by = ["kind", "form", "temperature", "negatives"]
    norms = pd.concat([norm_terms(selection, term).assign(kind=term, form="norms") for term in (NORM_TERM, LARGEST)])
    data = (
        pd.concat([frame, norms])
        .groupby(by)
        .agg(log=("log", "mean"), measured=("measured", "mean"), n=("run", "size"))
        .reset_index()
    )
    return Drawing(
        name="averaging",
        title="Averaging against maximising over the negatives",
        alt="Bounds on the change of the loss between the first and the last encoder against k: Proposition 4, which "
        "averages over negatives, Eq 18, which takes their maximum, and the measured change; one colour for each "
        "temperature.",
        caption="Solid: averages over the negatives (Prop 4, B_τ); dashed: takes the largest (Eq 18, largest norms). "
        "Displacements are those of training, from the first to the last encoder; geometric means over seeds. The "
        "measured change is the largest mean of a temperature. Third panel: the norms that enter Lemma 1.",
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    figure, axes = panels(3, height=2.8)
    styles = series_style(list(data["temperature"].unique()))
    ks = sorted(data["negatives"].unique())
    literal = data[data["form"] == "literal"]
    tight = data[(data["form"] == "tight") | (data["kind"] == MAXIMISING)]
    norms = data[data["form"] == "norms"]
    for ax, rows, title in zip(
        axes, (literal, tight, norms), ("Prop 4 literal", "Prop 4 tight", "norms of Lemma 1"), strict=True
    ):
        for kind, line in ((AVERAGING, "-"), (MAXIMISING, "--"), (NORM_TERM, "-"), (LARGEST, "--")):
            _by_temperature(ax, rows[rows["kind"] == kind], styles, line)
        ax.set(title=title, xlabel="negatives k", ylabel="change of the loss (nats)" if ax is not axes[2] else "norm")
        at_values(ax, ks, integer)
        logarithmic(ax, "y")
        if rows.empty:
            note(ax, "not evaluated")
    measured = data.dropna(subset="measured").groupby("negatives")["measured"].max()
    for ax in axes[:2]:
        ax.plot(measured.index, measured, color=INK, linestyle=":", label="measured change")
    axes[0].plot([], [], color=INK, label="averages")
    axes[0].plot([], [], color=INK, linestyle="--", label="takes the largest")
    legend_below(figure)
    return figure


def _by_temperature(ax: Axes, rows: pd.DataFrame, styles: dict[float, dict[str, Any]], line: str) -> None:
    for tau, style in styles.items():
        series = rows[rows["temperature"] == tau]
        if len(series):
            text = f"τ = {temperature(tau)}" if line == "-" else "_"
            ax.plot(series["negatives"], np.exp(series["log"].clip(upper=600)), linestyle=line, label=text, **style)
