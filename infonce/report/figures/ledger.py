"""Every term of the ledger on one axis, literal, tight and measured."""

import math

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from infonce.report.format import integer, power_of_ten, temperature
from infonce.report.selection import Selection
from infonce.report.style import FORM_COLOURS, GRID, Drawing, label, panels

_LARGEST = 300.0  # powers of ten beyond this are drawn at the edge


def summarised(terms: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds of each term, form, side, k and τ; logarithms carry the values that overflow."""
    frame = terms.assign(log_of_value=log_values(terms), tested=could_fail(terms))
    keys = ["term", "equation", "form", "quantity", "side", "negatives", "temperature"]
    return (
        frame.groupby(keys, sort=False)
        .agg(
            value=("value", lambda values: values.mean(skipna=False)),
            log_value=("log_of_value", "mean"),
            measured=("measured", "mean"),
            n=("run", "size"),
            assumptions_met=("assumptions_met", "all"),
            tested=("tested", "sum"),
            vacuous=("vacuous", "sum"),
            clipped=("clipped", "sum"),
            violated=("holds", lambda holds: int((holds == False).sum())),  # noqa: E712  (None is no violation)
        )
        .reset_index()
    )


def could_fail(terms: pd.DataFrame) -> pd.Series:
    """Rows that test their bound: held against a measured quantity, and neither vacuous nor clipped, or violated.

    A vacuous bound says no more than holds without theory, and a clipped one is that: neither can fail.
    """
    violated = terms["holds"] == False  # noqa: E712  (None is not tested)
    return terms["holds"].notna() & (~(terms["vacuous"] | terms["clipped"]).astype(bool) | violated)


def log_values(terms: pd.DataFrame) -> pd.Series:
    """Natural logarithm of each value, from the value where none was recorded; NaN for values not above 0.

    A clipped value is not that of its formula: without a logarithm it has none here.
    """
    positive = terms["value"].where((terms["value"] > 0) & ~terms["clipped"].astype(bool))
    return terms["log_value"].astype(float).fillna(positive.astype(float).map(math.log, na_action="ignore"))


def ledger(selection: Selection) -> Drawing:
    """Upper bounds and measured values at the largest k, for the lowest and the highest temperature."""
    terms = selection.terms
    ends = {terms["temperature"].min(), terms["temperature"].max()}
    chosen = terms[(terms["negatives"] == terms["negatives"].max()) & terms["temperature"].isin(ends)]
    data = summarised(chosen)
    k = integer(terms["negatives"].max()) if len(terms) else "–"
    return Drawing(
        name="ledger",
        title="Every term of the ledger",
        alt=f"Dot plot on a logarithmic axis of the ledger's terms at k = {k}, literal, tight and measured, at the "
        "lowest and the highest temperature.",
        caption=f"Encoders trained with k = {k}, mean over seeds; absolute values. Hollow: vacuous, or its "
        "assumptions are not met. The axis is logarithmic: it cannot show terms that are exactly 0 and counts them "
        "under the panel.",
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    temperatures = sorted(data["temperature"].unique())
    names = list(dict.fromkeys(data["term"]))
    figure, axes = panels(len(temperatures), height=0.3 * len(names) + 1.3, sharey=True)
    for ax, tau in zip(axes, temperatures, strict=True):
        panel = data[data["temperature"] == tau]
        hidden = 0
        for row in panel.itertuples():
            size = abs(row.value) if pd.notna(row.value) else math.inf
            exponent = math.log10(size) if 0 < size < math.inf else row.log_value / math.log(10)
            if size == 0 or not math.isfinite(exponent):
                hidden += 1
                continue
            sound = row.assumptions_met and not row.vacuous
            colour = FORM_COLOURS.get(row.form, "#333333")
            ax.plot(
                min(exponent, _LARGEST),
                names.index(row.term),
                "o",
                color=colour,
                markersize=6,
                markerfacecolor=colour if sound else "none",
            )
        unseen = f"; {hidden} are 0 or absent" if hidden else ""
        ax.set(title=f"τ = {temperature(tau)}", xlabel=f"absolute value{unseen}", yticks=range(len(names)))
        ax.set_yticklabels([label(name) for name in names])
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, prune="both"))  # panels stand close together
        ax.xaxis.set_major_formatter(lambda exponent, _: power_of_ten(round(exponent)))
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.grid(axis="y", color=GRID, linewidth=0.4)
    handles = [
        Line2D([], [], linestyle="none", marker="o", color=colour, label=form) for form, colour in FORM_COLOURS.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure
