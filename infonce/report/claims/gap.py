"""Claim 4: the generalisation gap stabilises as k grows."""

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from infonce.report import fits
from infonce.report import format as fmt
from infonce.report.claims.claim import Answer, Claim, Verdict, not_measured, seed_limits
from infonce.report.figures import gap as figures
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table

LEVEL = 0.05  # a gap counts as level where doubling k surely changes it by less than this share


def answer(selection: Selection) -> Answer:
    """Change of the gap over the last step in k by temperature, slope in n, ratio in d."""
    steps = last_steps(selection.runs)
    others = f"{_slope_in_n(selection)} {_change_in_d(selection)}"
    if steps.empty:
        return not_measured("it needs three values of k or more at one temperature.", others)
    verdict, opening = _judged(steps)
    changes = fmt.listing(
        f"{fmt.plus_minus(row['change'].value, row['change'].half_width)} at τ = {fmt.temperature(row['temperature'])} "
        f"(where the gap is {fmt.number(row['after'].value, 2)})"
        for row in steps.to_dict("records")
    )
    counts = [(state, int((steps["state"] == state).sum())) for state in _MEANINGS]
    told = [f"{state} ({_MEANINGS[state]}) at {fmt.plural(n, 'temperature')}" for state, n in counts if n]
    return Answer(
        verdict,
        f"{opening}: from k = {_whole(steps['from_k'])} to {_whole(steps['to_k'])} it changes by {changes}, in nats "
        f"(95 % intervals over {_whole(step.n for step in steps['change'])} seeds, each compared with itself).",
        f"By these intervals it is {fmt.listing(told)}. {others}",
    )


_MEANINGS = {
    "level": f"less than {100 * LEVEL:.0f} % of the gap for each doubling of k",
    "falling": "0 above the interval",
    "growing": "0 below the interval",
    "undecided": "the interval allows both",
}


def _judged(steps: pd.DataFrame) -> tuple[Verdict, str]:
    """The claim is that the gap does not go on growing: a falling gap does not speak against it."""
    states = steps["state"]
    fallen = steps.loc[states == "falling", "temperature"]
    where = f"falls at τ = {fmt.listing(map(fmt.temperature, fallen))}"
    falls, yet = (f", and {where}", f", though it {where}") if len(fallen) else ("", "")
    held, growing = int(states.isin(["level", "falling"]).sum()), int((states == "growing").sum())
    if (states == "level").all():
        return Verdict.SUPPORTED, "The gap levels off as k grows"
    if held == len(states):
        return Verdict.SUPPORTED, f"The gap does not grow with k{falls}"
    if 2 * growing > len(states):
        return Verdict.NOT_SUPPORTED, f"The data do not support that the gap levels off over the k of this grid{yet}"
    if 2 * (held + growing) < len(states) or held == 0:
        return Verdict.UNDECIDED, f"These seeds do not decide whether the gap levels off over the k of this grid{yet}"
    if falls:
        return Verdict.PARTLY, f"The gap does not grow with k at some temperatures{falls}"
    return Verdict.PARTLY, "Over the k of this grid the gap levels off at some temperatures"


def _whole(values: Iterable[float]) -> str:
    """One number, or both ends where temperatures differ in it."""
    whole = sorted(set(values))
    return " to ".join(fmt.integer(value) for value in dict.fromkeys((whole[0], whole[-1])))


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
                "state": _state(change, end, math.log2(ks[-1] / ks[-2])),
            }
        )
    return pd.DataFrame(
        rows, columns=["temperature", "from_k", "to_k", "first", "before", "after", "change", "relative", "state"]
    )


def _state(change: fits.Mean, end: fits.Mean, doublings: float) -> str:
    """What the whole interval of the change says: a small change of few seeds is no evidence that nothing changes."""
    if change.n < 2:
        return "undecided"
    if max(abs(change.lower), abs(change.upper)) <= LEVEL * doublings * abs(end.value):
        return "level"
    return "growing" if change.lower > 0 else "falling" if change.upper < 0 else "undecided"


def _slope_in_n(selection: Selection) -> str:
    runs = figures.along(selection, "tuples")
    series = [group for _, group in runs.groupby(["temperature", "seed"])]
    positive = [group for group in series if (group["generalisation_gap"] > 0).all()]
    slopes = pd.DataFrame(
        [
            {
                "temperature": group["temperature"].iloc[0],
                "seed": group["seed"].iloc[0],
                "slope": fits.slope(*group[["tuples", "generalisation_gap"]].to_numpy().T),
            }
            for group in positive
        ],
        columns=["temperature", "seed", "slope"],
    ).dropna()
    if slopes.empty:
        return "The slope in n is not measured: it needs three values of n, with gaps above 0."
    mean = fits.mean_over_seeds(slopes, "slope")
    beside = ""
    if mean.half_width is not None:
        beside = ", compatible with −1/2" if mean.lower <= -0.5 <= mean.upper else ", apart from −1/2"
    left_out = len(series) - len(positive)
    omitted = f"; {fmt.plural(left_out, 'series', 'series')} with gaps not above 0 left out" if left_out else ""
    return (
        f"Against n its slope on log axes is {fmt.plus_minus(mean.value, mean.half_width)} (mean over τ; {mean.over}"
        f"{omitted}){beside}."
    )


def _change_in_d(selection: Selection) -> str:
    runs = figures.along(selection, "dimension")
    if runs["dimension"].nunique() < 2:
        return "Its dependence on d is not measured: the grid has one dimension."
    low, high = runs["dimension"].min(), runs["dimension"].max()
    ends = [runs[runs["dimension"] == d].set_index(["temperature", "seed"])["generalisation_gap"] for d in (low, high)]
    changes = (ends[1] - ends[0]).dropna().rename("change").reset_index()
    if changes.empty:
        return "Its dependence on d is not measured: no temperature and seed has both the smallest and the largest d."
    change = fits.mean_over_seeds(changes, "change")
    return (
        f"From d = {fmt.integer(low)} to d = {fmt.integer(high)} it changes by "
        f"{fmt.plus_minus(change.value, change.half_width)} nats (mean over τ; {change.over}, each compared with "
        "itself)."
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
    runs = selection.runs
    effective = runs.loc[runs["tuples_effective"] < runs["tuples"], "tuples_effective"]
    notes = ["Training ran for a fixed number of steps: a gap that levels off may do so because training does."]
    if len(effective):
        notes.append(
            "Tuples share images, so they are not independent as the theory assumes: a strict reading allows only "
            f"{_whole(effective)} tuples (⌊N/(k + 2)⌋)."
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
