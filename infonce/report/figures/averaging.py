"""The averaging bound of Prop 4 against the maximising one of Eq 18, as k grows."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from infonce.report.figures.ledger import log_values
from infonce.report.format import integer, temperature
from infonce.report.selection import Selection
from infonce.report.style import INK, Drawing, at_values, legend_below, logarithmic, note, panels, series_style

AVERAGING, MAXIMISING = "Prop 4", "Eq 18"


def displacements(selection: Selection) -> pd.DataFrame:
    """Upper bounds of both kinds, literal and tight, with the logarithm of each in `log`."""
    terms = selection.terms
    rows = terms[terms["equation"].str.startswith((AVERAGING, MAXIMISING)) & (terms["side"] == "upper")]
    kind = rows["equation"].str.startswith(AVERAGING).map({True: AVERAGING, False: MAXIMISING})
    return rows.assign(kind=kind, log=log_values(rows))


def comparison(selection: Selection) -> Drawing:
    """Both bounds and the measured change of the loss against k, one panel a form."""
    frame = displacements(selection)
    by = ["kind", "form", "temperature", "negatives"]
    data = frame.groupby(by).agg(log=("log", "mean"), measured=("measured", "mean"), n=("run", "size")).reset_index()
    return Drawing(
        name="averaging",
        title="Averaging against maximising over the negatives",
        alt="Bounds on the change of the loss between the first and the last encoder against k: Proposition 4, which "
        "averages "
        "over negatives, Eq 18, which takes their maximum, and the measured change; one colour for each temperature.",
        caption="Displacements are those of training, from the first to the last encoder. Geometric means over seeds.",
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    figure, axes = panels(2, height=3.2, sharey=True)
    styles = series_style(list(data["temperature"].unique()))
    ks = sorted(data["negatives"].unique())
    literal = data[data["form"] == "literal"]
    tight = data[(data["form"] == "tight") | (data["kind"] == MAXIMISING)]
    for ax, rows, title in zip(axes, (literal, tight), ("literal constants", "tight constants"), strict=True):
        for kind, tau in sorted(set(zip(rows["kind"], rows["temperature"], strict=True))):
            line = rows[(rows["kind"] == kind) & (rows["temperature"] == tau)]
            ax.plot(
                line["negatives"],
                np.exp(line["log"].clip(upper=600)),
                **styles[tau],
                linestyle="-" if kind == AVERAGING else "--",
                label=f"{kind}, τ = {temperature(tau)}",
            )
        measured = data.groupby("negatives")["measured"].max()
        ax.plot(measured.index, measured, color=INK, linestyle=":", label="measured, largest τ-mean")
        at_values(ax, ks, integer)
        logarithmic(ax, "y")
        ax.set(title=title, xlabel="negatives k", ylabel="change of the loss (nats)")
        if not (rows["kind"] == AVERAGING).any():
            note(ax, "Prop 4 is not evaluated in this form")
    legend_below(figure, axes[0])
    return figure
