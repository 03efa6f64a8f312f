"""Claim 7: the ledger of Theorem 1."""

import math
import re
from typing import Any

import pandas as pd

from infonce.report import format as fmt
from infonce.report.claims.claim import Answer, Claim, Verdict, not_measured, seed_limits, tests_of_bounds
from infonce.report.figures import complexity
from infonce.report.figures import ledger as figures
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table, overflowing, records

_NUMBER = re.compile(r"(?<![\w.^-])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w^])")
_IDLE = "they are vacuous or clipped, that is say no more than holds without theory"
PARTS = {"Prop 2": 1.0, "Prop 3": 1.0, "Prop 5": 2.0}  # what Theorem 1 adds to the empirical risk, with its factors


def answer(selection: Selection) -> Answer:
    """Violations, vacuous bounds, the dominant part of Theorem 1, and how much the tight forms gain."""
    terms = selection.terms
    bounds = terms[terms["side"] != "value"]
    if bounds.empty:
        return not_measured("no bound was evaluated.")
    failed = bounds[bounds["holds"] == False]  # noqa: E712  (None is not tested)
    tested, idle, violated = tests_of_bounds(bounds)
    broken = int(failed["assumptions_met"].sum())
    vacuous = int(bounds["vacuous"].sum())
    gains = " ".join(filter(None, (_theorem(bounds), _gain(bounds), _sandwich(selection))))
    if not tested:
        why = f"none of the {fmt.integer(idle)} that are held against a measured quantity can fail: {_IDLE}."
        return not_measured(why if idle else "no bound is held against a measured quantity.", gains)
    if violated:
        verdict = Verdict.NOT_SUPPORTED if broken else Verdict.PARTLY
        opening = (
            f"{fmt.integer(violated)} of {fmt.integer(tested)} tested bounds are violated, {fmt.integer(broken)} "
            f"of them with their assumptions met: {fmt.listing(sorted(set(failed['equation'])))}"
        )
    else:
        verdict = Verdict.SUPPORTED
        opening = "Every bound holds where it is tested"
    runs = fmt.plural(terms["run"].nunique(), "run")
    apart = f"; {fmt.integer(idle)} more are no tests, as {_IDLE}" if idle else ""
    return Answer(
        verdict,
        f"{opening} ({fmt.plural(tested, 'test')} in {runs}{apart}). Of all bounds, tested or not, "
        f"{fmt.share(vacuous, len(bounds))} are vacuous.",
        gains,
    )


def _theorem(bounds: pd.DataFrame) -> str:
    """By how much Theorem 1 is vacuous, and which of its parts is largest, run by run."""
    whole = bounds[(bounds["equation"] == "Thm 1") & (bounds["form"] == "literal")]
    sentences = []
    if len(whole):
        vacuous = whole[whole["vacuous"]]
        over = (figures.log_values(vacuous) - (2 / vacuous["temperature"]).map(math.log)).dropna()
        factor = f", where known by a median factor of {fmt.from_logarithm(float(over.median()))}" if len(over) else ""
        sentences.append(f"Theorem 1 itself is vacuous in {fmt.share(len(vacuous), len(whole))} runs{factor}.")
    literal = bounds[(bounds["form"] == "literal") & bounds["equation"].isin(PARTS) & bounds["assumptions_met"]]
    parts = literal.assign(size=figures.log_values(literal) + literal["equation"].map(PARTS).map(math.log))
    parts = parts.dropna(subset="size")
    absent = [part for part in PARTS if not (parts["equation"] == part).any()]
    if len(absent) < 2:
        largest = parts.sort_values("size").groupby("run").tail(1)["equation"].value_counts()
        often = fmt.share(int(largest.iloc[0]), int(largest.sum()))
        sentences.append(f"The largest of its evaluated parts is {largest.index[0]} in {often} runs.")
    if absent:
        sentences.append(f"{fmt.listing(absent)} could not be evaluated with assumptions met.")
    return " ".join(sentences)


def _gain(bounds: pd.DataFrame) -> str:
    """Upper bounds, literal against tight, for the same quantity and run; Eq 18 is a rival and has no tight form."""
    sized = bounds.assign(size=figures.log_values(bounds))
    sized = sized[sized["assumptions_met"] & ~sized["clipped"] & (sized["side"] == "upper")]
    sized = sized[sized["equation"] != "Eq 18"]
    keys = ["run", "quantity"]
    pairs = sized[sized["form"] == "literal"].merge(sized[sized["form"] == "tight"], on=keys, suffixes=("", "_tight"))
    ratio = (pairs["size"] - pairs["size_tight"]).dropna()
    if ratio.empty:
        return ""
    return (
        f"Tight upper bounds are smaller than literal ones of the same quantity by a median factor of "
        f"{fmt.from_logarithm(float(ratio.median()))}."
    )


