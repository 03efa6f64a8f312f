"""What every section has: a claim, an answer computed from the tables, figures, tables, and what they do not show."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from infonce.records.collect import MEASURED
from infonce.report import fits
from infonce.report import format as fmt
from infonce.report.figures.ledger import could_fail
from infonce.report.selection import Selection
from infonce.report.style import Drawing
from infonce.report.tabulate import Table


class Verdict(StrEnum):
    """What the data of one selection say about a claim."""

    SUPPORTED = "supported"
    PARTLY = "partly supported"
    NOT_SUPPORTED = "not supported"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Answer:
    """The verdict in a word, one sentence with its numbers, and further findings."""

    verdict: Verdict
    sentence: str
    details: str = ""

    @property
    def text(self) -> str:
        """All that is said."""
        return f"{self.sentence} {self.details}"


@dataclass(frozen=True)
class Claim:
    """A section of the report. `equation` is HTML that we wrote ourselves; everything else is plain text."""

    slug: str
    title: str
    statement: str
    equation: str
    source: str
    answer: Callable[[Selection], Answer]
    drawings: Callable[[Selection], list[Drawing]]
    tables: Callable[[Selection], list[Table]]
    limits: Callable[[Selection], list[str]]


def not_measured(why: str, details: str = "") -> Answer:
    """The answer where a grid does not hold what a claim needs."""
    return Answer(Verdict.NOT_MEASURED, f"Not measured in this selection: {why}", details)


def judged(good: int, total: int) -> Verdict:
    """Supported where it is so everywhere, not supported where it is so in at most half of the cases.

    Raises ValueError where there is no case: that is `not_measured`, and for each claim to say why.
    """
    if total < 1:
        raise ValueError("total: expected at least one case to judge by")
    if good == total:
        return Verdict.SUPPORTED
    return Verdict.PARTLY if 2 * good > total else Verdict.NOT_SUPPORTED


def tests_of_bounds(terms: pd.DataFrame) -> tuple[int, int, int]:
    """How many bounds were tested and could have failed, how many say too little for that, and the violated ones."""
    tested = int(could_fail(terms).sum())
    violated = terms["holds"] == False  # noqa: E712  (None is not tested)
    return tested, int(terms["holds"].notna().sum()) - tested, int(violated.sum())


def factor(log: fits.Mean) -> str:
    """exp of a mean of logarithms, with its interval: "1.15 (1.02 to 1.30)"."""
    if log.half_width is None:
        return fmt.from_logarithm(log.value)
    return f"{fmt.from_logarithm(log.value)} ({fmt.from_logarithm(log.lower)} to {fmt.from_logarithm(log.upper)})"


def seed_limits(selection: Selection) -> list[str]:
    """What missing seeds and failed runs take from any figure of a selection."""
    runs = selection.all_runs
    notes = []
    counts = selection.runs.groupby(["negatives", "temperature"]).size()
    if len(counts) and counts.min() < 2:
        notes.append(
            f"{int((counts < 2).sum())} of {len(counts)} cells have a single seed: no interval is given there."
        )
    failed = int((~runs["status"].isin(MEASURED)).sum())
    if failed:
        notes.append(f"{failed} of {len(runs)} runs ended without numbers and are left out; see Missing and diverged.")
    return notes
