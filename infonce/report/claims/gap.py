"""Claim 4: the generalisation gap stabilises as k grows."""

import numpy as np
import pandas as pd

from infonce.report import fits
from infonce.report import format as fmt
from infonce.report.claims.claim import Answer, Claim, Verdict, not_measured, seed_limits
from infonce.report.figures import gap as figures
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table

LEVEL = 0.10  # a gap counts as levelled off where its last step in k changes it by less than this share


def answer(selection: Selection) -> Answer:
    """Change of the gap over the last step in k by temperature, slope in n, ratio in d."""
    steps = last_steps(selection.runs)
    others = f"{_slope_in_n(selection)} {_ratio_in_d(selection)}"
    if steps.empty:
        return not_measured(f"it needs three values of k or more at one temperature. {others}")
    states = steps["state"].value_counts()
    level, moving = int(states.get("level", 0)), int(states.get("moving", 0))
    if level == len(steps):
        verdict, opening = Verdict.SUPPORTED, "The gap levels off as k grows"
    elif moving > level:
        verdict = Verdict.NOT_SUPPORTED
        opening = "The data do not support that the gap levels off over the k of this grid"
    else:
        verdict, opening = Verdict.PARTLY, "Over the k of this grid the gap levels off at some temperatures"
    changes = fmt.listing(
        f"{fmt.plus_minus(row['change'].value, row['change'].half_width)} at τ = {fmt.temperature(row['temperature'])}"
        for row in steps.to_dict("records")
    )
    return Answer(
        verdict,
        f"{opening}: from k = {fmt.integer(steps['from_k'].max())} to {fmt.integer(steps['to_k'].max())} it changes "
        f"by {changes} nats (95 % intervals over seeds, the same seed compared): level, that is within "
        f"{100 * LEVEL:.0f} % of the gap, at {fmt.share(level, len(steps))} temperatures, still moving, with 0 "
        f"outside the interval, at {fmt.share(moving, len(steps))}, undecided elsewhere. {others}",
    )


def last_steps(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a temperature with three k or more: the gap at the last two k, and its change seed by seed."""
    rows = []
    for tau, of_tau in runs.groupby("temperature"):
        ks = sorted(of_tau["negatives"].unique())
        if len(ks) < fits.FEWEST_POINTS:
            continue
        before, after = (of_tau[of_tau["negatives"] == k].set_index("seed")["generalisation_gap"] for k in ks[-2:])
        change = fits.mean_with_interval((after - before).dropna())
        if change.n == 0:  # no seed has both
            continue
        end = fits.mean_with_interval(after)
        rows.append(
            {
                "temperature": tau,
                "from_k": ks[-2],
                "to_k": ks[-1],
                "first": fits.mean_with_interval(of_tau[of_tau["negatives"] == ks[0]]["generalisation_gap"]),
                "before": fits.mean_with_interval(before),
                "after": end,
                "change": change,
                "relative": change.value / end.value if end.value else np.nan,
                "state": _state(change, end),
            }
        )
    return pd.DataFrame(
        rows, columns=["temperature", "from_k", "to_k", "first", "before", "after", "change", "relative", "state"]
    )


def _state(change: fits.Mean, end: fits.Mean) -> str:
    """`level` by size alone; `moving` needs an interval of the change that does not hold 0."""
    if abs(change.value) <= LEVEL * abs(end.value):
        return "level"
    return "moving" if change.half_width is not None and abs(change.value) > change.half_width else "undecided"


def _slope_in_n(selection: Selection) -> str:
    runs = figures.along(selection, "tuples")
    slopes = pd.DataFrame(
        [
            {
                "seed": seed,
                "slope": fits.slope(series["tuples"].to_numpy(float), series["generalisation_gap"].to_numpy(float)),
            }
            for (_, seed), series in runs.groupby(["temperature", "seed"])
        ],
        columns=["seed", "slope"],
    ).dropna()
    if slopes.empty:
        return "The slope in n is not measured: it needs three values of n."
    mean = fits.mean_over_seeds(slopes, "slope")
    apart = "compatible with" if mean.lower <= -0.5 <= mean.upper else "apart from"
    return f"Against n its slope is {fmt.plus_minus(mean.value, mean.half_width)} (n = {mean.n} seeds), {apart} −1/2."


def _ratio_in_d(selection: Selection) -> str:
    runs = figures.along(selection, "dimension")
    if runs["dimension"].nunique() < 2:
        return "Its dependence on d is not measured: the grid has one dimension."
    low, high = runs["dimension"].min(), runs["dimension"].max()
    ends = [fits.mean_over_seeds(runs[runs["dimension"] == d], "generalisation_gap") for d in (low, high)]
    return (
        f"From d = {fmt.integer(low)} to d = {fmt.integer(high)} it goes from "
        f"{fmt.plus_minus(ends[0].value, ends[0].half_width)} to {fmt.plus_minus(ends[1].value, ends[1].half_width)}."
    )


def tables(selection: Selection) -> list[Table]:
    """The gap at the smallest and the last two k, by temperature."""
    rows = [{str(key): value for key, value in row.items()} for row in last_steps(selection.runs).to_dict("records")]
    columns = [
        Column("temperature", "τ", "temperature"),
        Column("first", "Gap at the smallest k", "interval"),
        Column("from_k", "k before", "integer"),
        Column("before", "Gap there", "interval"),
        Column("to_k", "Largest k", "integer"),
        Column("after", "Gap there", "interval"),
        Column("change", "Change", "interval"),
        Column("relative", "Change / gap"),
        Column("state", "State", "text"),
    ]
    caption = "The generalisation gap R − R̂ in nats over the last step in k, with 95 % t-intervals over seeds."
    return [Table("gap", caption, columns, rows, empty="The grid has fewer than three k.")]


def limits(selection: Selection) -> list[str]:
    """What the figure does not show."""
    effective = selection.runs["tuples_effective"].dropna()
    notes = ["Training ran for a fixed number of steps: a gap that levels off may do so because training does."]
    if len(effective):
        notes.append(
            "Tuples share images, so they are not independent as the theory assumes: a strict reading allows only "
            f"{fmt.integer(effective.min())} to {fmt.integer(effective.max())} tuples (⌊N/(k + 2)⌋)."
        )
    return [*notes, *seed_limits(selection)]


CLAIM = Claim(
    slug="gap",
    title="The generalisation gap stabilises as k grows",
    statement="The gap between held-out and empirical risk is bounded independently of k, so it levels off as k "
    "grows; it falls with the number n of tuples.",
    equation="<i>R</i> ≤ <i>R̂<sub>n</sub></i> + 2·Rad + (12/τ)√(log(2/δ)/(2<i>n</i>)), Rad = O(1/√<i>n</i>) for "
    "every <i>k</i>",
    source="Propositions 3 and 5; Saunshi et al. (2019) carry an extra √k",
    answer=answer,
    drawings=lambda selection: [figures.gap(selection)] if len(selection.runs) else [],
    tables=tables,
    limits=limits,
)
