"""The preflight on a real cluster: well where it is, and what to set where it is not."""

import re

import pytest

from tests.slurm.conftest import change_profile

pytestmark = pytest.mark.slurm


@pytest.fixture
def checkout(clone):
    return clone("check", data=False)


def lines(checkout, *options: str, check: bool = True) -> dict[str, tuple[str, str]]:
    """Name of each finding → `well` or `WRONG`, and its text."""
    output = checkout.infonce("cluster", "check", "--configfile", "grid.yaml", *options, check=check)
    return {name: (verdict, text) for verdict, name, text in re.findall(r"^(well|WRONG) +(.*?): (.*)$", output, re.M)}


def test_all_is_well_on_a_cluster_that_has_what_the_grid_needs(checkout):
    found = lines(checkout, "--submit")
    assert {verdict for verdict, _ in found.values()} == {"well"}
    assert "accounting storage is disabled; not needed" in found["accounting"][1]
    assert "1 GPU, 1 core, 5500 MiB, 10 min: could start at" in found["request of train"][1]
    assert "is seen on" in found["shared file system"][1]
    assert not list(checkout.folder.glob(".infonce-*"))


def test_what_is_wrong_says_what_to_set(checkout):
    change_profile(checkout.folder, "slurm-status-command: squeue", "slurm-status-command: sacct")
    change_profile(checkout.folder, "  # evaluate: {slurm_partition: gpu}", "  evaluate: {slurm_partition: fast}")
    checkout.configure(resources={"train": {"gpus": 7}})
    found = lines(checkout, check=False)
    assert found["accounting"][0] == "WRONG"
    assert "set slurm-status-command: squeue in slurm/profile.yaml" in found["accounting"][1]
    assert found["partitions"] == (
        "WRONG",
        "fast of evaluate does not exist; set slurm_partition in slurm/profile.yaml. There are "
        "cpu (up to 1-00:00:00, gpu:h200:6), gpu (up to 1-00:00:00, gpu:h200:6).",
    )
    verdict, text = found["request of train"]
    assert verdict == "WRONG"
    assert "--gpus=7" in text and "resources.train" in text


def test_the_shared_file_system_is_judged_without_a_job(checkout):
    verdict, text = lines(checkout, check=False)["shared file system"]
    assert verdict == "WRONG"  # a temporary folder is on a local disk
    assert "--submit" in text
