"""The preflight where there is no cluster, and its reading of the profile; tests/slurm has the real one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from infonce.cluster.check import check
from infonce.cluster.site import read_site, read_workflow, requests, sbatch_options
from infonce.cluster.surroundings import downloads
from infonce.errors import ConfigError
from tests.workflow.conftest import SMALL, workflow_environment

ROOT = Path(__file__).parents[2]
DEFAULT = ROOT / "config" / "config.yaml"


@pytest.fixture
def site():
    return read_site(ROOT / "slurm")


def grid(tmp_path, **values):
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump({"slices": [], **values}))
    return [DEFAULT, path]


def test_without_slurm_every_line_says_what_to_do(site, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {finding.name: finding for finding in check(site, read_workflow(site, [DEFAULT]), tmp_path, submit=False)}
    assert not found["sbatch"].well
    assert "log in to a node of the cluster where jobs are submitted" in found["sbatch"].text
    assert not found["request of train"].well
    assert found["downloads"].well


def test_a_mirror_that_is_not_there_is_named(site, tmp_path):
    files = grid(
        tmp_path, datasets=["cifar10"], tuples=[64], downloads={"mirrors": {"cifar10": str(tmp_path / "none")}}
    )
    (finding,) = downloads(read_workflow(site, files), tmp_path)
    assert not finding.well
    assert "infonce data fetch cifar10" in finding.text
    (tmp_path / "none").mkdir()
    (finding,) = downloads(read_workflow(site, files), tmp_path)
    assert finding.well


def test_the_request_is_the_largest_of_any_run(site, tmp_path):
    long = {"training": {"steps": 10_000}}
    small, large = (
        {request.stage: request for request in requests(read_workflow(site, grid(tmp_path, **values)))}
        for values in ({"encoders": ["mlp"], **long}, {"encoders": ["mlp", "convnet"], **long})
    )
    assert large["train"].minutes > small["train"].minutes


@pytest.mark.parametrize(
    ("resources", "option"),
    [
        ({"gpu_request": "gpu"}, "--gpus=2"),
        ({"gpu_request": "gpu_model", "gpu_model": "h200"}, "--gpus=h200:2"),
        ({"gpu_request": "gres"}, "--gres=gpu:2"),
        ({"gpu_request": "gres", "gpu_model": "h200"}, "--gres=gpu:h200:2"),
    ],
)
def test_options_of_each_form(site, tmp_path, resources, option):
    site = type(site)(site.path, None, {"slurm_account": "mine"}, {"train": {"slurm_partition": "gpu"}}, {})
    workflow = read_workflow(site, grid(tmp_path, resources={"train": {"gpus": 2}, **resources}))
    train, evaluate = requests(workflow)
    assert sbatch_options(train, site)[-3:] == ["--account=mine", "--partition=gpu", option]
    assert sbatch_options(evaluate, site)[-1] == "--account=mine"


MODEL = {"train": {"gpus": 1}, "gpu_request": "gpu_model", "gpu_model": "h200"}


def test_a_gpu_model_of_a_configuration_file_is_asked_for_under_the_profile(site, tmp_path):
    train, _ = requests(read_workflow(site, grid(tmp_path, resources=MODEL)))
    assert train.gpus == {"gpu": 1, "gpu_model": "h200"}


def test_snakemake_with_the_profile_asks_for_the_gpu_model_of_a_configuration_file(tmp_path):
    values = SMALL | {"positives": ["augment"], "negatives": [4], "temperatures": [1], "resources": MODEL}
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(values))
    command = [sys.executable, "-m", "snakemake", "--profile", str(ROOT / "slurm"), "--dry-run"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(tmp_path), "--configfile", "grid.yaml"]
    done = subprocess.run(
        command, cwd=tmp_path, env=workflow_environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (asked,) = re.findall(r"^rule train:$.*?resources: (.*?)$", done.stdout + done.stderr, re.M | re.S)
    assert "gpu=1, gpu_model=h200" in asked


def test_what_the_profile_says_lies_over_the_configuration_files(site, tmp_path):
    site = type(site)(site.path, None, {}, {}, {"resources": {"gpu_request": "gres"}})
    train, _ = requests(read_workflow(site, grid(tmp_path, resources=MODEL)))
    assert train.gpus == {"gres": "gpu:h200:1"}


def test_further_options_are_tried_too(site, tmp_path):
    train, _ = requests(read_workflow(site, grid(tmp_path)))
    assert sbatch_options(train, site)[-1] == "--signal=URG@120"
    site = type(site)(site.path, None, {"slurm_extra": "'--signal=URG@120 --nice=5'"}, {}, {})
    assert sbatch_options(train, site)[-2:] == ["--signal=URG@120", "--nice=5"]


def test_a_profile_of_another_executor_is_refused(tmp_path):
    (tmp_path / "profile.yaml").write_text("executor: local\n")
    with pytest.raises(ConfigError, match="this check is for executor: slurm"):
        read_site(tmp_path)
