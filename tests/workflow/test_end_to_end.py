import json
import shlex
import shutil
import zipfile

import pyarrow.compute as pc
import pytest

from infonce.records.schemas import SCHEMAS
from infonce.records.tables import read_table, without_provenance
from infonce.stages import evaluate
from tests.workflow.conftest import Workflow

pytestmark = pytest.mark.workflow

RUN = "results/runs/digits/augment/mlp-normalize-d8/infonce/n256-shared-k4-tau0.2-seed7"


@pytest.fixture
def grid(finished, tmp_path):
    """A copy of the finished grid, free to be changed; time stamps are kept."""
    folder = tmp_path / "grid"
    shutil.copytree(finished.folder, folder)
    return Workflow(folder)


def tables(workflow):
    return {name: read_table(workflow.path("results", f"{name}.parquet"), name) for name in SCHEMAS}


def test_the_whole_grid_ends_with_tables_and_a_page(finished):
    found = tables(finished)
    assert found["runs"].num_rows == 8
    assert set(found["runs"]["status"].to_pylist()) == {"ok"}
    for name in ("curves", "terms", "history"):
        assert set(found[name]["run"].to_pylist()) == set(found["runs"]["run"].to_pylist())
    page = finished.path("results", "report", "report.html")
    assert page.stat().st_size > 20_000


def test_no_inequality_is_violated(finished):
    terms = tables(finished)["terms"]
    checked = terms.filter(pc.is_valid(terms["holds"]))
    assert checked.num_rows >= 8 * 4
    violated = checked.filter(pc.invert(checked["holds"])).select(["run", "term", "form", "value", "measured"])
    assert violated.to_pylist() == []


def test_provenance_is_written_where_the_job_ran(finished):
    for row in tables(finished)["runs"].to_pylist():
        for column in ("code_digest", "data_digest", "python_version", "torch_version", "host", "device", "threads"):
            assert row[column] is not None, column
        for column in ("code_digest", "python_version", "torch_version", "host", "device", "precision", "finished_at"):
            assert row[f"evaluation_{column}"] is not None, column
        assert row["evaluation_code_digest"] != row["code_digest"]
        assert row["resumed"] is False
        assert row["training_seconds"] > 0


def test_numbers_that_are_measured_again_name_the_job_that_measured(grid):
    folder = grid.path(RUN)
    planned = grid.run("--dry-run", "--printshellcmds", "--forcerun", "evaluate", "--", f"{RUN}/run.parquet").stdout
    words = shlex.split(next(line for line in planned.splitlines() if "infonce evaluate" in line))
    spec = words[words.index("--spec") + 1]
    before = read_table(folder / "run.parquet", "runs").to_pylist()[0]
    evaluate.run(spec, next(grid.path("data", "prepared").glob("digits*")), folder, "{}", "by hand", 1, "cpu")
    after = read_table(folder / "run.parquet", "runs").to_pylist()[0]
    assert after["evaluation_code_digest"] == "by hand"
    assert after["code_digest"] == before["code_digest"]
    assert after["finished_at"] == before["finished_at"]


def test_the_same_grid_gives_the_same_bytes(finished, workflow):
    workflow.run()
    first, second = tables(finished), tables(workflow)
    for name in SCHEMAS:
        assert without_provenance(first[name], name).equals(without_provenance(second[name], name)), name
    weights = f"{RUN}/weights.safetensors"
    assert finished.path(weights).read_bytes() == workflow.path(weights).read_bytes()


def test_a_finished_grid_has_nothing_to_do(grid):
    assert grid.planned() == {}


def test_a_new_temperature_schedules_its_slice_only(grid):
    grid.configure(temperatures=[0.2, 1, 0.5])
    assert grid.planned() == {"train": 4, "evaluate": 4, "collect": 1, "report": 1, "all": 1}


@pytest.mark.parametrize("spelling", [[0.2, 1.0], ["0.20", "1"], ["2e-1", 1]])
def test_another_spelling_of_a_temperature_schedules_nothing(grid, spelling):
    grid.configure(temperatures=spelling)
    assert grid.planned() == {}


def test_the_settings_of_the_evaluation_retrain_nothing(grid):
    grid.configure(evaluation={"neighbours": 5})
    assert grid.planned() == {"evaluate": 8, "collect": 1, "report": 1, "all": 1}


def test_the_settings_of_training_retrain(grid):
    grid.configure(training={"steps": 21, "batch_size": 128, "history_points": 4})
    assert grid.planned()["train"] == 8


def test_a_removed_temperature_leaves_the_tables(grid):
    grid.configure(temperatures=[1])
    grid.run()
    assert set(tables(grid)["runs"]["temperature"].to_pylist()) == {1.0}
    assert "not of this grid" in grid.path("results", "logs", "collect.log").read_text()