def _sandwich(selection: Selection) -> str:
    """Where the complexity lies, at the smallest and the largest k."""
    if not complexity.estimated(selection):
        return ""
    rows = complexity.complexities(selection)
    ends = rows[rows["negatives"].isin({rows["negatives"].min(), rows["negatives"].max()})]
    both = (
        ends.groupby(["term", "temperature", "seed"])["negatives"].transform("nunique") == ends["negatives"].nunique()
    )
    rows = ends[both]
    means = rows.pivot_table(index="negatives", columns="term", values="value")
    at_k = [
        f"at k = {fmt.integer(k)}: "
        + fmt.listing(
            f"{fmt.number(means.loc[k, term])} ({name})" for term, name in complexity.NAMES.items() if term in means
        )
        for k in sorted({means.index.min(), means.index.max()})
    ]
    return (
        "The Rademacher complexity lies above the first of these, up to its standard error, and below the others, in "
        f"nats (means over τ and seeds): {'; '.join(at_k)}."
    )


def tables(selection: Selection) -> list[Table]:
    """The ledger: a row a term, form, k and τ."""
    rows = [
        row | {"shown": _value(row), "met": "yes" if row["assumptions_met"] else "no", "factor": _factor(row)}
        for row in records(figures.summarised(selection.terms))
    ]
    columns = [
        Column("term", "Term", "text"),
        Column("equation", "Equation", "text"),
        Column("form", "Form", "text"),
        Column("quantity", "Bounds", "text"),
        Column("side", "Side", "text"),
        Column("negatives", "k", "integer"),
        Column("temperature", "τ", "temperature"),
        Column("shown", "Value", "overflowing"),
        Column("measured", "Measured", "real"),
        Column("factor", "Value / measured", "overflowing"),
        Column("met", "Assumptions met", "text"),
        Column("tested", "Tests", "integer"),
        Column("vacuous", "Vacuous runs", "integer"),
        Column("clipped", "Clipped runs", "integer"),
        Column("violated", "Violated runs", "integer"),
        Column("n", "n", "integer"),
    ]
    caption = (
        "The ledger: mean over seeds of every term at every k and τ; n is the number of runs. Tests are those runs in "
        "which the bound is held against the measured quantity and could fail, being neither vacuous nor clipped."
    )
    return [Table("ledger", caption, columns, rows, empty="No term was evaluated.")]


def _value(row: dict[str, Any]) -> tuple[float, float] | None:
    """(value, log value): the first is infinite where it overflows."""
    if row["value"] is not None:
        return row["value"], row["log_value"] or math.nan
    return None if row["log_value"] is None else (math.inf, row["log_value"])


def _factor(row: dict[str, Any]) -> tuple[float, float] | None:
    """How many times the measured quantity a bound is."""
    if row["side"] == "value" or row["log_value"] is None or not (row["measured"] or 0) > 0:
        return None
    return overflowing(row["log_value"] - math.log(row["measured"]))


def limits(selection: Selection) -> list[str]:
    """Assumptions not met, vacuous terms."""
    terms = selection.terms
    unmet = terms[~terms["assumptions_met"].astype(bool)]
    notes = [
        f"{assumptions} not met, in {fmt.plural(rows['run'].nunique(), 'run')}, for "
        f"{fmt.listing(sorted(set(rows['term'])))}."
        for assumptions, rows in unmet.groupby("assumptions")
    ]
    return [*notes, *_remarks(terms), *seed_limits(selection)]


def _remarks(terms: pd.DataFrame) -> list[str]:
    """The notes of the terms; those that differ in numbers alone are told once, with the range of each number."""
    names: dict[str, dict[str, None]] = {}  # by the words without their numbers
    numbers: dict[str, list[list[str]]] = {}
    for term, form, text in terms.dropna(subset="note")[["term", "form", "note"]].drop_duplicates().to_numpy():
        words = _NUMBER.sub("#", text)
        names.setdefault(words, {})[f"{term} ({form})"] = None
        numbers.setdefault(words, []).append(_NUMBER.findall(text))
    return [f"{fmt.listing(names[words])}: {_filled(words, found)}." for words, found in numbers.items()]


def _filled(words: str, numbers: list[list[str]]) -> str:
    """The words with the range of each of their numbers."""
    first, *others = words.split("#")
    ends = [(min(values, key=float), max(values, key=float)) for values in zip(*numbers, strict=True)]
    ranges = [" to ".join(dict.fromkeys(pair)) for pair in ends]
    return first + "".join(f"{values}{text}" for values, text in zip(ranges, others, strict=True))


CLAIM = Claim(
    slug="ledger",
    title="The ledger of Theorem 1",
    statement="The cross-entropy of the finite search is at most the empirical risk plus a complexity, a sample and "
    "a finite-k term; each can be evaluated, in the paper's constants and in sharper ones.",
    equation="CE<sub><i>k</i></sub> ≤ <i>R̂<sub>n</sub></i> + 2·Rad + (12/τ)√(log(2/δ)/(2<i>n</i>)) + "
    "(4/(τ<i>k</i>)) E|d<i>M</i>/dπ|² + log(1 + <i>e</i><sup>2/τ</sup>/<i>k</i>)",
    source="Theorem 1, from Propositions 2, 3 and 5",
    answer=answer,
    drawings=lambda selection: [
        *([figures.ledger(selection)] if len(selection.terms) else []),
        *([complexity.sandwich(selection)] if complexity.estimated(selection) else []),
    ],
    tables=tables,
    limits=limits,
)
