"""Claim 1: R - CE falls as 1/k."""

import numpy as np
import pandas as pd

from infonce.report import fits
from infonce.report import format as fmt
from infonce.report.claims.claim import Answer, Claim, Verdict, not_measured, seed_limits
from infonce.report.figures import rate as figures
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table

TOLERANCE = 0.05  # a slope counts as -1 within this


def answer(selection: Selection) -> Answer:
    """Slope with its interval, coefficient against prediction, and violations of both bounds."""
    if selection.curves.empty:
        return not_measured("no run has an exact curve of its risk over k.")
    rates = fits.rates(selection.curves)
    fitted = rates.dropna(subset="slope")
    if fitted.empty:
        return not_measured(
            "the range where the first-order term rules (second-order term at most 5 % of it, at least three k) is "
            "not reached by the curves.",
            _bounds_sentence(selection.curves),
        )
    slope = fits.mean_over_seeds(fitted, "slope")
    near = fitted["slope"].sub(-1).abs() <= TOLERANCE
    violations = sum(_violations(selection.curves))
    symbol = "R" if selection.loss == "infonce" else "R̃"
    good = bool(near.all()) and violations == 0 and _near_minus_one(slope)
    if good:
        verdict, opening = Verdict.SUPPORTED, f"{symbol}(k) − CE falls as 1/k"
    elif bool(near.all()):
        verdict, opening = Verdict.PARTLY, f"{symbol}(k) − CE falls as 1/k, yet a bound is violated"
    elif _near_minus_one(slope):
        verdict, opening = Verdict.PARTLY, f"{symbol}(k) − CE falls as 1/k on average, yet not in every run"
    else:
        verdict, opening = Verdict.NOT_SUPPORTED, "The data do not support the rate 1/k"
    details = f"{_fit_sentence(rates, fitted)} {_bounds_sentence(selection.curves)}"
    return Answer(verdict, f"{opening}: {_slope_sentence(fitted, slope, symbol)}", details)


def _near_minus_one(slope: fits.Mean) -> bool:
    return abs(slope.value + 1) <= TOLERANCE


def _slope_sentence(fitted: pd.DataFrame, slope: fits.Mean, symbol: str) -> str:
    near_half = slope.lower - TOLERANCE <= -0.5 <= slope.upper + TOLERANCE
    older = "" if near_half else ", away from the −1/2 of the older rate 1/√k"
    return (
        f"the slope of log|{symbol} − CE| on log k is {fmt.plus_minus(slope.value, slope.half_width)} (mean over the "
        f"runs of a seed; {slope.over}), {fmt.span(fitted['slope'], 4)} in single runs{older}."
    )


def _fit_sentence(rates: pd.DataFrame, fitted: pd.DataFrame) -> str:
    first, last = (fmt.integer(k) for k in (fitted["from_k"].min(), fitted["from_k"].max()))
    where = f"k = {first}" if first == last else f"k = {first} to {last}, by the run"
    off = (fitted["measured"] / fitted["predicted"] - 1).abs().max()
    return (
        f"The fit begins at {where}, and is reached in {fmt.share(len(fitted), len(rates))} runs. Coefficients "
        f"predicted from q are {fmt.span(fitted['predicted'])}, those measured {fmt.span(fitted['measured'])}, at most "
        f"{fmt.number(100 * off, 2)} % apart in a run."
    )


def _bounds_sentence(curves: pd.DataFrame) -> str:
    literal = "Proposition 1" if (curves["risk_loss"] == "infonce").all() else "Eq 11"
    names = {"bracket": "the tight bracket", "envelope": literal}
    violated = dict(zip(names, _violations(curves), strict=True))
    tested = {bound: int(_can_fail(curves, bound).sum()) for bound in names}
    idle = [
        f"{names[bound]} at {fmt.integer(len(curves) - n)} points" for bound, n in tested.items() if n < len(curves)
    ]
    apart = f"; no more than holds without theory says {fmt.listing(idle)}, which are no tests" if idle else ""
    evaluated = [bound for bound in names if tested[bound]]
    if not evaluated:
        return "No bound was evaluated that could fail."
    if not any(violated.values()):
        verb = "hold" if len(evaluated) > 1 else "holds"
        tests = fmt.listing(dict.fromkeys(f"all {fmt.integer(tested[bound])}" for bound in evaluated))
        where = f"{verb} in {tests} tests (run and k){apart}."
        return _capital(f"{fmt.listing(names[bound] for bound in evaluated)} {where}")
    parts = [
        f"{names[bound]} is violated in {fmt.integer(violated[bound])} of {fmt.integer(tested[bound])} tests"
        for bound in evaluated
    ]
    return _capital(f"{fmt.listing(parts)} (run and k){apart}.")


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _can_fail(curves: pd.DataFrame, bound: str) -> pd.Series:
    """Points where an end of the bound is inside |R − CE| ≤ 2/τ + log(1 + 1/k), which holds anyhow, or is violated.

    DCL has no logarithm there, and may have no tight bracket; an end that overflows is absent and bounds nothing.
    """
    logarithm = np.log1p(1 / curves["risk_negatives"]).where(curves["risk_loss"] == "infonce", 0.0)
    limit = 2 / curves["temperature"] + logarithm
    inside = (curves[f"{bound}_lower"] > -limit) | (curves[f"{bound}_upper"] < limit)
    return inside | _outside(curves, bound)


