"""Claim 5: averaging over negatives against maximising."""

import math

import pandas as pd

from infonce.report import fits
from infonce.report import format as fmt
from infonce.report.claims.claim import (
    Answer,
    Claim,
    Verdict,
    factor,
    judged,
    not_measured,
    seed_limits,
    tests_of_bounds,
)
from infonce.report.figures.averaging import AVERAGING, MAXIMISING, comparison, displacements
from infonce.report.figures.averaging_training import along_training, moved
from infonce.report.figures.norms import LARGEST, NORM_TERM, norm_terms
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table, overflowing


def answer(selection: Selection) -> Answer:
    """Growth of both bounds over the k of the grid, and in how many runs each is the smaller one."""
    frame = displacements(selection)
    if set(frame["kind"]) != {AVERAGING, MAXIMISING}:
        return not_measured("the ledger does not hold both Proposition 4 and Eq 18.")
    ks = sorted(frame["negatives"].unique())
    growth = growths(frame)
    if len(ks) < 2 or growth.empty:
        return not_measured("it needs two values of k or more.")
    averaging, maximising = (fits.mean_over_seeds(growth, kind) for kind in (AVERAGING, MAXIMISING))
    pairs = paired(frame)
    smaller = int((pairs[AVERAGING] < pairs[MAXIMISING]).sum())
    difference = fits.mean_over_seeds(growth.assign(less=growth[MAXIMISING] - growth[AVERAGING]), "less")
    slower = int((growth[AVERAGING] < growth[MAXIMISING]).sum())
    verdict = judged(slower, len(growth))
    sure = difference.n >= 2 and difference.lower > 0
    opening = {
        Verdict.SUPPORTED: "The averaging bound grows more slowly with k than the maximising one",
        Verdict.PARTLY: "The averaging bound grows more slowly with k than the maximising one in most series",
    }.get(verdict, "The data do not support that averaging grows more slowly than maximising")
    if verdict in (Verdict.SUPPORTED, Verdict.PARTLY) and not sure:
        verdict, opening = Verdict.UNDECIDED, f"{opening}, yet no interval over seeds leaves out 1"
    return Answer(
        verdict,
        f"{opening}: from k = {fmt.integer(ks[0])} to {fmt.integer(ks[-1])} Proposition 4 (the smaller of its forms) "
        f"is multiplied by {factor(averaging)} and Eq 18 by {factor(maximising)}, that is {factor(difference)} times "
        f"as much (geometric means over τ; {difference.over}, each compared with itself).",
        f"Proposition 4 grows by less in {fmt.share(slower, len(growth))} series (one τ, one seed), and is the smaller "
        f"bound in {fmt.share(smaller, len(pairs))} runs; Prop 4 / Eq 18 is "
        f"{fmt.from_logarithm(float((pairs[AVERAGING] - pairs[MAXIMISING]).median()))} in the median run. "
        f"{_along_training(selection)} {_norms(selection)} {_violations(frame)}",
    )


