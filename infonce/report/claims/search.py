"""Claim 3: the risk is that of a search among k points."""

import pandas as pd

from infonce.report import format as fmt
from infonce.report.claims.claim import Answer, Claim, Verdict, judged, not_measured, seed_limits, tests_of_bounds
from infonce.report.figures.search import EQUAL, distances, interpretation
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table

RARE = 0.01  # share of searches from which on an empty support counts


def answer(selection: Selection) -> Answer:
    """Which risk is closer to CEₖ, how the distance falls, how often the support is empty, violations of Prop 2."""
    frame = distances(selection)
    if frame.empty:
        return not_measured(
            "CEₖ is known exactly only where the density dM/dπ is, and no run of this selection has it."
        )
    ends = _ends(frame)
    if ends.empty:
        return not_measured("it needs the risks of a run at two values of k or more (`evaluation.negatives`).")
    closer = int((frame["to_dcl"] < frame["to_infonce"]).sum())
    falling = int((ends["last"] < ends["first"]).sum())
    tested, idle, violated = tests_of_bounds(selection.terms[selection.terms["equation"].isin(["Prop 2", "Eq 12"])])
    verdict = Verdict.NOT_SUPPORTED if violated else judged(falling, len(ends))
    if verdict is Verdict.SUPPORTED and (2 * closer <= len(frame) or _always_empty(frame)):
        verdict = Verdict.PARTLY  # the risk of DCL is not the closer one, or no search ever holds a positive
    opening = {
        Verdict.SUPPORTED: "The risk approaches the cross-entropy of the search among k points",
        Verdict.PARTLY: "The data support the search interpretation in part",
    }.get(verdict, "The data do not support the search interpretation")
    bound = (
        f"Proposition 2 and Eq 12 hold in all {fmt.integer(tested)} tests."
        if tested and not violated
        else f"Proposition 2 or Eq 12 is violated in {fmt.integer(violated)} of {fmt.integer(tested)} tests."
        if violated
        else "Proposition 2 and Eq 12 say no more here than holds without theory."
        if idle
        else "The ledger holds no test of Proposition 2."
    )
    return Answer(
        verdict,
        f"{opening}: |CEₖ − R| falls from the smallest to the largest k in {fmt.share(falling, len(ends))} runs "
        f"({fmt.span(ends['first'])} nats at k = {_k(ends['first_k'])}, {fmt.span(ends['last'])} at k = "
        f"{_k(ends['last_k'])}).",
        f"{_closer(frame, closer)} {_empty(frame)} {bound}",
    )


def _ends(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a run that has two values of k or more: |CEₖ − R| at the smallest and the largest, and these k."""
    runs = frame.sort_values("risk_negatives").groupby("run")
    distance, k = runs["to_infonce"], runs["risk_negatives"]
    ends = {"first": distance.first(), "last": distance.last(), "first_k": k.first(), "last_k": k.last()}
    return pd.DataFrame(ends).query("first_k < last_k")


def _k(values: pd.Series) -> str:
    return " to ".join(dict.fromkeys(map(fmt.integer, (values.min(), values.max()))))


def _closer(frame: pd.DataFrame, closer: int) -> str:
    largest, where = float(frame["to_dcl"].max()), f"at {fmt.share(closer, len(frame))} points (run and k)"
    if largest < EQUAL:
        return (
            "CEₖ and R̃ are equal up to rounding everywhere, as an indicator density implies: that the DCL risk R̃ is "
            f"closer than R {where} is an identity and no measurement."
        )
    return f"The DCL risk R̃ is closer than R {where}; |CEₖ − R̃| is at most {fmt.number(largest)} nats."


def _always_empty(frame: pd.DataFrame) -> bool:
    """Whether practically no search among k points holds a possible positive, at any k."""
    shares = frame.groupby("risk_negatives")["empty_support"].mean()
    return bool((shares > 1 - RARE).all())


def _empty(frame: pd.DataFrame) -> str:
    if frame["empty_support"].isna().all():
        return ""
    if _always_empty(frame):
        return (
            "No point of the k is ever a possible positive, so that M itself stands in throughout: CEₖ is that of a "
            "search with the positive put beside the k points."
        )
    shares = frame.groupby("risk_negatives")["empty_support"].mean()
    if (shares < RARE).all():
        return "Some point of the k is a possible positive in more than 99 % of searches at every k."
    full = shares[shares < RARE]
    below = f" below 1 % from k = {fmt.integer(full.index.min())} on" if len(full) else " with k"
    return (
        f"No point of the k is a possible positive in {fmt.number(100 * shares.iloc[0], 2)} % of searches at k = "
        f"{fmt.integer(shares.index[0])}; that share falls{below}."
    )


def tables(selection: Selection) -> list[Table]:
    """Median distances and empty supports by k."""
    rows = [
        {
            "risk_negatives": k,
            "to_infonce": float(of_k["to_infonce"].median()),
            "to_dcl": float(of_k["to_dcl"].median()),
            "closer": fmt.share(int((of_k["to_dcl"] < of_k["to_infonce"]).sum()), len(of_k)),
            "empty_support": of_k["empty_support"].mean(),
            "n": len(of_k),
        }
        for k, of_k in distances(selection).groupby("risk_negatives")
    ]
    columns = [
        Column("risk_negatives", "k", "integer"),
        Column("to_infonce", "|CEₖ − R|"),
        Column("to_dcl", "|CEₖ − R̃|"),
        Column("closer", "R̃ closer", "text"),
        Column("empty_support", "Empty support"),
        Column("n", "Runs", "integer"),
    ]
    caption = (
        "The search among k points: median distances in nats over the runs of all τ, and mean share of empty supports."
    )
    return [Table("search", caption, columns, rows, empty="No run has CEₖ.")]


def limits(selection: Selection) -> list[str]:
    """What the figure does not show."""
    notes = []
    frame = distances(selection)
    if len(frame) and frame["to_dcl"].max() >= EQUAL:
        notes.append(
            "Where the density is positive everywhere, M is the pool weighted by dM/dπ in the distance of CEₖ from R̃: "
            "k points beyond the pool's size repeat its members and are no new ones."
        )
    return [
        *notes,
        "Where all k densities are 0 the search by M is 0/0; M itself stands in, and the share of such draws is shown.",
        *seed_limits(selection),
    ]


CLAIM = Claim(
    slug="search",
    title="The risk is that of a search among k points",
    statement="The InfoNCE risk with k negatives is close to the cross-entropy of a similarity search among k unseen "
    "points, and the DCL risk is closer still.",
    equation="|CE<sub><i>k</i></sub> − <i>R</i>| ≤ (4/(τ<i>k</i>)) E|d<i>M</i>/dπ|² + log(1 + "
    "<i>e</i><sup>2/τ</sup>/<i>k</i>), |CE<sub><i>k</i></sub> − <i>R̃</i>| ≤ (4/(τ<i>k</i>)) E|d<i>M</i>/dπ|²",
    source="Proposition 2, Eq 12, Sec. 3.4",
    answer=answer,
    drawings=lambda selection: [interpretation(selection)] if len(distances(selection)) else [],
    tables=tables,
    limits=limits,
)
