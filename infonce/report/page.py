"""The page: one HTML file that needs nothing else."""

import base64
import json
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import jinja2
import pandas as pd

from infonce.records.collect import MEASURED
from infonce.report import format as fmt
from infonce.report.claims import CLAIMS
from infonce.report.datasets import described
from infonce.report.provenance import provenance
from infonce.report.sections import Rendered
from infonce.report.selection import SELECTORS
from infonce.report.tables import Tables

_SELECTOR_WORDS = {"dataset": "Data set", "positives": "Positives", "encoder": "Encoder", "loss": "Loss"}


def page(title: str, tables: Tables, requested: list[dict[str, Any]] | None, rendered: list[Rendered]) -> str:
    """The page as text. The first selection stands in it readably; the others are packed and unpacked on demand."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("infonce.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    block = environment.get_template("block.html.j2")
    contents = [
        {slug: block.render(slug=slug, block=part) for slug, part in selection.blocks.items()} for selection in rendered
    ]
    return environment.get_template("report.html.j2").render(
        title=title,
        summary=_summary(tables.runs, requested),
        axes=_axes(tables.runs, requested),
        precision=_unique(tables.runs["evaluation_precision"].dropna()),
        claims=CLAIMS,
        rendered=rendered,
        options={name: _unique(getattr(selection, name) for selection in rendered) for name in SELECTORS},
        words=_SELECTOR_WORDS,
        first=contents[0]
        if contents
        else dict.fromkeys(("overview", *(claim.slug for claim in CLAIMS), "gaps", "runs"), ""),
        packed=[_packed(content) for content in contents[1:]],
        datasets=[described(name) for name in _unique(selection.dataset for selection in rendered)],
        provenance=provenance(tables.runs),
        version=_versions(tables.runs),
    )


def _packed(content: dict[str, str]) -> str:
    return base64.b64encode(zlib.compress(json.dumps(content).encode(), 9)).decode()


def _unique(values: Iterable[str]) -> list[str]:
    return sorted(set(values))


def _summary(runs: pd.DataFrame, requested: list[dict[str, Any]] | None) -> str:
    """The grid in one sentence."""
    counts = runs["status"].value_counts()
    usable = int(counts.reindex(MEASURED).fillna(0).sum())
    asked = f" of the {fmt.integer(len(requested))} that were asked for" if requested is not None else ""
    failed = [
        f"{fmt.integer(int(counts[status]))} {status.replace('_', ' ')}"
        for status in sorted(counts.index)
        if status != "ok"
    ]
    missing = max(len(requested) - len(runs), 0) if requested is not None else 0
    if missing:
        failed.append(f"{fmt.integer(missing)} missing")
    return (
        f"{fmt.plural(len(runs), 'run')}{asked} {'is' if len(runs) == 1 else 'are'} in the tables, "
        f"{fmt.integer(usable)} with numbers; {fmt.listing(failed) if failed else 'none missing, none diverged'}."
    )


def _axes(runs: pd.DataFrame, requested: list[dict[str, Any]] | None) -> list[tuple[str, str]]:
    """The values of each axis of the grid."""
    known = pd.concat([runs, pd.DataFrame(requested)]) if requested else runs
    axes: list[tuple[str, str, Callable[[Any], str]]] = [
        ("Data sets", "dataset", str),
        ("Positives", "positives", str),
        ("Encoders", "encoder", str),
        ("Heads", "head", str),
        ("Losses", "loss", str),
        ("Dimensions d", "dimension", fmt.integer),
        ("Training tuples n", "tuples", fmt.integer),
        ("Negatives k", "negatives", fmt.integer),
        ("Temperatures τ", "temperature", fmt.temperature),
        ("Seeds", "seed", str),
    ]
    return [
        (words, ", ".join(as_text(value) for value in sorted(known[column].dropna().unique())))
        for words, column, as_text in axes
    ]


def _versions(runs: pd.DataFrame) -> str:
    commits = _unique(pd.concat([runs["git_commit"], runs["evaluation_git_commit"]]).dropna())
    return fmt.listing(commit[:10] for commit in commits) if commits else "an unrecorded version"
