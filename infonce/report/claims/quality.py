"""Claim 9: the cross-entropy and the search quality that users know."""

import math

import pandas as pd

from infonce.report import fits
from infonce.report import format as fmt
from infonce.report.claims.claim import Answer, Claim, Verdict, judged, not_measured, seed_limits
from infonce.report.figures.quality import MEASURES, measured, quality
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table

FEWEST_RUNS = 6  # of a temperature; over fewer, chance alone gives large rank correlations
STRONG = -0.5  # rank correlation from which a lower cross-entropy counts as going with a better search


def answer(selection: Selection) -> Answer:
    """Rank correlations at each temperature, and the best cell of each measure."""
    runs = selection.runs.dropna(subset="cross_entropy")
    names = measured(runs)
    if not names:
        return not_measured("no run has recall, kNN accuracy or mean average precision.")
    correlations = {
        (name, tau): fits.rank_correlation(of_tau["cross_entropy"], of_tau[name])
        for name in names
        for tau, of_tau in runs.groupby("temperature")
    }
    sizes = runs.groupby("temperature").size()
    enough = set(sizes[sizes >= FEWEST_RUNS].index)
    known = {key: value for key, value in correlations.items() if key[1] in enough and not math.isnan(value)}
    best = " ".join(_best(runs, name) for name in names if name in ("knn_accuracy", "recall_at_1"))
    if not known:
        return not_measured(f"a correlation needs {FEWEST_RUNS} runs at one temperature that differ.", best)
    strong = sum(value <= STRONG for value in known.values())
    verdict = judged(strong, len(known))
    counts = sizes[sizes >= FEWEST_RUNS]
    over = " to ".join(dict.fromkeys(map(fmt.integer, (counts.min(), counts.max()))))
    opening = {
        Verdict.SUPPORTED: "At a fixed temperature a lower cross-entropy goes with a better search",
        Verdict.PARTLY: "At a fixed temperature a lower cross-entropy mostly goes with a better search",
    }.get(verdict, "The data do not support that a lower cross-entropy goes with a better search")
    return Answer(
        verdict,
        f"{opening}: over the {over} runs of a temperature the rank correlation is {fmt.number(STRONG, 1)} or lower "
        f"for {fmt.share(strong, len(known))} pairs of measure and temperature, and {fmt.span(known.values(), 2)} in "
        "all.",
        best,
    )


def _best(runs: pd.DataFrame, name: str) -> str:
    cells = runs.groupby(["negatives", "temperature"])[name].mean()
    k, tau = cells.index[int(cells.to_numpy().argmax())]
    cell = runs[(runs["negatives"] == k) & (runs["temperature"] == tau)]
    mean = fits.mean_over_seeds(cell, name)
    return (
        f"The best {MEASURES[name]} of {fmt.plural(len(cells), 'cell')} is "
        f"{fmt.plus_minus(mean.value, mean.half_width)} (n = {mean.n}) at k = {fmt.integer(k)} and τ = "
        f"{fmt.temperature(tau)}."
    )


def tables(selection: Selection) -> list[Table]:
    """CE and every measure by cell."""
    names = measured(selection.runs)
    rows = [
        {"temperature": tau, "negatives": k, "cross_entropy": fits.mean_over_seeds(cell, "cross_entropy")}
        | {name: fits.mean_over_seeds(cell, name) for name in names}
        for (tau, k), cell in selection.runs.groupby(["temperature", "negatives"])
    ]
    columns = [
        Column("temperature", "τ", "temperature"),
        Column("negatives", "k", "integer"),
        Column("cross_entropy", "CE (nats)", "interval"),
        *(
            Column(name, MEASURES[name].capitalize() if name != "knn_accuracy" else "kNN accuracy", "interval")
            for name in names
        ),
    ]
    caption = "Search quality by temperature and k: means over seeds with 95 % t-intervals."
    return [Table("quality", caption, columns, rows, empty="No run.")]


def limits(selection: Selection) -> list[str]:
    """What the figure does not show."""
    return [
        "The runs of one temperature differ in k and seed only; a correlation over few runs is uncertain, and no "
        "interval is given for it.",
        "The measures are of the same images and encoders, so the pairs are not independent of each other. The best "
        "cell is picked by the numbers that are then shown: its mean is somewhat too high.",
        "Class labels judge recall and kNN accuracy; with augmented views as positives the encoder never saw a label.",
        *seed_limits(selection),
    ]


CLAIM = Claim(
    slug="quality",
    title="Cross-entropy and search quality",
    statement="The held-out cross-entropy is the loss of the similarity search, so at one temperature it should "
    "order encoders as recall@K, kNN accuracy and mean average precision do.",
    equation="CE = E[−<i>s</i>(<i>a</i>,<i>p</i>)/τ + log <i>Z</i>(<i>a</i>)], <i>Z</i>(<i>a</i>) = "
    "E<sub><i>b</i>~π</sub> <i>e</i><sup><i>s</i>(<i>a</i>,<i>b</i>)/τ</sup>",
    source="Sec. 2 and 3 of the paper",
    answer=answer,
    drawings=lambda selection: [quality(selection)] if measured(selection.runs) else [],
    tables=tables,
    limits=limits,
)
