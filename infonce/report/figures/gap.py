"""The generalisation gap against k, against n and against the embedding dimension."""

import pandas as pd
from matplotlib.figure import Figure

from infonce.report.format import integer, temperature
from infonce.report.selection import FIXED, Selection
from infonce.report.style import (
    Drawing,
    at_values,
    legend_below,
    lines,
    logarithmic,
    mean_over,
    note,
    panels,
    seeds_text,
)

AXES = {"negatives": "negatives k", "tuples": "training tuples n", "dimension": "embedding dimension d"}


def along(selection: Selection, axis: str) -> pd.DataFrame:
    """Usable runs along one axis: others held at the reference, k at the largest that has the whole axis."""
    if axis == "negatives":
        return selection.runs
    runs = selection.usable
    for other in FIXED:
        if other != axis:
            runs = runs[runs[other] == selection.reference[other]]
    values = runs.groupby("negatives")[axis].nunique()
    if values.empty:
        return runs
    return runs[runs["negatives"] == values[values == values.max()].index.max()]


def gap(selection: Selection) -> Drawing:
    """Gap against k, and against n and d where the grid varies them."""
    data = pd.concat(
        [
            mean_over(runs, ["temperature", axis], "generalisation_gap").rename(columns={axis: "x"}).assign(axis=axis)
            for axis in AXES
            for runs in [along(selection, axis)]
            if axis == "negatives" or len(runs[axis].unique()) > 1
        ],
        ignore_index=True,
    )
    varied = [words for axis, words in AXES.items() if axis in set(data["axis"])]
    return Drawing(
        name="gap",
        title="The generalisation gap",
        alt=f"Gap between held-out and empirical risk against {', '.join(varied)}; one line for each temperature.",
        caption="Means over seeds; bars are one standard error over seeds where n ≥ 2. Against n and d: at the "
        "largest k that the grid varies them for. Each run's own standard error, over anchors, pool and tuples, is in "
        "the table of runs. " + seeds_text(data),
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    axes_shown = [axis for axis in AXES if axis in set(data["axis"])]
    figure, axes = panels(len(axes_shown), height=3.0)
    for ax, axis in zip(axes, axes_shown, strict=True):
        cells = data[data["axis"] == axis]
        lines(ax, cells, "x", "temperature", lambda tau: f"τ = {temperature(tau)}")
        if axis == "tuples":
            logarithmic(ax, "y")
            hidden = int((cells["mean"] <= 0).sum())
            if hidden:
                note(ax, f"{hidden} gaps are not above 0: not on a log axis")
        else:
            ax.axhline(0, linewidth=0.8, color="#7a7a7a")
        at_values(ax, sorted(cells["x"].unique()), integer)
        ax.set(xlabel=AXES[axis], ylabel="gap R − R̂  (nats)")
    legend_below(figure)
    return figure
