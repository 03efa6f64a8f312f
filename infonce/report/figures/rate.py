"""R(k) - CE against k: the fall itself, and the two theorems that hold it."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from infonce.report import fits
from infonce.report.format import integer, number, temperature
from infonce.report.selection import Selection
from infonce.report.style import (
    INK,
    LITERAL,
    REFERENCE,
    TIGHT,
    Drawing,
    legend_below,
    logarithmic,
    note,
    panels,
    seeds_text,
    series_style,
)

_KEYS = ["temperature", "negatives", "risk_negatives"]


def decay(selection: Selection) -> Drawing:
    """|R(k) - CE| against k, one panel a temperature, one line a k that the encoder was trained with."""
    data = (
        selection.curves.assign(ruled=fits.first_order_rules(selection.curves))
        .groupby(_KEYS)
        .agg(difference=("difference", "mean"), se=("difference", "sem"), n=("run", "size"), ruled=("ruled", "all"))
        .reset_index()
    )
    return Drawing(
        name="rate",
        title="The distance of the risk from the cross-entropy falls with k",
        alt="Log-log plots of the absolute difference between risk and held-out cross-entropy against the number of "
        "negatives k, one panel for each temperature, with guides of slope −1 and −1/2.",
        caption="Exact expectations over the held-out pool, averaged over seeds; bars are one standard error where "
        "there are two seeds or more. Filled markers: first-order term rules (second-order term at most 5 % of it); "
        "the slope is fitted there. Hollow: outside the fit. Each colour is the k that the encoders were trained "
        "with. " + seeds_text(data),
        data=data,
        draw=_draw_decay,
    )


def _draw_decay(data: pd.DataFrame) -> Figure:
    temperatures = sorted(data["temperature"].unique())
    figure, axes = panels(len(temperatures), height=2.5, sharex=True)
    styles = series_style(list(data["negatives"].unique()))
    for ax, tau in zip(axes, temperatures, strict=True):
        panel = data[data["temperature"] == tau]
        for negatives, style in styles.items():
            _line(ax, panel[panel["negatives"] == negatives], f"trained with k = {integer(negatives)}", style)
        _guides(ax, panel)
        logarithmic(ax, "x", "y")
        ax.set(title=f"τ = {temperature(tau)}", xlabel="negatives k in the risk", ylabel="|R(k) − CE|  (nats)")
        unseen = int((panel["difference"] == 0).sum() + panel["difference"].isna().sum())
        if unseen:
            note(ax, f"{unseen} values are 0: not on a log axis")
    legend_below(figure)
    return figure


def _line(ax: Axes, line: pd.DataFrame, text: str, style: dict[str, Any]) -> None:
    line = line[line["difference"].notna() & (line["difference"] != 0)]
    y = line["difference"].abs()
    ax.plot(line["risk_negatives"], y, **style, markerfacecolor="none", label=text)
    ruled = line["ruled"].to_numpy(bool)
    ax.plot(line["risk_negatives"][ruled], y[ruled], **(style | {"linestyle": "none"}))
    # A bar that reaches below zero has no place on a log axis: it ends at the marker.
    se = line["se"].fillna(0)
    ax.errorbar(
        line["risk_negatives"], y, yerr=[se.where(se < y, 0), se], fmt="none", ecolor=style["color"], elinewidth=0.9
    )


def _guides(ax: Axes, panel: pd.DataFrame) -> None:
    shown = panel[panel["difference"].abs() > 0]
    if shown.empty:
        return
    k = np.array([shown["risk_negatives"].min(), shown["risk_negatives"].max()], dtype=float)
    last = shown[shown["risk_negatives"] == shown["risk_negatives"].max()]["difference"].abs().max()
    first = shown[shown["risk_negatives"] == shown["risk_negatives"].min()]["difference"].abs().max()
    ax.plot(k, 2 * last * k[1] / k, color=INK, linestyle="--", linewidth=1, label="slope −1")
    ax.plot(k, 2 * first * np.sqrt(k[0] / k), color=REFERENCE, linestyle=":", label="slope −1/2 (older rate)")


def bounds(selection: Selection) -> Drawing:
    """R(k) - CE between its tight bracket and its literal envelope, at the largest k trained with."""
    curves = selection.curves
    columns = ["difference", "first_order", "bracket_lower", "bracket_upper", "envelope_lower", "envelope_upper"]
    largest = curves[curves["negatives"] == curves["negatives"].max()]
    data = largest.groupby(_KEYS)[columns].mean().reset_index()
    k = integer(largest["negatives"].max()) if len(largest) else "–"
    envelope = "Proposition 1" if selection.loss == "infonce" else "Eq 11"
    return Drawing(
        name="bounds",
        title="Between the tight bracket and the literal envelope",
        alt=f"Log-log plots of risk minus cross-entropy against k for encoders trained with k = {k}, with the "
        f"first-order prediction, the tight bracket and the envelope of {envelope}, one panel for each temperature.",
        caption=f"Encoders trained with k = {k}, mean over seeds. Absolute values of the difference, of its "
        "first-order term and of both ends of each interval; an end on the other side of zero is drawn thin. "
        f"Envelope: {envelope}.",
        data=data,
        draw=_draw_bounds,
    )


def _draw_bounds(data: pd.DataFrame) -> Figure:
    temperatures = sorted(data["temperature"].unique())
    figure, axes = panels(len(temperatures), height=2.5, sharex=True)
    for ax, tau in zip(axes, temperatures, strict=True):
        _bounds_panel(ax, data[data["temperature"] == tau])
        ax.set(title=f"τ = {temperature(tau)}", xlabel="negatives k in the risk", ylabel="nats")
    legend_below(figure)
    return figure


def _bounds_panel(ax: Axes, panel: pd.DataFrame) -> None:
    k = panel["risk_negatives"]
    ax.plot(k, panel["difference"].abs(), color=INK, marker="o", label="|R(k) − CE|, exact", zorder=4)
    ax.plot(k, panel["first_order"].abs(), color=REFERENCE, linestyle="--", label="first-order prediction")
    for kind, colour, text in (("bracket", TIGHT, "tight bracket"), ("envelope", LITERAL, "literal envelope")):
        for side, line in (("upper", "-"), ("lower", "-.")):
            bound = panel[f"{kind}_{side}"]
            same_side = np.sign(bound) == np.sign(panel["difference"])
            ax.plot(k, bound.abs(), color=colour, linestyle=line, linewidth=0.6, label="_")
            ax.plot(k, bound.abs().where(same_side), color=colour, linestyle=line, label=f"{text}, {side} end")
    logarithmic(ax, "x", "y")
    ceiling = 1e4 * float(panel["difference"].abs().max())
    floor = 0.3 * float(panel["difference"].abs()[panel["difference"] != 0].min())
    low, high = ax.get_ylim()
    ax.set_ylim(max(low, floor), min(high, ceiling))
    if high > ceiling:
        most = float(panel[["envelope_lower", "envelope_upper"]].abs().to_numpy().max())
        ax.text(
            0.97,
            0.95,
            f"envelope leaves the axis, up to {number(most)}",
            transform=ax.transAxes,
            ha="right",
            va="top",
            fontsize=7.5,
        )
