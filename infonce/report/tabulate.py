"""A table once, written as HTML for the page and as CSV, Markdown and LaTeX (booktabs) for a paper."""

import csv
import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from infonce.report import format as fmt

_FORMATS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "integer": fmt.integer,
    "temperature": fmt.temperature,
    "real": fmt.number,
    "overflowing": lambda pair: fmt.from_logarithm(pair[1]) if math.isinf(pair[0]) else fmt.number(pair[0]),
}
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$",
    "τ": r"$\tau$", "χ²": r"$\chi^2$", "χ": r"$\chi$", "θ": r"$\theta$", "π": r"$\pi$", "φ": r"$\varphi$",
    "δ": r"$\delta$", "σ": r"$\sigma$", "κ": r"$\kappa$", "β": r"$\beta$", "½": r"$\frac12$", "±": r"$\pm$",
    "−": r"$-$", "–": r"--", "·": r"$\cdot$", "≤": r"$\le$", "≥": r"$\ge$", "∞": r"$\infty$", "√": r"$\surd$",
    "‖": r"$\Vert$", "₀": r"$_0$", "ₖ": r"$_k$", "CEₖ": r"CE$_k$", "ℓ": r"$\ell$",
    "R̃": r"$\tilde R$", "R̂": r"$\hat R$", "Q̂": r"$\hat Q$", "θ̂": r"$\hat\theta$",
    "×": r"$\times$", "→": r"$\to$", "∈": r"$\in$", "Σ": r"$\Sigma$", "Δ": r"$\Delta$", "…": r"\dots{}", "′": "'",
    "⟨": r"$\langle$", "⟩": r"$\rangle$", "∫": r"$\int$", "∧": r"$\wedge$", "Φ": r"$\Phi$", "⌊": r"$\lfloor$",
    "⌋": r"$\rfloor$",
}  # fmt: skip
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_SIGN = re.compile("|".join([*map(re.escape, sorted(_LATEX, key=len, reverse=True)), f"[{_RAISED}]+"]))
_LOWER = str.maketrans(_RAISED, "0123456789-")


@dataclass(frozen=True)
class Column:
    """A column: the key of its values, its heading, and its kind.

    Kinds are `text`, `integer`, `temperature`, `real`, `interval` and `overflowing`. The values of an `interval` are
    `fits.Mean`; its half-width, its n and how many cells it leaves out become columns of their own in the CSV. Those of
    `overflowing` are pairs (value, natural logarithm), as `overflowing` makes them.
    """

    key: str
    heading: str
    kind: str = "real"


@dataclass(frozen=True)
class Table:
    """Rows under headings; `name` is the name of its files."""

    name: str
    caption: str
    columns: list[Column]
    rows: list[dict[str, Any]]
    empty: str = "Nothing to show."
    key_columns: list[Column] = field(default_factory=list)

    def cells(self, row: dict[str, Any]) -> list[tuple[str, str, bool]]:
        """(text, sort key, numeric) of each cell of a row."""
        return [
            (shown(row.get(column.key), column.kind), _sort_key(row.get(column.key)), column.kind != "text")
            for column in self.columns
        ]


def overflowing(log_value: float | None) -> tuple[float, float] | None:
    """(value, its natural logarithm), the first infinite where it overflows; None where there is no logarithm."""
    if log_value is None or math.isnan(log_value):
        return None
    return (math.exp(log_value) if log_value < 700 else math.inf), log_value


def shown(value: Any, kind: str) -> str:
    """A value as it is printed; an absent one is a dash."""
    if kind == "interval":
        if value is None or not math.isfinite(value.value):
            return "–"
        without = f", {value.without}" if value.without else ""
        return fmt.plus_minus(value.value, value.half_width) + f" (n = {value.n}{without})"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return _FORMATS[kind](value)


def _sort_key(value: Any) -> str:
    if hasattr(value, "half_width"):
        value = value.value
    elif isinstance(value, tuple):  # beyond the range of floats the logarithm keeps the order
        value = value[0] if not math.isinf(value[0]) else 1e300 * (1 + value[1] / 1e6)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value)


def to_csv(table: Table) -> str:
    """Raw values at full precision."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    columns = table.key_columns + table.columns
    headings: list[str] = []
    for column in columns:
        headings += [column.key]
        if column.kind == "interval":
            headings += [f"{column.key}_{part}" for part in ("half_width", "n", "cells_left_out")]
        elif column.kind == "overflowing":
            headings += [f"{column.key}_log"]
    writer.writerow(headings)
    for row in table.rows:
        values: list[Any] = []
        for column in columns:
            value = row.get(column.key)
            if column.kind == "interval":
                parts = [None, None, 0, 0]
                if value is not None:
                    parts = [value.value, value.half_width, value.n, value.cells_left_out]
                values += parts
            elif column.kind == "overflowing":
                values += [None, None] if value is None else list(value)
            else:
                values.append(value)
        writer.writerow(values)
    return buffer.getvalue()


def to_markdown(table: Table) -> str:
    """A pipe table under its caption."""
    columns = table.key_columns + table.columns
    lines = [f"{table.caption}", ""]
    lines.append("| " + " | ".join(column.heading for column in columns) + " |")
    lines.append("|" + "|".join("---" if column.kind == "text" else "---:" for column in columns) + "|")
    for row in table.rows:
        texts = [shown(row.get(column.key), column.kind) for column in columns]
        lines.append("| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |")
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """A booktabs table, ready to be read in by a paper."""
    columns = table.key_columns + table.columns
    body = [
        " & ".join(latex(shown(row.get(column.key), column.kind)) for column in columns) + r" \\" for row in table.rows
    ]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex(table.caption)}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{{''.join('l' if column.kind == 'text' else 'r' for column in columns)}}}",
            r"\toprule",
            " & ".join(latex(column.heading) for column in columns) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def latex(text: str) -> str:
    """Text with every sign that LaTeX reads otherwise escaped, and the mathematical ones spelled out."""
    return _SIGN.sub(lambda sign: _LATEX.get(sign[0]) or f"$^{{{sign[0].translate(_LOWER)}}}$", text)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a data frame, with None where a value is absent."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in rows]
