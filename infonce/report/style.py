"""One look for every figure, and files that are the same bytes for the same tables."""

import gc
import io
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast


def _writable_configuration() -> None:
    """Matplotlib wants a folder for its font cache; a read-only HOME must not stop a report."""
    if "MPLCONFIGDIR" not in os.environ and not os.access(Path.home(), os.W_OK):
        os.environ["MPLCONFIGDIR"] = tempfile.mkdtemp(prefix="infonce-matplotlib-")


_writable_configuration()

import matplotlib  # noqa: E402

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import seaborn as sns  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.font_manager import FontProperties, findfont, get_font  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator  # noqa: E402
from PIL import Image  # noqa: E402

from infonce.files import replacing  # noqa: E402
from infonce.report.format import number, power_of_ten  # noqa: E402

INK, GRID = "#333333", "#d9d9d9"
WIDTH = 7.0  # inches
FONT = "DejaVu Sans"  # comes with matplotlib
REFERENCE, LITERAL, TIGHT = "#7a7a7a", "#d55e00", "#0072b2"  # Okabe and Ito
FORM_COLOURS = {"literal": LITERAL, "tight": TIGHT, "measured": "#009e73"}
MARKERS = "osD^vPX*<>hp"
_RC = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "figure.dpi": 144,
    "figure.facecolor": "white",
    "axes.facecolor": "none",
    "font.family": "sans-serif",
    "font.sans-serif": [FONT],
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "infonce",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "axes.unicode_minus": True,
}


@dataclass(frozen=True)
class Drawing:
    """A figure that has not been drawn yet: `draw` makes it from `data`, which is written beside it."""

    name: str
    title: str
    alt: str
    caption: str
    data: pd.DataFrame
    draw: Callable[[pd.DataFrame], Figure] = field(repr=False)


@contextmanager
def styled() -> Iterator[None]:
    """The one style, for as long as figures are drawn."""
    collecting = gc.isenabled()
    gc.disable()  # figures are full of cycles; looking for garbage while they are drawn costs a tenth of the time
    try:
        with matplotlib.rc_context():
            sns.set_theme(style="whitegrid", context="paper", rc=_RC)
            yield
    finally:
        if collecting:
            gc.enable()


