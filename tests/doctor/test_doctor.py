"""Each illness that `infonce doctor` knows, brought about; it never ends in a traceback."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from infonce.doctor import examine, machine, places, software
from infonce.plan.grid import expand, load_config
from infonce.records.collect import FILES
from infonce.spec.source import read_config_files
from infonce.stages import prepare
from tests.records.rows import write_run

ROOT = Path(__file__).parents[2]
GRID = {"positives": ["augment"], "negatives": [4], "temperatures": [0.5, 1], "seeds": [7], "slices": []}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a grid of two runs, prepared and done, and the environment activated."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "config").mkdir()
    values = yaml.safe_load((ROOT / "config" / "config.yaml").read_text()) | GRID
    (tmp_path / "config" / "config.yaml").write_text(yaml.safe_dump(values))
    prepare.run("digits", "{}", tmp_path / "data" / "raw", next(iter(prepared(tmp_path))))
    for token, spec in runs(tmp_path).items():
        write_run(tmp_path / "results" / "runs" / token, spec)
    return tmp_path


def runs(place):
    return expand(load_config(read_config_files([place / "config" / "config.yaml"])))


def prepared(place):
    from infonce.data.registry import prepared_name

    for run in runs(place).values():
        yield place / "data" / "prepared" / prepared_name(run.dataset, run.dataset_options)


def findings(place, *more):
    return {finding.name: finding for finding in examine([place / "config" / "config.yaml", *more], place)}


def wrong(place, *more):
    return {name: finding.text for name, finding in findings(place, *more).items() if not finding.well}


def test_a_place_that_is_well(place):
    found = findings(place)
    assert wrong(place) == {}
    assert "torch" in found["versions"].text
    assert "torchvision" in found["versions"].text
    assert "prepared" in found["data of digits"].text
    assert "2 of 2 runs are done" in found["runs"].text
    assert "may be used" in found["cores"].text


def test_the_command_ends_with_1_where_something_is_wrong(place):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def command():
        return subprocess.run(
            [sys.executable, "-m", "infonce", "doctor"], cwd=place, env=environment, capture_output=True, text=True
        )

    began = time.monotonic()
    done = command()
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 30
    victim = next(place.rglob(FILES["terms"]))
    victim.write_bytes(victim.read_bytes()[:-9])
    (place / "config" / "config.yaml").write_text((place / "config" / "config.yaml").read_text() + "\nseedz: 1\n")
    done = command()
    assert done.returncode == 1
    assert "WRONG  configuration" in done.stdout
    assert "did you mean `seeds`" in done.stdout
    assert "1 of the lines above is wrong" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_configuration_at_all(tmp_path):
    assert "config.yaml" in wrong(tmp_path)["configuration"]


def test_a_cut_table_is_named(place):
    victim = next(place.rglob(FILES["terms"]))
    victim.write_bytes(victim.read_bytes()[:-9])
    assert str(victim) in wrong(place)["tables"]


def test_a_damaged_data_set_is_named(place):
    manifest = next(place.rglob("manifest.json"))
    manifest.write_text(manifest.read_text()[:-40])
    assert str(manifest) in wrong(place)["data of digits"]


def test_missing_data_and_room_for_it(place, tmp_path, monkeypatch):
    more = tmp_path / "more.yaml"
    more.write_text(yaml.safe_dump({"datasets": ["stl10"], "encoders": ["resnet18"], "tuples": [500]}))
    found = findings(place, more)
    assert "missing" in found["data of stl10"].text
    assert "infonce data fetch stl10" in found["data of stl10"].text
    assert found["data of stl10"].well
    assert found["disk"].well
    usage = shutil.disk_usage(place)
    monkeypatch.setattr(places.shutil, "disk_usage", lambda _: usage._replace(free=5_000_000_000))
    assert "make room" in wrong(place, more)["disk"]
    assert "disk" not in wrong(place)


def test_a_gpu_that_is_asked_for_and_not_there(place, tmp_path, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    more = tmp_path / "more.yaml"
    more.write_text(yaml.safe_dump({"training": {"device": "cuda"}}))
    assert "training.device is cuda" in wrong(place, more)["GPU"]
    more.write_text(yaml.safe_dump({"training": {"device": "cuda"}, "resources": {"train": {"gpus": 1}}}))
    assert "GPU" not in wrong(place, more)
    driver = tmp_path / "version"
    driver.touch()
    monkeypatch.setattr(machine, "NVIDIA", driver)
    assert "too old for CUDA" in wrong(place)["GPU"]


def test_a_lock_that_was_left(place):
    lock = place / ".snakemake" / "locks" / "0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert "cluster recover" in wrong(place)["lock"]


def test_places_that_cannot_be_written(place, monkeypatch):
    monkeypatch.setenv("HOME", "/proc/1")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    found = findings(place)
    assert "export XDG_CACHE_HOME=" in found["Snakemake's cache"].text
    assert not found["Snakemake's cache"].well
    assert found["HOME"].well
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    assert wrong(place) == {}


def test_the_way_out_of_a_folder_that_cannot_be_written_works(place, tmp_path_factory):
    (place / ".snakemake").write_text("a file, where no folder can be")
    text = wrong(place)["Snakemake's memory"]
    elsewhere = tmp_path_factory.mktemp("else where")
    command = text.split("`")[1].replace("FOLDER", shlex.quote(str(elsewhere)))
    done = subprocess.run(
        ["bash", "-c", f"{command} --dry-run"], cwd=place, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^train +2$", done.stdout + done.stderr, re.MULTILINE)
    assert (elsewhere / ".snakemake").is_dir()


def test_results_that_cannot_be_written(place):
    shutil.rmtree(place / "results")
    (place / "results").write_text("a file")
    assert "is no folder; name another in results_folder" in wrong(place)["results"]


def test_files_of_the_future_and_their_remedy(place):
    late = sorted(place.rglob("*.parquet"))
    for path in late:
        os.utime(path, (time.time() + 86400,) * 2)
    text = wrong(place)["clock"]
    assert f"{len(late)} files lie in the future" in text
    subprocess.run(["bash", "-c", text.split("`")[1]], check=True)
    assert "clock" not in wrong(place)
    assert len({path.stat().st_mtime for path in late}) == 1  # in one instant, so that none is newer than another


def test_versions_against_project_and_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(software, "CHECKOUT", tmp_path)
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nrequires-python = ">=4"\ndependencies = ["torch>=99", "numpy", "nosuchpackage"]\n')
    assert not next(software.python()).well
    (finding,) = software.versions()
    assert not finding.well
    assert ">=99 is needed" in finding.text
    assert "nosuchpackage is not installed" in finding.text
    project.write_text('[project]\ndependencies = ["numpy"]\n')
    (tmp_path / "requirements.lock").write_text("numpy==0.0.1 \\\n    --hash=sha256:0\n")
    (finding,) = software.versions()
    assert finding.well
    assert "the lock has 0.0.1" in finding.text


def test_another_python_on_the_path_is_told(tmp_path, monkeypatch):
    for name in ("python", "snakemake"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [finding.well for finding in software.commands()] == [False, False]
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert all("is not on PATH" in finding.text for finding in software.commands())


def test_a_check_that_stumbles_is_a_finding(place, monkeypatch):
    def broken(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr("infonce.doctor.examination.disk", broken)
    assert "could not be looked at (RuntimeError: boom)" in wrong(place)["disk"]


@pytest.mark.parametrize("missing", ["typer", "psutil"])
def test_without_the_environment_the_command_says_what_to_do(tmp_path, missing):
    (tmp_path / f"{missing}.py").write_text(f"raise ModuleNotFoundError('none', name='{missing}')\n")
    done = subprocess.run(
        [sys.executable, "-m", "infonce", "doctor"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"the package {missing} is not installed" in done.stderr
    assert "Traceback" not in done.stderr
