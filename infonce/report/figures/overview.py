"""Heatmaps over k and τ: empirical risk, held-out risk, cross-entropy and gap, n in each cell where it varies."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from infonce.report import grid
from infonce.report.format import integer, number, temperature
from infonce.report.selection import Selection, at_reference
from infonce.report.style import INK, Drawing, mean_over, panels, seeds_text
from infonce.report.tabulate import records

QUANTITIES = {
    "empirical_risk": "Empirical risk R̂ (nats)",
    "held_out_risk": "Held-out risk R (nats)",
    "cross_entropy": "Held-out cross-entropy CE (nats)",
    "generalisation_gap": "Gap R − R̂ (nats)",
}


def overview(selection: Selection) -> Drawing:
    """The grid at a glance; a cell without any usable run is crossed out."""
    runs = selection.runs
    cells = [mean_over(runs, ["negatives", "temperature"], name).assign(quantity=name) for name in QUANTITIES]
    data = pd.concat(cells, ignore_index=True)
    data = _with_empty_cells(data, selection)
    lowest = _lowest(data[(data["quantity"] == "cross_entropy") & data["mean"].notna()])
    return Drawing(
        name="overview",
        title="Risks, cross-entropy and gap over k and τ",
        alt="Four heatmaps with negatives k across and temperature τ down: empirical risk, held-out risk, held-out "
        f"cross-entropy and generalisation gap.{lowest}",
        caption=f"Mean over seeds at {selection.reference_text}. R and R̂ are the trained loss at the run's own k, "
        "with −log k inside, so that values at different k may be compared; values at different τ may not. "
        + seeds_text(data)
        + " A cross marks a cell without numbers, and a cell with fewer seeds says so.",
        data=data,
        draw=_draw,
    )


def _lowest(cells: pd.DataFrame) -> str:
    """Where the cross-entropy is lowest, at each τ by itself: its values at different τ are not comparable."""
    best = cells.sort_values("mean").drop_duplicates("temperature").sort_values("temperature")
    places = [
        f"τ = {temperature(row['temperature'])}: {number(row['mean'])} nats at k = {integer(row['negatives'])}"
        for row in records(best)
    ]
    return f" The lowest cross-entropy at each temperature: {'; '.join(places)}." if places else ""


def _with_empty_cells(data: pd.DataFrame, selection: Selection) -> pd.DataFrame:
    """Cells of which every run is missing or failed stand in the data with n = 0."""
    wanted = at_reference(grid.cells(selection), selection)[["negatives", "temperature"]].drop_duplicates()
    wanted = wanted.merge(pd.DataFrame({"quantity": list(QUANTITIES)}), how="cross")
    whole = wanted.merge(data, how="left", on=["negatives", "temperature", "quantity"])
    return whole.fillna({"n": 0}).astype({"n": int})


def _draw(data: pd.DataFrame) -> Figure:
    figure, axes = panels(len(QUANTITIES), height=0.42 * max(data["temperature"].nunique(), 3) + 1.0)
    for ax, (quantity, title) in zip(axes, QUANTITIES.items(), strict=True):
        _heatmap(ax, data[data["quantity"] == quantity], title, int(data["n"].max()))
    return figure


def _heatmap(ax: Axes, cells: pd.DataFrame, title: str, most: int) -> None:
    means = cells.pivot_table(index="temperature", columns="negatives", values="mean", dropna=False)
    counts = cells.pivot_table(index="temperature", columns="negatives", values="n", dropna=False)
    # As seaborn's heatmap, without its extra drawing of the whole figure to see whether labels overlap.
    ax.pcolormesh(means.to_numpy(float), cmap="cividis", edgecolors="white", linewidth=0.5)
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.set_xticks(np.arange(means.shape[1]) + 0.5)
    ax.set_yticks(np.arange(means.shape[0]) + 0.5)
    size = 8.5 if means.shape[1] <= 6 else 6.5
    middle = np.nanmean([means.min(axis=None), means.max(axis=None)])
    for (row, column), mean in np.ndenumerate(means.to_numpy(float)):
        colour = INK if np.isnan(mean) else "#ffffff" if mean <= middle else "#111111"
        text = _note(float(mean), float(counts.to_numpy()[row, column]), most)
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", size=size, color=colour)
    ax.set(title=title, xlabel="negatives k", ylabel="temperature τ")
    ax.set_xticklabels([integer(float(k)) for k in means.columns], rotation=0 if means.shape[1] <= 6 else 45)
    ax.set_yticklabels([temperature(tau) for tau in means.index], rotation=0)


def _note(mean: float, n: float, most: int) -> str:
    if np.isnan(mean):
        return "×"
    text = f"{mean:.2f}".replace("-", "−")
    return text if n == most else f"{text}\nn = {n:.0f}"
