"""The sections that follow the selector: the overview, the nine claims, what is missing, and every run."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infonce.report import format as fmt
from infonce.report import grid, style
from infonce.report.claims import CLAIMS
from infonce.report.claims.claim import Answer
from infonce.report.figures.overview import overview
from infonce.report.selection import SELECTORS, Selection
from infonce.report.style import Drawing
from infonce.report.tabulate import Column, Table, records

SELECTION_COLUMNS = [
    Column("dataset", "Data set", "text"),
    Column("positives", "Positives", "text"),
    Column("encoder", "Encoder", "text"),
    Column("loss", "Loss", "text"),
]
_CELL_COLUMNS = [
    Column("dimension", "d", "integer"),
    Column("tuples", "n", "integer"),
    Column("tuple_design", "Tuples", "text"),
    Column("negatives", "k", "integer"),
    Column("temperature", "τ", "temperature"),
]


@dataclass(frozen=True)
class ShownFigure:
    """A drawn figure: its texts, its SVG for the page, and the stem of its files relative to the page."""

    name: str
    title: str
    caption: str
    svg: str
    stem: str


@dataclass(frozen=True)
class Block:
    """What one section shows for one selection."""

    answer: Answer | None
    figures: list[ShownFigure]
    tables: list[Table]
    limits: list[str]


@dataclass(frozen=True)
class Rendered:
    """One selection, told: a block a section."""

    dataset: str
    positives: str
    encoder: str
    loss: str
    label: str
    token: str
    blocks: dict[str, Block]


def render(selection: Selection, folder: Path) -> Rendered:
    """Draw and tabulate everything of a selection; figure files go below `folder`/figures."""
    blocks = {"overview": _block(selection, folder, None, _overview_drawings, lambda _: [], _overview_notes)}
    for claim in CLAIMS:
        blocks[claim.slug] = _block(
            selection, folder, claim.answer(selection), claim.drawings, claim.tables, claim.limits
        )
    blocks["gaps"] = _block(selection, folder, None, lambda _: [], _gap_tables, _gap_notes)
    blocks["runs"] = _block(selection, folder, None, lambda _: [], _run_tables, lambda _: [])
    names = {name: getattr(selection, name) for name in SELECTORS}
    return Rendered(**names, label=selection.label, token=selection.token, blocks=blocks)


def _block(
    selection: Selection,
    folder: Path,
    answer: Answer | None,
    drawings: Callable[[Selection], list[Drawing]],
    tables: Callable[[Selection], list[Table]],
    limits: Callable[[Selection], list[str]],
) -> Block:
    figures = [_draw(drawing, folder, selection.token) for drawing in drawings(selection)]
    return Block(answer, figures, tables(selection), limits(selection))


def _draw(drawing: Drawing, folder: Path, token: str) -> ShownFigure:
    """Files of a figure: SVG, PDF, PNG, and the data behind it."""
    stem = Path("figures") / token / drawing.name
    with style.styled():
        svg = style.save(drawing.draw(drawing.data), folder / stem)
    style.write_bytes(folder / stem.with_suffix(".csv"), drawing.data.to_csv(index=False).encode())
    style.write_bytes(folder / stem.with_suffix(".parquet"), drawing.data.to_parquet(index=False))
    inlined = style.inline(svg, drawing.name, drawing.alt)
    return ShownFigure(drawing.name, drawing.title, drawing.caption, inlined, stem.as_posix())


def _overview_drawings(selection: Selection) -> list[Drawing]:
    return [overview(selection)] if len(selection.runs) else []


def _overview_notes(selection: Selection) -> list[str]:
    if len(selection.usable) == len(selection.runs):
        return []
    other = len(selection.usable) - len(selection.runs)
    return [
        f"Figures over k and τ hold {selection.reference_text}; {fmt.plural(other, 'run')} at other dimensions or n "
        "are used where those vary (the generalisation gap) and in the table of runs."
    ]


def _gap_tables(selection: Selection) -> list[Table]:
    columns = [
        *_CELL_COLUMNS,
        Column("seed", "Seed", "integer"),
        Column("state", "State", "text"),
        Column("reason", "Reason", "text"),
    ]
    rows = records(grid.gaps(selection))
    caption = "Runs that are missing, diverged or stopped early, and cells with one seed."
    return [
        Table("gaps", caption, columns, rows, empty="No gap: every run that was asked for is there, and ended well.")
    ]


def _gap_notes(selection: Selection) -> list[str]:
    if selection.requested is None:
        return ["The asked-for grid was not given to the report: runs that never started cannot be listed."]
    return []


def _run_tables(selection: Selection) -> list[Table]:
    columns = [
        *_CELL_COLUMNS,
        Column("seed", "Seed", "integer"),
        Column("status", "Status", "text"),
        Column("empirical_risk", "R̂"),
        Column("empirical_risk_se", "se R̂"),
        Column("held_out_risk", "R"),
        Column("held_out_risk_se", "se R"),
        Column("generalisation_gap", "Gap R − R̂"),
        Column("generalisation_gap_se", "se gap"),
        Column("cross_entropy", "CE"),
        Column("cross_entropy_se", "se CE"),
        Column("kl", "KL"),
        Column("chi2", "χ²"),
        Column("recall_at_1", "Recall@1"),
        Column("knn_accuracy", "kNN accuracy"),
    ]
    order = [column.key for column in _CELL_COLUMNS] + ["seed"]
    rows = records(selection.all_runs.sort_values(order)[[column.key for column in columns]])
    caption = "Every run, with standard errors over held-out anchors and pool, or over training tuples; values in nats."
    return [Table("runs", caption, columns, rows, empty="No run yet.")]
