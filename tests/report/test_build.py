import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from infonce.data.registry import DATASETS
from infonce.report import build, style
from infonce.report.claims import CLAIMS
from infonce.report.datasets import described
from infonce.report.figures import gap, rate
from infonce.report.page import page
from infonce.report.selection import selections
from tests.report.model import Built, faulty_grid, make_tables, specs

ROOT = Path(__file__).parents[2]
SECTIONS = ["summary", "overview", *(claim.slug for claim in CLAIMS), "gaps", "runs", "methods", "data", "cite"]


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))


def test_every_section_is_there(built: Built) -> None:
    assert len(CLAIMS) == 9
    for section in SECTIONS:
        assert f'<section id="{section}"' in built.page
        assert f'href="#{section}"' in built.page


def test_the_page_needs_nothing_else(built: Built) -> None:
    assert not re.search(r'(?:src|href)="(?:https?:)?//', built.page)
    assert "@import" not in built.page
    assert "url(http" not in built.page


def test_every_figure_has_its_files(built: Built) -> None:
    stems = set(re.findall(r'href="(figures/[^"]+)\.svg"', built.page))
    assert len(stems) >= 11
    for stem in stems:
        for suffix in ("svg", "pdf", "png", "csv", "parquet"):
            assert (built.folder / f"{stem}.{suffix}").stat().st_size > 0
        assert len(pd.read_csv(built.folder / f"{stem}.csv")) == len(pd.read_parquet(built.folder / f"{stem}.parquet"))


def test_every_table_has_its_files(built: Built) -> None:
    names = set(re.findall(r'href="tables/([^"]+)\.csv"', built.page))
    assert {"rate", "ledger", "gaps", "runs"} <= names
    for name in names:
        for suffix in ("csv", "md", "tex"):
            assert (built.folder / "tables" / f"{name}.{suffix}").stat().st_size > 0
    runs = pd.read_csv(built.folder / "tables" / "runs.csv")
    assert len(runs) == len(built.tables.runs)
    assert set(runs["loss"]) == {"infonce", "dcl"}


def test_faults_are_visible(built: Built) -> None:
    text = text_of(built.page)
    assert "47 runs of the 48 that were asked for are in the tables, 46 with numbers; 1 diverged and 1 missing." in text
    assert "the loss was not finite at step 12" in text
    gaps = pd.read_csv(built.folder / "tables" / "gaps.csv")
    assert sorted(gaps["state"]) == ["diverged", "missing", "one seed", "one seed"]
    missing = gaps[gaps["state"] == "missing"].iloc[0]
    assert (missing["negatives"], missing["temperature"], missing["seed"]) == (4, 0.5, 1)
    assert "2 of 20 cells have a single seed" in text
    assert "1 of 39 runs ended without numbers" in text


def test_a_cell_with_fewer_seeds_shows_its_n(built: Built) -> None:
    svg = (built.folder / "figures" / "digits_class_mlp-normalize_infonce" / "overview.svg").read_text()
    assert svg.count("n = 1") == 2 * 4


def test_nothing_is_nan(built: Built) -> None:
    text = text_of(re.sub(r"<script.*?</script>", "", built.page, flags=re.S)).lower()
    assert not re.search(r"\bnan\b", text)
    assert not re.search(r"± 0(?![.\d])", text)
    for table in (built.folder / "tables").glob("*.md"):
        assert "nan" not in re.findall(r"[a-z]+", table.read_text().lower())


def test_the_precision_of_the_page_is_that_of_the_tables(built: Built) -> None:
    assert "embeddings were computed in float64, similarities" in text_of(built.page)
    single = built.tables.runs.assign(evaluation_precision="float32")
    text = text_of(page("Single", replace(built.tables, runs=single), None, []))
    assert "embeddings were computed in float32, similarities and all that follows from them in float64" in text


def test_registered_data_sets_are_described() -> None:
    for name, info in DATASETS.items():
        assert described(name).text == f"{info.title}."
        assert described(name).citation == info.citation
    assert described("数字").text == "Not described in this project."


def test_the_same_tables_give_the_same_bytes(tmp_path: Path) -> None:
    grid = specs(negatives=(4, 64), temperatures=(0.2,), positives=("class",))
    tables = make_tables(grid)
    for name in ("one", "two"):
        build(tables, tmp_path / name, "Twice", grid, jobs=1)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(files) > 60
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file


def test_an_unfinished_or_empty_grid_has_a_page(tmp_path: Path) -> None:
    tables, requested = faulty_grid()
    empty = replace(tables, **{name: getattr(tables, name).iloc[:0] for name in ("runs", "curves", "terms", "history")})
    page = build(empty, tmp_path, "Nothing yet", requested, jobs=1).read_text()
    assert "0 runs of the 48 that were asked for" in text_of(page)
    assert len(pd.read_csv(tmp_path / "tables" / "gaps.csv")) == 48


def test_eight_values_have_eight_legend_entries_in_numeric_order(tmp_path: Path) -> None:
    ks, taus = (1, 2, 4, 8, 16, 64, 256, 1024), (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
    (selection,) = selections(
        make_tables(specs(negatives=ks, temperatures=taus, seeds=(0,), positives=("class",))), None
    )
    with style.styled():
        decay, along = (
            style.save(drawing.draw(drawing.data), tmp_path / drawing.name)
            for drawing in (rate.decay(selection), gap.gap(selection))
        )
    entries = re.findall(r"trained with k = ([\d,]+)", decay)
    assert [int(entry.replace(",", "")) for entry in entries] == list(ks)
    assert [float(entry) for entry in re.findall(r">τ = ([\d.]+)<", along)] == list(taus)


def test_no_display_a_read_only_home_and_foreign_names(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tests.report.model import make_tables, specs\n"
        "from infonce.report import build\n"
        "grid = specs(negatives=(4, 16), temperatures=(0.2, 1.0), datasets=('数字 $5',), positives=('class',))\n"
        "build(make_tables(grid), Path(sys.argv[1]), 'Ein $ <b> & 数字', grid, jobs=1)\n"
    )
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "MPLCONFIGDIR")}
    environment |= {"HOME": str(home), "MPLBACKEND": "TkAgg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "report")],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "<h1>Ein $ &lt;b&gt; &amp; 数字</h1>" in page
    assert "数字 $5" in page
