"""Prop 4 against Eq 18 along training, for every k."""

import pandas as pd
from matplotlib.figure import Figure

from infonce.report.format import integer, temperature
from infonce.report.selection import Selection
from infonce.report.style import INK, REFERENCE, Drawing, legend_below, logarithmic, panels, series_style

BOUNDS = {"prop4_tight": "-", "eq18": "--"}


def moved(history: pd.DataFrame) -> pd.DataFrame:
    """Recorded steps at which something has moved, with the ratio of the averaging bound to the maximising one."""
    rows = history[(history["eq18"] > 0) & (history["prop4_tight"] > 0)]
    return rows.assign(ratio=rows["prop4_tight"] / rows["eq18"])


def along_training(selection: Selection) -> Drawing:
    """Both bounds at the smallest and the largest k, and their ratio at every k, for the ends of the temperatures."""
    rows = moved(selection.history)
    ends = {rows["temperature"].min(), rows["temperature"].max()}
    data = (
        rows[rows["temperature"].isin(ends)]
        .groupby(["temperature", "negatives", "step"])
        .agg(
            prop4=("prop4", "mean"),
            prop4_tight=("prop4_tight", "mean"),
            eq18=("eq18", "mean"),
            loss_change=("loss_change", "mean"),
            ratio=("ratio", "mean"),
            n=("run", "size"),
        )
        .reset_index()
    )
    return Drawing(
        name="averaging-training",
        title="Averaging against maximising along training",
        alt="Against optimiser steps, at the lowest and the highest temperature: Proposition 4 in its sharper form, "
        "Eq 18 and the measured change of the loss since the first weights, at the smallest and the largest k; and "
        "the ratio of the two bounds, one line for each k.",
        caption="Means over the same training tuples, then over seeds; displacements are those since the first "
        "weights. Left: solid Prop 4 (tight), dashed Eq 18, dotted the measured change. Right: Prop 4 (tight) / Eq 18.",
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    temperatures = sorted(data["temperature"].unique())
    figure, axes = panels(2 * len(temperatures))
    styles = series_style(list(data["negatives"].unique()))
    ends = {min(styles), max(styles)}
    for row, tau in enumerate(temperatures):
        values, ratios = axes[2 * row : 2 * row + 2]
        for k, style in styles.items():
            line = data[(data["temperature"] == tau) & (data["negatives"] == k)]
            if k in ends:
                for bound, dashes in BOUNDS.items():
                    values.plot(line["step"], line[bound], **(style | {"linestyle": dashes, "markersize": 3}))
                values.plot(line["step"], line["loss_change"], color=style["color"], linestyle=":")
            ratios.plot(line["step"], line["ratio"], **(style | {"markersize": 3, "label": f"k = {integer(k)}"}))
        ratios.axhline(1, color=REFERENCE, linewidth=0.8)
        values.set(title=f"τ = {temperature(tau)}", xlabel="optimiser steps", ylabel="change of the loss (nats)")
        ratios.set(title=f"τ = {temperature(tau)}", xlabel="optimiser steps", ylabel="Prop 4 / Eq 18")
        logarithmic(values, "y")
    for text, dashes in (("Prop 4, tight", "-"), ("Eq 18", "--"), ("measured", ":")):
        axes[1].plot([], [], color=INK, linestyle=dashes, label=text)
    legend_below(figure)
    return figure
