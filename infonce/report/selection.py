"""A selection is what the page's selector picks: one data set, generator of positives, encoder and loss."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from infonce.records.collect import MEASURED
from infonce.report.format import integer
from infonce.report.tables import Tables

SELECTORS = ("dataset", "positives", "encoder", "loss")  # encoder stands with its head
FIXED = ("dimension", "tuples", "tuple_design")  # held at one value where k and τ vary
CELL = (*FIXED, "negatives", "temperature")


@dataclass(frozen=True)
class Selection:
    """The rows of one selection; `requested` holds the asked-for runs, None where the grid was not given."""

    dataset: str
    positives: str
    encoder: str
    loss: str
    all_runs: pd.DataFrame
    all_curves: pd.DataFrame
    all_terms: pd.DataFrame
    all_history: pd.DataFrame
    requested: pd.DataFrame | None

    @property
    def token(self) -> str:
        """Name of the selection's folder."""
        return "_".join((self.dataset, self.positives, self.encoder, self.loss))

    @property
    def label(self) -> str:
        """The selection in words."""
        return f"{self.dataset}, {self.positives} positives, {self.encoder}, {self.loss}"

    @cached_property
    def reference(self) -> dict[str, object]:
        """Dimension, tuples and tuple design of most runs: where those vary, figures over k and τ hold them here."""
        frames = [self.usable, self.all_runs, self.requested if self.requested is not None else self.all_runs]
        runs = next((frame for frame in frames if len(frame)), self.all_runs)
        counts = runs.groupby(list(FIXED)).size()
        return dict(zip(FIXED, counts.index[int(counts.argmax())], strict=True))

    @property
    def reference_text(self) -> str:
        """The held values in words."""
        return (
            f"d = {integer(self.reference['dimension'])}, n = {integer(self.reference['tuples'])} "  # type: ignore[arg-type]
            f"{self.reference['tuple_design']} tuples"
        )

    @cached_property
    def usable(self) -> pd.DataFrame:
        """Runs that ended with numbers, at every dimension and n."""
        return self.all_runs[self.all_runs["status"].isin(MEASURED)]

    @cached_property
    def runs(self) -> pd.DataFrame:
        """Usable runs at the reference dimension and n."""
        return at_reference(self.usable, self)

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Curves of those runs, of the risk that they were trained with."""
        return self.every_curve[self.every_curve["risk_loss"] == self.loss]

    @cached_property
    def every_curve(self) -> pd.DataFrame:
        """Curves of those runs, InfoNCE and DCL risk alike."""
        return self._of_runs(self.all_curves)

    @cached_property
    def terms(self) -> pd.DataFrame:
        """Ledger of those runs."""
        return self._of_runs(self.all_terms)

    @cached_property
    def history(self) -> pd.DataFrame:
        """Training of those runs, step by step."""
        return self._of_runs(self.all_history)

    def _of_runs(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame[frame["run"].isin(self.runs["run"])]


def at_reference(frame: pd.DataFrame, selection: Selection) -> pd.DataFrame:
    """Rows at the selection's reference dimension, n and tuple design."""
    for column, value in selection.reference.items():
        frame = frame[frame[column] == value]
    return frame


def selections(tables: Tables, requested: list[dict[str, object]] | None) -> Iterator[Selection]:
    """Every selection of the grid, also one of which no run exists yet; the most complete of them comes first."""
    frames = [_with_head(frame) for frame in (tables.runs, tables.curves, tables.terms, tables.history)]
    asked = _with_head(pd.DataFrame(requested)) if requested else None
    known = pd.concat([frames[0], *([asked] if asked is not None else [])])
    counts = frames[0].groupby(list(SELECTORS)).size()
    keys = sorted(
        known[list(SELECTORS)].drop_duplicates().itertuples(index=False, name=None),
        key=lambda key: (-int(counts.get(key, 0)), key),
    )
    for key in keys:
        runs, curves, terms, history = (_matching(frame, key) for frame in frames)
        dataset, positives, encoder, loss = key
        wanted = None if asked is None else _matching(asked, key)
        yield Selection(dataset, positives, encoder, loss, runs, curves, terms, history, wanted)


def _with_head(frame: pd.DataFrame) -> pd.DataFrame:
    """`encoder` becomes encoder-head: heads are compared like encoders."""
    return frame.assign(encoder=frame["encoder"] + "-" + frame["head"])


def _matching(frame: pd.DataFrame, key: tuple[str, ...]) -> pd.DataFrame:
    mask = pd.Series(True, index=frame.index)
    for column, value in zip(SELECTORS, key, strict=True):
        mask &= frame[column] == value
    return frame[mask].reset_index(drop=True)