def paired(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a run: the logarithm of the smallest bound of each kind."""
    return (
        frame.pivot_table(
            index=["run", "temperature", "negatives", "seed"], columns="kind", values="log", aggfunc="min"
        )
        .dropna()
        .reset_index()
    )


def growths(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a temperature and seed: change of each logarithm from the smallest to the largest k."""
    pairs = paired(frame)
    first, last = pairs["negatives"].min(), pairs["negatives"].max()
    ends = [
        pairs[pairs["negatives"] == k].set_index(["temperature", "seed"])[[AVERAGING, MAXIMISING]]
        for k in (first, last)
    ]
    return (ends[1] - ends[0]).dropna().reset_index()


def growths_along_training(history: pd.DataFrame) -> pd.DataFrame:
    """One row a recorded step, temperature and seed: change of each logarithm from the smallest to the largest k."""
    rows = moved(history)
    rows = rows[rows["negatives"].isin({rows["negatives"].min(), rows["negatives"].max()})].sort_values("negatives")
    logs = rows.assign(**{AVERAGING: rows["prop4_tight"].map(math.log), MAXIMISING: rows["eq18"].map(math.log)})
    by_step = logs.groupby(["temperature", "seed", "step"])[[AVERAGING, MAXIMISING]]
    both = by_step.size() == 2
    return (by_step.last() - by_step.first())[both].reset_index()


def _along_training(selection: Selection) -> str:
    """Whether it is so at every recorded step, and where the bounds stand against each other."""
    growth = growths_along_training(selection.history)
    if growth.empty:
        return "Along training they are not recorded at two values of k."
    slower = int((growth[AVERAGING] < growth[MAXIMISING]).sum())
    steps = moved(selection.history)
    violated = int((steps["loss_change"] > 1.000001 * steps[["prop4_tight", "eq18"]].min(axis=1)).sum())
    broken = f", but the measured change exceeds one of them at {fmt.plural(violated, 'step')}" if violated else ""
    return (
        f"Along training the averaging bound (tight) grows less than the maximising one over these k at "
        f"{fmt.share(slower, len(growth))} recorded steps after the first, and their ratio is "
        f"{fmt.span(steps['ratio'])}{broken}."
    )


def _norms(selection: Selection) -> str:
    """The same for the norms of Lemma 1: averaged, and the largest."""
    factors = []
    for term in (NORM_TERM, LARGEST):
        frame = norm_terms(selection, term)
        by_k = frame.pivot_table(index=["temperature", "seed"], columns="negatives", values="log")
        changes = (by_k[by_k.columns[-1]] - by_k[by_k.columns[0]]).dropna() if len(by_k.columns) > 1 else pd.Series()
        if changes.empty:
            return "The norms of Lemma 1 are not in the ledger at two values of k for one temperature and seed."
        factors.append(fmt.from_logarithm(float(changes.mean())))
    return f"Over the same k, B_τ is multiplied by {factors[0]} and the sum of the largest norms by {factors[1]}."


def _violations(frame: pd.DataFrame) -> str:
    tested, idle, violated = tests_of_bounds(frame)
    if not tested:
        why = ": they say no more than the range of the loss" if idle else ""
        return f"Neither was held against the measured change of the loss{why}."
    return f"Both hold against the measured change of the loss in {fmt.share(tested - violated, tested)} tests."


def tables(selection: Selection) -> list[Table]:
    """Both bounds by temperature and k."""
    frame = displacements(selection)
    rows = []
    for (tau, k), cell in frame.groupby(["temperature", "negatives"]):
        means = cell.groupby(["kind", "form"])["log"].mean()
        rows.append(
            {
                "temperature": tau,
                "negatives": k,
                "averaging_literal": overflowing(means.get((AVERAGING, "literal"))),
                "averaging_tight": overflowing(means.get((AVERAGING, "tight"))),
                "maximising": overflowing(means.get((MAXIMISING, "literal"))),
                "measured": float(cell["measured"].mean()),
                "n": cell["run"].nunique(),
            }
        )
    columns = [
        Column("temperature", "τ", "temperature"),
        Column("negatives", "k", "integer"),
        Column("averaging_literal", "Prop 4, literal", "overflowing"),
        Column("averaging_tight", "Prop 4, tight", "overflowing"),
        Column("maximising", "Eq 18", "overflowing"),
        Column("measured", "Measured"),
        Column("n", "Runs", "integer"),
    ]
    caption = (
        "Bounds on the change of the loss between the first and the last encoder: geometric means over seeds, in nats."
    )
    return [Table("averaging", caption, columns, rows, empty="The ledger does not hold these bounds.")]


def limits(selection: Selection) -> list[str]:
    """What the figure does not show."""
    return [
        "Which of the two bounds is smaller is a matter of their constants: the literal Prop 4 has a factor "
        "e^(2/(βτ)) that Eq 18 lacks. The claim is on growth with k.",
        "The claim holds displacements fixed. Here each k has an encoder of its own, which moves by its own amount: "
        "both bounds follow that, and only the one beside the other tells averaging from maximising.",
        *seed_limits(selection),
    ]


CLAIM = Claim(
    slug="averaging",
    title="Averaging over negatives against maximising",
    statement="At given displacements, a bound that averages them over the negatives does not grow with k, where one "
    "that takes the largest does, most of all with heavy tails.",
    equation="|ℓ(φ) − ℓ(φ′)| ≤ (4/τ)Δ<sub><i>a</i></sub> + (1/τ)Δ<sub><i>p</i></sub> + (3/τ)<i>e</i><sup>2/(βτ)</sup>"
    "(mean<sub><i>j</i></sub> Δ<sub><i>j</i></sub><sup>β</sup>)<sup>1/β</sup>, against (√6/τ)√(Δ<sub><i>a</i></sub>² "
    "+ Δ<sub><i>p</i></sub>² + max<sub><i>j</i></sub> Δ<sub><i>j</i></sub>²)",
    source="Proposition 4; Eq 18 after Lei et al. (2023)",
    answer=answer,
    drawings=lambda selection: [
        *([comparison(selection)] if len(displacements(selection)) else []),
        *([along_training(selection)] if len(moved(selection.history)) else []),
    ],
    tables=tables,
    limits=limits,
)
