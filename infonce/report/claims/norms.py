"""Claim 6: a low temperature is sensitive to the norms of the negatives."""

import math

import pandas as pd

from infonce.report import fits
from infonce.report import format as fmt
from infonce.report.claims.claim import Answer, Claim, Verdict, factor, judged, not_measured, seed_limits
from infonce.report.figures.norms import norm_terms, norms
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table, overflowing

NOTABLE = 1.1  # a factor of B_τ from which it counts as sensitive


def answer(selection: Selection) -> Answer:
    """B_τ at the ends of τ, and how many series of one k and seed rise as τ falls."""
    frame = norm_terms(selection)
    frame = frame[frame["temperature"] <= 1]
    if frame["temperature"].nunique() < 2:
        return not_measured("it needs B_τ of Lemma 1 at two temperatures of at most 1.")
    low, high = frame["temperature"].min(), frame["temperature"].max()
    changes = _changes(frame, low, high)
    if changes.empty:
        return not_measured("no k and seed has B_τ at both ends of τ.")
    rising = int((changes["change"] > 1e-9).sum())
    change = fits.mean_over_seeds(changes, "change")
    verdict = judged(rising, len(changes))
    if verdict is Verdict.SUPPORTED and change.value < math.log(NOTABLE):
        verdict = Verdict.PARTLY
        percent = f"{100 * (NOTABLE - 1):.0f} %"
        opening = f"B_τ grows as the temperature falls, but by less than {percent}, as these norms hardly vary"
    else:
        opening = {
            Verdict.SUPPORTED: "B_τ grows as the temperature falls",
            Verdict.PARTLY: "B_τ grows as the temperature falls in most series",
        }.get(verdict, "The data do not show that B_τ grows as the temperature falls")
    return Answer(
        verdict,
        f"{opening}: from τ = {fmt.temperature(high)} to τ = {fmt.temperature(low)} it is multiplied by "
        f"{factor(change)}, the geometric mean over k ({change.over}), rising in "
        f"{fmt.share(rising, len(changes))} series (one k, one seed).",
        f"Its largest value is {fmt.from_logarithm(float(frame['log'].max()))}.",
    )


def _changes(frame: pd.DataFrame, low: float, high: float) -> pd.DataFrame:
    """Change of log B_τ from the highest to the lowest τ, one row a k and seed."""
    ends = [frame[frame["temperature"] == tau].set_index(["negatives", "seed"])["log"] for tau in (low, high)]
    return (ends[0] - ends[1]).dropna().rename("change").reset_index()


def tables(selection: Selection) -> list[Table]:
    """B_τ by temperature: smallest, geometric mean, largest."""
    rows = [
        {
            "temperature": tau,
            "exponent": 2 / min(1.0, float(str(tau))),
            "smallest": overflowing(float(of_tau["log"].min())),
            "mean": overflowing(float(of_tau["log"].mean())),
            "largest": overflowing(float(of_tau["log"].max())),
            "n": len(of_tau),
        }
        for tau, of_tau in norm_terms(selection).groupby("temperature")
    ]
    columns = [
        Column("temperature", "τ", "temperature"),
        Column("exponent", "Exponent 2/min(1, τ)"),
        Column("smallest", "Smallest B_τ", "overflowing"),
        Column("mean", "Geometric mean", "overflowing"),
        Column("largest", "Largest B_τ", "overflowing"),
        Column("n", "Runs", "integer"),
    ]
    caption = "The norm term B_τ of Lemma 1 by temperature, over runs."
    return [Table("norms", caption, columns, rows, empty="The ledger does not hold Lemma 1.")]


def limits(selection: Selection) -> list[str]:
    """What the figure does not show."""
    return [
        "On the same tuples a power mean rises with its exponent whatever the norms are: what is measured is by how "
        "much.",
        "Norms are those of the inputs. Images have bounded norms; heavy tails need the synthetic data set.",
        "B_τ enters Proposition 5 under a logarithm: a large value costs little unless it is very large.",
        *seed_limits(selection),
    ]


CLAIM = Claim(
    slug="norms",
    title="A low temperature is sensitive to the norms of the negatives",
    statement="The moment of the negatives' norms that enters the complexity has the exponent 2/min(1, τ), so a low "
    "temperature makes it depend on the largest norms.",
    equation="<i>B</i><sub>τ</sub> = rms‖<i>a</i>‖ + rms‖<i>p</i>‖ + (mean<sub><i>i,j</i></sub> "
    "‖<i>b<sub>ij</sub></i>‖<sup>2/(1∧τ)</sup>)<sup>(1∧τ)/2</sup>",
    source="Lemma 1",
    answer=answer,
    drawings=lambda selection: [norms(selection)] if len(norm_terms(selection)) else [],
    tables=tables,
    limits=limits,
)
