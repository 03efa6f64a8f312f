"""Search quality that users know, beside the cross-entropy."""

import pandas as pd
from matplotlib.figure import Figure

from infonce.report.format import temperature
from infonce.report.selection import Selection
from infonce.report.style import Drawing, legend_below, panels, series_style

MEASURES = {
    "recall_at_1": "recall@1",
    "recall_at_10": "recall@10",
    "knn_accuracy": "kNN accuracy",
    "mean_average_precision": "mean average precision",
}


def measured(runs: pd.DataFrame) -> list[str]:
    """The measures that some run has."""
    return [name for name in MEASURES if runs[name].notna().any()]


def quality(selection: Selection) -> Drawing:
    """Each measure against CE, a point a run."""
    runs = selection.runs
    columns = ["run", "negatives", "temperature", "seed", "cross_entropy", *measured(runs)]
    names = [MEASURES[name] for name in measured(runs)]
    return Drawing(
        name="quality",
        title="Search quality beside the cross-entropy",
        alt=f"Scatter plots of {', '.join(names)} against held-out cross-entropy, a point for each run, coloured by "
        "temperature.",
        caption="A point a run. Cross-entropies at different temperatures are not comparable: compare points of one "
        "colour.",
        data=runs[columns].reset_index(drop=True),
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    shown = measured(data.reindex(columns=list(MEASURES)))
    figure, axes = panels(len(shown))
    styles = series_style(list(data["temperature"].unique()))
    for ax, name in zip(axes, shown, strict=True):
        for tau, style in styles.items():
            rows = data[data["temperature"] == tau]
            ax.plot(rows["cross_entropy"], rows[name], linestyle="none", **style, label=f"τ = {temperature(tau)}")
        ax.set(xlabel="held-out cross-entropy CE (nats)", ylabel=MEASURES[name])
    legend_below(figure)
    return figure
