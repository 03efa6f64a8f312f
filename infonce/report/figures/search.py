"""The cross-entropy of a search among k points against the two risks."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from infonce.report.format import integer, power_of_ten, temperature
from infonce.report.selection import Selection
from infonce.report.style import Drawing, legend_below, logarithmic, note, panels, series_style

EQUAL = 1e-9  # nats; below this two exact integrals are the same number


def distances(selection: Selection) -> pd.DataFrame:
    """One row a run and k that has CEₖ: |CEₖ - R|, |CEₖ - R̃| and how often the support was empty."""
    keys = ["run", "negatives", "temperature", "seed", "risk_negatives"]
    curves = selection.every_curve.dropna(subset="finite_cross_entropy")
    infonce = curves[curves["risk_loss"] == "infonce"][[*keys, "risk", "finite_cross_entropy", "empty_support"]]
    dcl = curves[curves["risk_loss"] == "dcl"][[*keys, "risk"]].rename(columns={"risk": "dcl_risk"})
    joined = infonce.merge(dcl, on=keys)
    return joined.assign(
        to_infonce=(joined["finite_cross_entropy"] - joined["risk"]).abs(),
        to_dcl=(joined["finite_cross_entropy"] - joined["dcl_risk"]).abs(),
    )


def interpretation(selection: Selection) -> Drawing:
    """Distances of CEₖ to R and R̃ against k, and the frequency of an empty support."""
    columns = ["to_infonce", "to_dcl", "empty_support"]
    frame = distances(selection)
    data = frame.groupby(["temperature", "risk_negatives"])[columns].mean().reset_index()
    data["n"] = frame.groupby(["temperature", "risk_negatives"]).size().to_numpy()
    return Drawing(
        name="search",
        title="The search among k points and the two risks",
        alt="Three panels against k: distance of the finite search's cross-entropy to the InfoNCE risk, to the DCL "
        "risk, and how often none of the k points is a possible positive; one line for each temperature.",
        caption="Means over all encoders of a temperature, whatever k they were trained with. Distances below "
        f"{power_of_ten(round(math.log10(EQUAL)))} nats are equalities up to rounding; a log axis cannot show them, so "
        "they are marked at its foot.",
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    figure, axes = panels(3)
    styles = series_style(list(data["temperature"].unique()))
    for tau, style in styles.items():
        rows = data[data["temperature"] == tau]
        text = f"τ = {temperature(tau)}"
        for ax, column in zip(axes, ("to_infonce", "to_dcl"), strict=False):
            ax.plot(rows["risk_negatives"], rows[column].clip(lower=EQUAL), label=text, **style)
        axes[2].plot(rows["risk_negatives"], rows["empty_support"], label=text, **style)
    for ax, title in zip(axes, ("|CEₖ − R|  (nats)", "|CEₖ − R̃|  (nats)"), strict=False):
        logarithmic(ax, "x", "y")
        ax.set(ylabel=title, xlabel="negatives k")
        _note_equalities(ax, data["to_dcl" if "R̃" in title else "to_infonce"])
    logarithmic(axes[2], "x")
    axes[2].set(ylabel="share of empty supports", xlabel="negatives k", ylim=(-0.03, 1.03))
    legend_below(figure)
    return figure


def _note_equalities(ax: Axes, values: pd.Series) -> None:
    equal = int((values < EQUAL).sum())
    if equal:
        ax.set_ylim(bottom=EQUAL / 2)
        note(ax, f"{integer(equal)} of {integer(len(values))} points are equal")
