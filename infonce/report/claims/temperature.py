"""Claim 2: temperature regularises."""

import math

import numpy as np
import pandas as pd

from infonce.report import fits
from infonce.report import format as fmt
from infonce.report.claims.claim import Answer, Claim, Verdict, judged, not_measured, seed_limits
from infonce.report.figures.temperature import concentration
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table


def answer(selection: Selection) -> Answer:
    """KL and neighbours at both ends of τ, monotony, violations of Eq 8 and of the ceiling."""
    runs = selection.runs.dropna(subset=["kl", "q_min", "q_max"])
    if runs["temperature"].nunique() < 2:
        return not_measured("it needs two temperatures or more.", _bounds_sentence(runs))
    falling, series = _falling(runs)
    if not series:
        return not_measured("no k and seed has two temperatures.", _bounds_sentence(runs))
    verdict = judged(falling, series) if not any(_violations(runs)) else Verdict.NOT_SUPPORTED
    opening = {
        Verdict.SUPPORTED: "A lower temperature lets the search concentrate",
        Verdict.PARTLY: "A lower temperature lets the search concentrate in most series",
    }.get(verdict, "The data do not support that temperature bounds and orders the concentration")
    high, low = runs["temperature"].max(), runs["temperature"].min()
    ends = f"from τ = {fmt.temperature(high)} to τ = {fmt.temperature(low)}"
    compared = _with_both(runs, low, high)
    over = fits.mean_over_seeds(compared[compared["temperature"] == low], "kl").over
    return Answer(
        verdict,
        f"{opening}: {ends} the KL divergence from uniform choice goes from {_at(compared, high, 'kl')} to "
        f"{_at(compared, low, 'kl')} nats and the effective neighbours from "
        f"{_at(compared, high, 'effective_neighbours')} to {_at(compared, low, 'effective_neighbours')} of "
        f"{fmt.integer(runs['pool_size'].max())} (means over the k that both have; {over}).",
        f"KL falls with τ in {fmt.share(falling, series)} series (one k, one seed). {_bounds_sentence(runs)}",
    )


def _with_both(runs: pd.DataFrame, low: float, high: float) -> pd.DataFrame:
    """Runs at both temperatures, where a k and seed has both: else different k would be compared; all if none has."""
    ends = runs[runs["temperature"].isin({low, high})]
    pairs = ends[ends.groupby(["negatives", "seed"])["temperature"].transform("nunique") == 2]
    return pairs if len(pairs) else ends


def _at(runs: pd.DataFrame, tau: float, column: str) -> str:
    mean = fits.mean_over_seeds(runs[runs["temperature"] == tau], column)
    return fmt.plus_minus(mean.value, mean.half_width)


def _falling(runs: pd.DataFrame) -> tuple[int, int]:
    """Series of one k and one seed in which KL falls whenever τ rises, and all series of two τ or more."""
    series = [
        group.sort_values("temperature")["kl"].to_numpy(float) for _, group in runs.groupby(["negatives", "seed"])
    ]
    series = [values for values in series if len(values) > 1]
    return sum(bool((np.diff(values) < 0).all()) for values in series), len(series)


def _violations(runs: pd.DataFrame) -> tuple[int, int]:
    """Runs in which q leaves the range of Eq 8, and in which KL is above its ceiling."""
    limit = 2 / runs["temperature"] * (1 + 1e-9)
    outside = (np.log(runs["q_max"]) > limit) | (np.log(runs["q_min"].clip(lower=5e-324)) < -limit)
    return int(outside.sum()), int((runs["kl"] > runs["kl_ceiling"] * (1 + 1e-9)).sum())


def _bounds_sentence(runs: pd.DataFrame) -> str:
    if runs.empty:
        return "No run has numbers."
    outside, above = _violations(runs)
    used = (runs["kl"] / runs["kl_ceiling"]).max()
    idle = int((runs["kl_ceiling"] >= runs["pool_size"].map(math.log)).sum())
    apart = f"; in {fmt.share(idle, len(runs))} runs no search could exceed it, as a pool of m allows log m at most"
    if outside == above == 0:
        return (
            f"The density q stays in the range of Eq 8 and KL below K*(τ) in all {fmt.integer(len(runs))} runs; KL "
            f"uses at most {fmt.number(100 * used, 2)} % of its ceiling{apart if idle else ''}."
        )
    return (
        f"Of {fmt.integer(len(runs))} runs, q leaves the range of Eq 8 in {fmt.integer(outside)} and KL exceeds K*(τ) "
        f"in {fmt.integer(above)}."
    )


def tables(selection: Selection) -> list[Table]:
    """KL, ceiling, χ², range of q and neighbours of each temperature."""
    rows = [
        {
            "temperature": tau,
            "kl": fits.mean_over_seeds(runs, "kl"),
            "ceiling": float(runs["kl_ceiling"].mean()),
            "chi2": fits.mean_over_seeds(runs, "chi2"),
            "q_min": float(runs["q_min"].min()),
            "q_max": float(runs["q_max"].max()),
            "neighbours": fits.mean_over_seeds(runs, "effective_neighbours"),
        }
        for tau, runs in selection.runs.groupby("temperature")
    ]
    columns = [
        Column("temperature", "τ", "temperature"),
        Column("kl", "KL (nats)", "interval"),
        Column("ceiling", "K*(τ)"),
        Column("chi2", "χ²", "interval"),
        Column("q_min", "smallest q"),
        Column("q_max", "largest q"),
        Column("neighbours", "Effective neighbours", "interval"),
    ]
    caption = "Concentration of the search by temperature: means over seeds with 95 % t-intervals, all k together."
    return [Table("temperature", caption, columns, rows, empty="No run.")]


def limits(selection: Selection) -> list[str]:
    """What the figure does not show."""
    return [
        "Every τ has encoders of its own: the figure shows training and evaluation at one τ together, not the same "
        "encoder searched at another τ.",
        *seed_limits(selection),
    ]


CLAIM = Claim(
    slug="temperature",
    title="Temperature regularises",
    statement="However an encoder is trained, its softmax search cannot move further from uniform choice than the "
    "temperature allows.",
    equation="<i>e</i><sup>−2/τ</sup> ≤ <i>q<sub>a</sub></i>(<i>b</i>) ≤ <i>e</i><sup>2/τ</sup>, "
    "KL(<i>Q</i>(<i>a</i>,·)‖π) ≤ <i>K</i>*(τ) ≤ min(2/τ, 1/(2τ²))",
    source="Eq 8; the ceiling K* is ours",
    answer=answer,
    drawings=lambda selection: [concentration(selection)] if len(selection.runs) else [],
    tables=tables,
    limits=limits,
)