def _violations(curves: pd.DataFrame) -> tuple[int, int]:
    """Numbers of points outside the tight bracket and outside the literal envelope."""
    return int(_outside(curves, "bracket").sum()), int(_outside(curves, "envelope").sum())


def _outside(curves: pd.DataFrame, bound: str) -> pd.Series:
    """Points outside a bound by more than the differences are exact to."""
    slack = curves["difference_accuracy"]
    below = curves["difference"] < curves[f"{bound}_lower"] - slack
    return below | (curves["difference"] > curves[f"{bound}_upper"] + slack)


def tables(selection: Selection) -> list[Table]:
    """Slope, range, predicted and measured coefficient of each temperature."""
    rows = []
    for tau, of_tau in fits.rates(selection.curves).groupby("temperature"):
        fitted = of_tau.dropna(subset="slope")
        rows.append(
            {
                "temperature": tau,
                "slope": fits.mean_over_seeds(fitted, "slope"),
                "range": f"k ≥ {fmt.integer(fitted['from_k'].max())}" if len(fitted) else "not reached",
                "fitted": fmt.share(len(fitted), len(of_tau)),
                "predicted": fits.mean_over_seeds(of_tau, "predicted"),
                "measured": fits.mean_over_seeds(of_tau, "measured"),
            }
        )
    columns = [
        Column("temperature", "τ", "temperature"),
        Column("slope", "Slope of log|R − CE|", "interval"),
        Column("range", "Fitted over, at the latest", "text"),
        Column("fitted", "Runs fitted", "text"),
        Column("predicted", "Predicted coefficient", "interval"),
        Column("measured", "k(R − CE) at the largest k", "interval"),
    ]
    caption = "Rate of R(k) − CE by temperature: means over seeds (each the mean over its runs) with 95 % t-intervals."
    return [Table("rate", caption, columns, rows, empty="No curve.")]


def limits(selection: Selection) -> list[str]:
    """What the figure does not show."""
    return [
        "Risk and cross-entropy are exact expectations over the held-out pool taken as the data distribution; how "
        "well that pool stands for all images is not part of the interval.",
        "The second-order term, up to 5 % of the first where the slope is fitted, bends the curve in every seed alike. "
        "A slope may so differ from −1 by more than the interval over seeds, which is no evidence against the rate.",
        "The rate is that of a trained encoder's risk in k. It says nothing on how well training at that k works.",
        *seed_limits(selection),
    ]


CLAIM = Claim(
    slug="rate",
    title="The risk approaches the cross-entropy as 1/k",
    statement="The risk of the InfoNCE loss differs from the held-out cross-entropy of the similarity search by a "
    "term that falls as 1/k in the number of negatives k, not as 1/√k.",
    equation="−log(1 + <i>e</i><sup>2/τ</sup>/<i>k</i>) ≤ CE − <i>R</i> ≤ (<i>e</i><sup>2/τ</sup> − 1)²/(8<i>k</i>), "
    "<i>R</i> − CE = (1/<i>k</i>)(E <i>q<sub>a</sub></i>(<i>p</i>) − ½ E χ²(<i>Q</i>‖π)) + O(1/<i>k</i>²)",
    source="Proposition 1; older rate O(1/√k): Wang and Isola (2020)",
    answer=answer,
    drawings=lambda selection: [figures.decay(selection), figures.bounds(selection)] if len(selection.curves) else [],
    tables=tables,
    limits=limits,
)
