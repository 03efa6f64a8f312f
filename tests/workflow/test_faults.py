"""What breaks in practice, on the real workflow: kills, full disks, odd paths, cut and foreign files."""

import contextlib
import csv
import os
import random
import shutil
import signal
import subprocess
import time

import pyarrow.parquet as pq
import pytest

from infonce.records.schemas import SCHEMAS
from infonce.records.tables import read_table, without_provenance
from tests.workflow.conftest import ROOT, Workflow, finished_grid, workflow_environment

pytestmark = pytest.mark.workflow

TINY = {"positives": ["augment"], "negatives": [4], "temperatures": [0.2, 1]}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Workflow:
    """A finished grid of two runs; tests that change it work on copies."""
    return finished_grid(tmp_path_factory.mktemp("tiny"), **TINY)


@pytest.fixture
def copy(tiny, tmp_path) -> Workflow:
    shutil.copytree(tiny.folder, tmp_path / "grid")
    return Workflow(tmp_path / "grid")


def numbers(workflow):
    return {
        name: without_provenance(read_table(workflow.path("results", f"{name}.parquet"), name), name)
        for name in SCHEMAS
    }


def test_kill_9_at_twenty_random_moments(tiny, tmp_path):
    workflow = Workflow(tmp_path)
    workflow.configure(**TINY)
    moments = random.Random(20)
    for _ in range(20):
        process = subprocess.Popen(
            workflow.command(),
            cwd=workflow.folder,
            env=workflow_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(moments.uniform(0.5, 7))
        os.killpg(process.pid, signal.SIGKILL)  # Snakemake, its jobs, and the report
        process.wait()
        workflow.run("--unlock")
    workflow.run()
    expected, found = numbers(tiny), numbers(workflow)
    for name in SCHEMAS:
        assert found[name].equals(expected[name]), name
    leftovers = [path for path in workflow.path("results", "runs").rglob(".*") if path.suffix in (".state", ".lock")]
    assert leftovers == []


@pytest.mark.parametrize("file", ["run.parquet", "curves.parquet", "terms.parquet", "history.parquet"])
def test_cut_outputs_are_refused_even_without_snakemakes_memory(copy, file):
    shutil.rmtree(copy.path(".snakemake"))
    victim = next(copy.path("results", "runs").rglob(file))
    victim.write_bytes(victim.read_bytes()[:-30])
    copy.path("results", "runs.parquet").unlink()
    done = copy.run(check=False)
    assert done.returncode == 1
    assert f"{victim.relative_to(copy.folder)}: is no whole Parquet file" in done.stdout + done.stderr
    victim.unlink()
    copy.run()


def test_foreign_outputs_are_refused_even_without_snakemakes_memory(copy):
    shutil.rmtree(copy.path(".snakemake"))
    first, second = sorted(copy.path("results", "runs").rglob("run.parquet"))
    first.write_bytes(second.read_bytes())
    copy.path("results", "runs.parquet").unlink()
    done = copy.run(check=False)
    assert done.returncode == 1
    assert "belongs to another run" in done.stdout + done.stderr


def test_cut_weights_are_refused_and_remade(copy):
    weights = next(copy.path("results", "runs").rglob("weights.safetensors"))
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    (weights.parent / "run.parquet").unlink()
    done = copy.run(check=False)
    assert done.returncode == 1
    assert "weights.safetensors: is no whole safetensors file" in done.stdout + done.stderr
    weights.unlink()
    copy.run()
    assert weights.read_bytes() == whole


def test_results_of_an_older_schema_are_refused_and_remade_by_the_command_that_is_named(copy, tiny):
    for path in copy.path("results", "runs").rglob("*.parquet"):
        times, table = path.stat(), pq.read_table(path)
        metadata = {**table.schema.metadata, b"schema_version": b"1"}
        del metadata[b"rows_sha256"]
        pq.write_table(table.replace_schema_metadata(metadata), path)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    copy.path("results", "runs.parquet").unlink()
    done = copy.run(check=False)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "schema version 1" in said
    assert "run.parquet" in said
    assert "--forcerun train" in said
    copy.run("--forcerun", "train")
    expected, found = numbers(tiny), numbers(copy)
    assert all(found[name].equals(expected[name]) for name in SCHEMAS)


def test_strays_and_removed_runs_are_listed_and_leave_the_report(copy):
    """A folder that somebody copied, and the runs of a temperature that was taken out."""
    runs = copy.path("results", "runs")
    removed = next(path.parent for path in runs.rglob("run.parquet") if "tau0.2" in str(path))
    stray = removed.with_name(f"{removed.name}-old")
    shutil.copytree(removed, stray)
    copy.configure(**TINY | {"temperatures": [1]})
    copy.run()
    log = copy.path("results", "logs", "collect.log").read_text()
    assert [str(path.relative_to(copy.folder)) in log for path in (removed, stray)] == [True, True]
    assert (removed / "run.parquet").exists()
    assert read_table(copy.path("results", "runs.parquet"), "runs")["temperature"].to_pylist() == [1.0]
    for table in copy.path("results", "report", "tables").glob("*.csv"):
        rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
        assert {row["temperature"] for row in rows if "temperature" in row} <= {"1", "1.0"}, table


def test_a_removed_data_folder_is_made_again(copy, tiny):
    shutil.rmtree(copy.path("data"))
    shutil.rmtree(copy.path("results", "runs"))
    for name in SCHEMAS:
        copy.path("results", f"{name}.parquet").unlink()
    copy.run()
    expected, found = numbers(tiny), numbers(copy)
    assert all(found[name].equals(expected[name]) for name in SCHEMAS)


def test_spaces_apostrophes_and_other_scripts_in_the_path(tmp_path):
    """In the folder of work, and in those of data and results, which stand in the commands of jobs."""
    workflow = Workflow(tmp_path / "it's a «данные» 数据 $HOME")
    workflow.folder.mkdir()
    folders = {"results_folder": "who's results; $(touch evil) 数据", "data_folder": "a «data» folder's"}
    workflow.configure(**TINY | folders | {"temperatures": [1], "title": "<b>Ωμέγα</b> & $x"})
    workflow.run()
    page = workflow.path(folders["results_folder"], "report", "report.html").read_text(encoding="utf-8")
    assert "<b>Ωμέγα</b>" not in page
    assert "Ωμέγα" in page
    assert list(workflow.folder.rglob("evil")) == []
    assert sorted(path.name for path in workflow.folder.iterdir() if path.is_dir() and path.name != ".snakemake") == [
        folders["data_folder"], folders["results_folder"],
    ]  # fmt: skip


def test_a_home_that_cannot_be_written_no_display_and_a_private_umask(tmp_path):
    workflow = Workflow(tmp_path)
    workflow.configure(**TINY | {"temperatures": [1]})
    command = ["sh", "-c", 'umask 077 && exec "$@"', "sh", *workflow.command()]
    # Snakemake keeps a cache of its own, below HOME unless it is told another place.
    elsewhere = {"HOME": "/proc/1/nowhere", "XDG_CACHE_HOME": str(tmp_path / "cache"), "MPLBACKEND": "TkAgg"}
    environment = workflow_environment() | elsewhere
    environment.pop("DISPLAY", None)
    done = subprocess.run(command, cwd=workflow.folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert workflow.path("results", "runs.parquet").stat().st_mode & 0o077 == 0


def test_make_keeps_snakemakes_cache_where_it_can_be_written(tmp_path):
    """`make report` with a home that cannot be written; the workflow in its folder is one line."""
    (tmp_path / "Snakefile").write_text("rule all:\n    shell: 'true'\n")
    environment = workflow_environment() | {"HOME": "/proc/1/nowhere"}
    environment.pop("XDG_CACHE_HOME", None)
    command = ["make", "-f", str(ROOT / "Makefile"), "report", "READY=", "CORES=1"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / ".snakemake" / "cache" / "snakemake").is_dir()


def test_results_that_cannot_be_written_are_told(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        (disk / "results").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        workflow = Workflow(tmp_path)
        workflow.configure(**TINY | {"results_folder": str(disk / "results")})
        done = workflow.run(check=False)
        assert done.returncode == 1
        assert "Read-only file system" in done.stdout + done.stderr
        assert str(disk / "results") in done.stdout + done.stderr
        assert not workflow.path("data", "prepared").exists() or not list(workflow.folder.rglob("*.part"))


def test_a_second_snakemake_on_the_folder_is_told(tmp_path):
    workflow = Workflow(tmp_path)
    workflow.configure(**TINY | {"training": {"steps": 4000, "batch_size": 128}})
    first = subprocess.Popen(
        workflow.command(), cwd=workflow.folder, env=workflow_environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not list(workflow.folder.glob(".snakemake/locks/*")) and time.monotonic() < deadline:
            time.sleep(0.1)
        second = workflow.run(check=False)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    assert second.returncode == 1
    assert "locked" in (second.stdout + second.stderr).lower()


def test_a_full_disk_is_told_and_nothing_is_lost(tiny, tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        workflow = Workflow(tmp_path)
        workflow.configure(**TINY | {"results_folder": str(disk / "results")})
        done = workflow.run(check=False)
        assert done.returncode == 1
        said = done.stdout + done.stderr
        assert "weights.safetensors: cannot be written" in said
        assert "No space left on device" in said
        assert "Traceback" not in said
        parts = [path for path in disk.rglob("*") if path.is_file() and path.name.endswith(".part")]
        assert parts == []
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        workflow.run()
        found = without_provenance(read_table(disk / "results" / "runs.parquet", "runs"), "runs")
        assert found.equals(numbers(tiny)["runs"])


@contextlib.contextmanager
def small_disk(folder):
    """A disk that is too small for the weights of a run."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120k", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a small tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
