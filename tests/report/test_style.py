import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from infonce.report import style
from infonce.report.claims import CLAIMS
from infonce.report.figures.overview import overview
from infonce.report.selection import selections
from tests.report.model import make_tables, specs


def test_the_legend_has_what_any_panel_shows(tmp_path: Path) -> None:
    """A series that the first panel lacks has its entry too, in the order of the fullest panel."""
    with style.styled():
        figure, axes = style.panels(2)
        for name in ("late", "other"):
            axes[0].plot([1, 2], label=name)
        for name in ("early", "late", "last"):
            axes[1].plot([1, 2], label=name)
        style.legend_below(figure)
        svg = style.save(figure, tmp_path / "figure")
    assert re.findall(r">(early|late|last|other)<", svg) == ["early", "late", "last", "other"]


@pytest.mark.parametrize("seeds", [(0,), (0, 1)])
def test_no_text_of_a_figure_leaves_it(seeds: tuple[int, ...]) -> None:
    """With many temperatures and k, titles, ticks and legends stay inside."""
    ks, taus = (1, 2, 4, 8, 16, 64, 256, 1024), (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
    tables = make_tables(specs(negatives=ks, temperatures=taus, seeds=seeds, positives=("class",)))
    (selection,) = selections(tables, None)
    drawings = [overview(selection), *(drawing for claim in CLAIMS for drawing in claim.drawings(selection))]
    assert len(drawings) >= 11
    with style.styled():
        for drawing in drawings:
            figure = drawing.draw(drawing.data)
            figure.canvas.draw()
            used = figure.get_tightbbox()
            width, height = figure.get_size_inches()
            assert used.x0 > -0.02, drawing.name
            assert used.y0 > -0.02, drawing.name
            assert used.x1 < width + 0.02, drawing.name
            assert used.y1 < height + 0.02, drawing.name
            plt.close(figure)