def test_an_unfinished_grid_is_reported_with_every_gap(grid):
    shutil.rmtree(grid.path(RUN))
    grid.path("results", "report", "report.html").unlink()
    said = grid.run("--allowed-rules", "partial", "--", "partial").stdout
    assert f"{RUN.removeprefix('results/runs/')}; log: {grid.path('results', 'logs')}" in said
    assert "7 of 8 runs are there" in said
    assert not grid.path(RUN).exists()
    page = grid.path("results", "report", "report.html").read_text()
    assert "7 runs of the 8" in page
    other = "results/runs/digits/augment/mlp-normalize-d8/infonce/n256-shared-k64-tau0.2-seed7"
    assert grid.path(other).exists()
    shutil.rmtree(grid.path(other))
    assert "6 of 8 runs are there" in grid.run("--allowed-rules", "partial", "--", "partial").stdout


def test_snakemake_reports_the_finished_grid(finished, tmp_path):
    archive = tmp_path / "grid.zip"
    finished.run("--report", str(archive))
    with zipfile.ZipFile(archive) as files:
        page = files.read("grid/report.html").decode()
        embedded = [name for name in files.namelist() if "/data/" in name]
    results, categories = (_javascript(page, f"var {name} = ") for name in ("results", "categories"))
    made = finished.path("results", "report")
    figures = {file.relative_to(finished.folder).as_posix() for file in made.glob("figures/*/*.svg")}
    tables = {file.relative_to(finished.folder).as_posix() for file in made.glob("tables/*.csv")}
    # Aggregated figures, tables and the page, and nothing of a single run.
    assert set(results) == figures | tables | {"results/report/report.html"}
    assert len(embedded) == len(results)
    listed = {
        category: {file for group in groups.values() for file in group} for category, groups in categories.items()
    }
    assert listed == {"Report": {"results/report/report.html"}, "Figures": figures, "Tables": tables}
    assert set(categories["Figures"]) == {file.parent.name for file in made.glob("figures/*/*.svg")}
    for name, result in results.items():
        assert len(result["caption"]) > 100, name
        assert "{{" not in result["caption"], name
        assert result["labels"], name
    assert archive.stat().st_size < 3_000_000


def _javascript(page, declaration):
    return json.JSONDecoder().raw_decode(page, page.rindex(declaration) + len(declaration))[0]


def test_one_run_by_its_path_and_again(workflow):
    workflow.run(f"{RUN}/run.parquet")
    assert len(list(workflow.folder.rglob("run.parquet"))) == 1
    first = workflow.path(RUN, "weights.safetensors").read_bytes()
    workflow.run("--forcerun", "train", "--", f"{RUN}/run.parquet")
    assert workflow.path(RUN, "weights.safetensors").read_bytes() == first


def test_a_job_can_be_replayed_by_the_command_of_its_log(finished, tmp_path):
    import subprocess
    import sys

    from infonce.plan.grid import expand, load_config
    from infonce.spec.source import read_config_files

    config = load_config(read_config_files([finished.path("grid.yaml")]))
    spec = expand(config)[RUN.removeprefix("results/runs/")]
    manifest = next(finished.path("data", "prepared").glob("*/manifest.json"))
    weights = tmp_path / "weights.safetensors"
    command = ["train", "--spec", spec.canonical_json(), "--data", str(manifest), "--weights", str(weights)]
    subprocess.run([sys.executable, "-m", "infonce", *command], check=True, timeout=120)
    assert weights.read_bytes() == finished.path(RUN, "weights.safetensors").read_bytes()


def test_a_diverged_run_is_a_row_with_that_status(workflow):
    workflow.configure(
        training={"steps": 20, "optimizer": "sgd", "learning_rate": 1e30, "history_points": 4},
        positives=["augment"],
        negatives=[4],
        temperatures=[0.2],
    )
    workflow.run()
    (row,) = tables(workflow)["runs"].to_pylist()
    assert row["status"] == "diverged"
    assert row["message"]
    assert row["cross_entropy"] is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"temperatures": [0]}, "temperatures[0]: 0 is refused"),
        ({"temperatures": [float("nan")]}, "temperatures[0]: nan is refused"),
        ({"negatives": [2.5]}, "negatives[0]: 2.5 is refused: is not a whole number"),
        ({"datasets": ["digitz"]}, "digits"),
        ({"tuples": [401]}, "at most 400"),
        ({"temperature": [1]}, "did you mean `temperatures`?"),
    ],
)
def test_a_bad_configuration_is_refused_before_any_job(workflow, changes, expected):
    workflow.configure(**changes)
    done = workflow.run(check=False)
    assert done.returncode == 1
    assert expected in done.stderr
    assert "grid.yaml, line" in done.stderr
    assert "Traceback" not in done.stderr
    assert not workflow.path("results", "runs").exists()


def test_a_run_outside_the_grid_is_no_target(workflow):
    done = workflow.run("--dry-run", f"{RUN.replace('tau0.2', 'tau0.20')}/run.parquet", check=False)
    assert done.returncode == 1
    assert "tau0.20" in done.stdout + done.stderr
