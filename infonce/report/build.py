"""From the tables to the page: every selection is drawn, its tables are joined, and the page is written last."""

import shutil
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from infonce.files import write_text
from infonce.processors import usable_processors
from infonce.progress import watched
from infonce.report import tabulate
from infonce.report.page import page
from infonce.report.sections import SELECTION_COLUMNS, Rendered, render
from infonce.report.selection import SELECTORS, Selection, selections
from infonce.report.tables import Tables
from infonce.report.tabulate import Table


def build(
    tables: Tables,
    output: Path,
    title: str,
    requested: list[dict[str, Any]] | None = None,
    jobs: int | None = None,
) -> Path:
    """Write `report.html`, `figures/` and `tables/` below `output`; returns the path of the page.

    `requested` holds the grid coordinates (`RunSpec.columns()`) of every run that was asked for: what is missing is
    listed. `jobs` processes draw, one selection each at a time.
    """
    picked = list(selections(tables, requested))
    for folder in ("figures", "tables"):
        shutil.rmtree(output / folder, ignore_errors=True)
        (output / folder).mkdir(parents=True)  # there even where nothing can be drawn
    rendered = _render_all(picked, output, jobs or usable_processors())
    for table in _joined(rendered):
        stem = output / "tables" / table.name
        write_text(stem.with_suffix(".csv"), tabulate.to_csv(table))
        write_text(stem.with_suffix(".md"), tabulate.to_markdown(table))
        write_text(stem.with_suffix(".tex"), tabulate.to_latex(table))
    path = output / "report.html"
    write_text(path, page(title, tables, requested, rendered))
    return path


def _render_all(picked: list[Selection], output: Path, jobs: int) -> list[Rendered]:
    work = partial(render, folder=output)
    if jobs == 1 or len(picked) <= 1:
        return [work(selection) for selection in watched(picked, "report", "selection")]
    with ProcessPoolExecutor(min(jobs, len(picked))) as pool:
        started = [pool.submit(work, selection) for selection in picked]
        return [each.result() for each in watched(started, "report", "selection")]


def _joined(rendered: Iterable[Rendered]) -> list[Table]:
    """Each table over all selections, with the selection in its first columns."""
    joined: dict[str, Table] = {}
    for selection in rendered:
        names = {name: getattr(selection, name) for name in SELECTORS}
        for block in selection.blocks.values():
            for table in block.tables:
                whole = joined.setdefault(table.name, replace(table, rows=[], key_columns=SELECTION_COLUMNS))
                whole.rows.extend(names | row for row in table.rows)
    return list(joined.values())