def panels(count: int, columns: int = 2, height: float = 2.6, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels, at most `columns` in a row; two in a row stay readable on a phone."""
    columns = min(columns, max(count, 1))
    rows = -(-count // columns)
    width = WIDTH if columns > 1 else 0.75 * WIDTH
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, height * rows), layout="constrained", squeeze=False, **options
    )
    for unused in axes.flat[count:]:
        unused.remove()
    return figure, list(axes.flat[:count])


def colours(count: int) -> list[str]:
    """So many colours in one order from dark to light; they differ in lightness, so grey print keeps them apart."""
    return [str(colour) for colour in sns.color_palette("viridis", max(count, 2)).as_hex()][:count]


def series_style(values: list[float]) -> dict[float, dict[str, Any]]:
    """Colour and marker of each value of a hue, in numeric order."""
    ordered = sorted(values)
    return {
        value: {"color": colour, "marker": MARKERS[index % len(MARKERS)]}
        for index, (value, colour) in enumerate(zip(ordered, colours(len(ordered)), strict=True))
    }


def legend_below(figure: Figure) -> None:
    """One legend for all panels, under them, with exactly the entries that some panel shows."""
    entries = [axes.get_legend_handles_labels() for axes in figure.axes]
    unique: dict[str, Any] = {}
    for handles, labels in sorted(entries, key=lambda pair: -len(pair[1])):  # the fullest panel gives the order
        for handle, text in zip(handles, labels, strict=True):
            unique.setdefault(text, handle)
    if unique:
        signs = 96 * figure.get_figwidth() / WIDTH  # as many as stand in a line
        columns = max(1, min(len(unique), int(signs / (max(map(len, unique)) + 7))))
        figure.legend(unique.values(), unique.keys(), loc="outside lower center", ncols=columns)


def note(axes: Axes, text: str) -> None:
    """A remark inside a panel, such as what its axis cannot show."""
    axes.text(0.03, 0.03, text, transform=axes.transAxes, fontsize=7.5, va="bottom", color=INK)


def label(text: str) -> str:
    """Text from the tables; a sign that the font lacks is spelled as its code point instead of as an empty box."""
    glyphs = get_font(findfont(FontProperties(family=FONT))).get_charmap()
    return "".join(sign if ord(sign) in glyphs else f"[U+{ord(sign):04X}]" for sign in text)


def logarithmic(axes: Axes, *names: str) -> None:
    """Log axes whose ticks are plain text, 10³, or 0.2 where an axis spans less than two decades."""
    for name in names:
        getattr(axes, f"set_{name}scale")("log")
        axis = getattr(axes, f"{name}axis")
        low, high = axis.get_view_interval()
        if high < 100 * low:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: number(value, 1)))
        else:
            axis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(round(math.log10(value)))))
        axis.set_minor_locator(NullLocator())  # minor ticks would be most of a figure's size


def at_values(axes: Axes, values: list[float], text: Callable[[float], str]) -> None:
    """A log x axis with a tick at each value used and nowhere else, as exact text."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(values))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    if len(values) > 6:
        axes.tick_params(axis="x", labelrotation=45)


def mean_over(frame: pd.DataFrame, by: list[str], column: str) -> pd.DataFrame:
    """Mean, standard error over runs (absent for one run) and n of a column's finite values in each cell."""
    finite = frame[np.isfinite(frame[column].astype(float))]
    grouped = finite.groupby(by, sort=True)[column]
    return grouped.agg(mean="mean", se="sem", n="size").reset_index()


def seeds_text(data: pd.DataFrame) -> str:
    """How many seeds stand behind the cells of a figure."""
    counts = sorted(int(n) for n in data["n"].unique())
    if not counts:
        return "No cell has a run."
    return f"n = {counts[0]} in every cell." if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]} in a cell."


def lines(axes: Axes, cells: pd.DataFrame, x: str, hue: str, text: Callable[[float], str]) -> None:
    """One line a value of `hue` through the means of `mean_over`; bars of one standard error where n ≥ 2."""
    for value, style in series_style(list(cells[hue].unique())).items():
        line = cells[cells[hue] == value]
        axes.errorbar(line[x], line["mean"], yerr=line["se"], label=text(value), capsize=2, elinewidth=0.9, **style)


def save(figure: Figure, stem: Path) -> str:
    """Write SVG, PDF and PNG beside each other; returns the SVG. None of them holds a date."""
    figure.canvas.draw()  # places everything, and is the PNG
    write_bytes(stem.with_suffix(".png"), _png(figure))
    figure.set_layout_engine(None)  # everything has its place; with an engine, each format would be drawn twice
    svg = _vector(figure, "svg", {"Date": None, "Creator": None})
    write_bytes(stem.with_suffix(".svg"), svg)
    write_bytes(
        stem.with_suffix(".pdf"), _vector(figure, "pdf", {"CreationDate": None, "Producer": None, "Creator": None})
    )
    plt.close(figure)
    return svg.decode()


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    pixels = np.asarray(cast(FigureCanvasAgg, figure.canvas).buffer_rgba())[..., :3]  # the background is opaque
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "png", dpi=(figure.dpi, figure.dpi))
    return buffer.getvalue()


def _vector(figure: Figure, format_: str, metadata: dict[str, None]) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=format_, metadata=metadata, facecolor="none")
    return buffer.getvalue()


def write_bytes(path: Path, content: bytes) -> None:
    """Write under the name `path`, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def inline(svg: str, prefix: str, alt: str) -> str:
    """An SVG ready to stand in a page: ids of its own, a size that follows the page, an alternative text."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    width = float(re.search(r'<svg [^>]*?width="([\d.]+)pt"', svg)[1]) / 72  # type: ignore[index]
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', rf'<svg \1style="--inches: {width:g}"', svg, count=1)
    svg = re.sub(r'(<svg [^>]*?)height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{_attribute(alt)}" ', 1)


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
