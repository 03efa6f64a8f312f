"""What τ does to the softmax search: divergence from uniform choice, range of its density, effective neighbours."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from infonce.report.format import integer, number, temperature
from infonce.report.selection import Selection
from infonce.report.style import (
    INK,
    LITERAL,
    REFERENCE,
    TIGHT,
    Drawing,
    at_values,
    legend_below,
    lines,
    logarithmic,
    mean_over,
    panels,
    seeds_text,
)

_QUANTITIES = {
    "kl": "KL(Q‖π)  (nats)",
    "chi2": "χ²(Q‖π)",
    "effective_neighbours": "effective neighbours",
}


def concentration(selection: Selection) -> Drawing:
    """KL with its ceiling, χ², the range of q with that of Eq 8, effective neighbours; all against τ."""
    runs = selection.runs
    by = ["negatives", "temperature"]
    parts = [mean_over(runs, by, name).assign(quantity=name) for name in _QUANTITIES]
    limits = runs.groupby("temperature").agg(
        kl_ceiling=("kl_ceiling", "mean"), q_min=("q_min", "min"), q_max=("q_max", "max"), pool=("pool_size", "max")
    )
    data = pd.concat(parts, ignore_index=True).merge(limits.reset_index(), on="temperature")
    return Drawing(
        name="temperature",
        title="Temperature and the concentration of the search",
        alt="Four panels against temperature τ: KL divergence of the search from uniform choice under its ceilings, "
        "χ², the measured range of the density q inside the range of Eq 8, and the number of effective neighbours.",
        caption="Means over seeds, one line for each k that the encoders were trained with; bars are one standard "
        "error where n ≥ 2. The shaded range of q is from the smallest to the largest value in any run; dashed: "
        "e^(±2/τ), Eq 8. "
        f"Largest possible number of neighbours: the pool, {number(runs['pool_size'].max())}. " + seeds_text(data),
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    figure, axes = panels(4)
    temperatures = sorted(data["temperature"].unique())
    limits = data.drop_duplicates("temperature").sort_values("temperature")
    for ax, (quantity, title) in zip((axes[0], axes[1], axes[3]), _QUANTITIES.items(), strict=True):
        lines(ax, data[data["quantity"] == quantity], "temperature", "negatives", lambda k: f"k = {integer(k)}")
        ax.set_ylabel(title)
    x = limits["temperature"].to_numpy(float)
    axes[0].plot(x, limits["kl_ceiling"], color=TIGHT, linestyle="--", label="ceiling K*(τ)")
    axes[0].plot(x, 2 / x, color=REFERENCE, linestyle=":", label="2/τ")
    axes[3].axhline(float(limits["pool"].max()), color=INK, linestyle=":", linewidth=1)
    axes[3].set_ylim(bottom=0)
    _density_range(axes[2], limits, x)
    logarithmic(axes[0], "y")
    logarithmic(axes[1], "y")
    for ax in axes:
        at_values(ax, temperatures, temperature)
        ax.set_xlabel("temperature τ")
    legend_below(figure)
    return figure


def _density_range(ax: Axes, limits: pd.DataFrame, x: np.ndarray) -> None:
    # In powers of ten, since e^(2/τ) overflows for small τ.
    decades = 2 / x / np.log(10)
    ax.plot(x, decades, color=LITERAL, linestyle="--")
    ax.plot(x, -decades, color=LITERAL, linestyle="--")
    low, high = np.log10(limits["q_min"].clip(lower=5e-324).to_numpy(float)), np.log10(limits["q_max"].to_numpy(float))
    ax.fill_between(x, low, high, color=TIGHT, alpha=0.25, linewidth=0)
    ax.plot(x, low, color=TIGHT, marker="v")
    ax.plot(x, high, color=TIGHT, marker="^")
    ax.set_ylabel("log₁₀ q, measured range")
