"""From download to report on data sets in the true formats of CIFAR-10 and STL-10, served on loopback with faults.

The archives are small and made of real images, so the workflow runs from a copy of the checkout whose registry names
their sizes and digests in place of the official ones.
"""

import shutil
import subprocess
import threading

import pytest

from infonce.records.tables import read_table
from tests.data.archives import Fake, fake
from tests.data.server import FaultyServer, cut_at, page, status
from tests.workflow.conftest import ROOT, Workflow, workflow_environment

pytestmark = pytest.mark.workflow

GRID = {
    "datasets": ["cifar10"],
    "positives": ["augment", "class"],
    "negatives": [4],
    "temperatures": [0.5],
    "tuples": [30],
    "slices": [{"datasets": ["stl10"], "positives": ["augment"], "encoders": ["convnet"]}],
    "dataset_options": {"stl10": {"resize": 32}},
    "view_options": {"cifar10": {"recipe": "natural-1"}, "stl10": {"recipe": "natural-1"}},
    "training": {"steps": 4, "batch_size": 16, "history_points": 2},
}


@pytest.fixture
def server():
    made = FaultyServer()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def served(tmp_path, server) -> Workflow:
    """A workflow whose registry knows the small archives that the server has."""
    root = tmp_path / "checkout"
    for name in ("infonce", "workflow", "profiles"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "environment.yml"):
        shutil.copy(ROOT / name, root / name)
    registry = root / "infonce" / "data" / "registry.py"
    entries = [fake(name, server.base) for name in ("cifar10", "stl10")]
    registry.write_text(registry.read_text() + "".join(map(_registered, entries)))
    for entry in entries:
        server.files |= entry.archives
    folder = tmp_path / "work"
    folder.mkdir()
    workflow = Workflow(folder, root)
    workflow.configure(**GRID)
    return workflow


def _registered(entry: Fake) -> str:
    return (
        "\nfrom infonce.data.sources import Member, SourceFile  # noqa: E402"
        f"\nDATASETS[{entry.info.name!r}] = {entry.info!r}\n"
    )


def listing(folder):
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file()
    }


def inodes(folder):
    return {str(path.relative_to(folder)): path.stat().st_ino for path in folder.rglob("*") if path.is_file()}


def test_from_download_to_report_through_faults_and_then_without_a_network(served, server):
    cifar, stl = "cifar-10-binary.tar.gz", "stl10_binary.tar.gz"
    server.faults = {cifar: [status(503), status(503)], stl: [cut_at(0.5)]}
    served.run()
    runs = read_table(served.path("results", "runs.parquet"), "runs").to_pylist()
    assert {(row["dataset"], row["positives"], row["status"]) for row in runs} == {
        ("cifar10", "augment", "ok"),
        ("cifar10", "class", "ok"),
        ("stl10", "augment", "ok"),
    }
    stl_row = next(row for row in runs if row["dataset"] == "stl10")
    # Labelled and unlabelled images train, labelled ones alone are searched.
    assert (stl_row["training_images"], stl_row["held_out_images"], stl_row["pool_size"]) == (100, 30, 29)
    assert served.path("results", "report", "report.html").is_file()
    assert [name for name, _ in server.requests].count(cifar) == 3
    assert not list(served.folder.rglob("*.part")) and not list(served.folder.rglob(".download"))

    # A second grid on the same data, the server gone: nothing is fetched and nothing below the data is written.
    server.files.clear()
    asked, before = len(server.requests), listing(served.path("data"))
    shutil.rmtree(served.path("results"))
    shutil.rmtree(served.path(".snakemake"))
    served.run("encoders")
    assert len(server.requests) == asked
    assert listing(served.path("data")) == before


def test_a_page_in_place_of_an_archive_is_refused_and_the_rerun_completes(served, server):
    archive = "cifar-10-binary.tar.gz"
    served.configure(**GRID | {"slices": []})
    server.faults = {archive: [page] * 3}
    done = served.run("data", check=False)
    assert done.returncode == 1
    log = served.path("results", "logs", "download", "cifar10.log").read_text()
    assert f"{server.base}/{archive}" in log
    assert "infonce data fetch cifar10" in log
    assert "Traceback" not in log
    assert not served.path("results", "data", "cifar10.json").exists()
    raw = served.path("data", "raw", "cifar10")
    assert not list(raw.rglob("*.bin"))

    server.faults = {}
    served.run("data")
    assert len(list(raw.rglob("*.bin"))) == 6


def test_a_workflow_that_prepares_after_another_leaves_its_data_in_place(served, server):
    """It was planned before the other had prepared them, so its own job still comes."""
    other = Workflow(served.folder.parent / "later", served.root)
    other.folder.mkdir()
    data = served.path("shared")
    for workflow in (served, other):
        workflow.configure(**GRID | {"slices": [], "data_folder": str(data)})
    served.run("data")
    before = inodes(data / "prepared")
    done = other.run("data", "--forcerun", "prepare")
    assert "rule prepare" in done.stderr
    assert inodes(data / "prepared") == before  # Snakemake touches the manifest; nothing is written or removed


def test_two_workflows_that_start_cold_download_once(served, server):
    served.configure(**GRID | {"slices": []})
    data = served.path("shared")
    other = Workflow(served.folder.parent / "other", served.root)
    other.folder.mkdir()
    for workflow in (served, other):
        workflow.configure(**GRID | {"slices": [], "data_folder": str(data)})
    started = [
        subprocess.Popen(w.command("data"), cwd=w.folder, env=workflow_environment(), stderr=subprocess.PIPE, text=True)
        for w in (served, other)
    ]
    for process in started:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    assert [name for name, _ in server.requests] == ["cifar-10-binary.tar.gz"]
