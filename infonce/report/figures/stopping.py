"""Distance from the first weights, losses and gap along training."""

import pandas as pd
from matplotlib.figure import Figure

from infonce.report.format import integer, temperature
from infonce.report.selection import Selection
from infonce.report.style import REFERENCE, Drawing, legend_below, panels, series_style


def with_gap(history: pd.DataFrame) -> pd.DataFrame:
    """History with the gap at each recorded step."""
    return history.assign(gap=history["held_out_loss"] - history["training_loss"])


def along_training(selection: Selection) -> Drawing:
    """Displacement, held-out loss and gap against steps, and gap against displacement, at the largest k."""
    history = with_gap(selection.history)
    largest = history[history["negatives"] == history["negatives"].max()]
    data = (
        largest.groupby(["temperature", "step"])[["displacement", "training_loss", "held_out_loss", "gap"]]
        .mean()
        .reset_index()
    )
    k = integer(history["negatives"].max()) if len(history) else "–"
    return Drawing(
        name="stopping",
        title="Along training",
        alt=f"Four panels for encoders trained with k = {k}: distance from the first weights, losses and gap against "
        "optimiser steps, and gap against distance; one line for each temperature.",
        caption=f"Encoders trained with k = {k}, mean over seeds. Solid: held-out loss; dashed: loss over the "
        "training tuples. Losses along training are estimates on fixed tuples; the final risks elsewhere on this "
        "page are exact.",
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    figure, axes = panels(4)
    for tau, style in series_style(list(data["temperature"].unique())).items():
        line = data[data["temperature"] == tau]
        style = style | {"markersize": 3, "label": f"τ = {temperature(tau)}"}
        axes[0].plot(line["step"], line["displacement"], **style)
        axes[1].plot(line["step"], line["held_out_loss"], **style)
        axes[1].plot(line["step"], line["training_loss"], **(style | {"linestyle": "--", "marker": "", "label": "_"}))
        axes[2].plot(line["step"], line["gap"], **style)
        axes[3].plot(line["displacement"], line["gap"], **style)
    for ax, y in zip(axes, ("‖θ − θ₀‖", "loss (nats)", "gap (nats)", "gap (nats)"), strict=True):
        ax.set(xlabel="optimiser steps", ylabel=y)
    axes[3].set_xlabel("‖θ − θ₀‖")
    for ax in axes[2:]:
        ax.axhline(0, color=REFERENCE, linewidth=0.8)
    legend_below(figure)
    return figure
