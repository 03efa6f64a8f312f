"""With Slurm's accounting on: what the preflight says."""

import pytest

from tests.slurm import accounting
from tests.slurm.conftest import change_profile
from tests.slurm.test_check import lines
from tests.slurm.test_cluster import listening

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module", autouse=True)
def _accounting(cluster):
    if reason := accounting.lacking():
        pytest.skip(f"no accounting here: {reason}")
    with accounting.accounting():
        yield


def test_everything_listens_on_the_loopback_address_only():
    assert listening() == {"slurmctld", "slurmd", "slurmdbd"}  # the database behind a socket file


def test_the_preflight_finds_it_and_prefers_squeue(clone):
    checkout = clone("accounting", data=False)
    assert lines(checkout, check=False)["accounting"] == ("well", "answers; not needed, jobs are followed by squeue")
    change_profile(checkout.folder, "slurm-status-command: squeue", "slurm-status-command: sacct")
    verdict, text = lines(checkout, check=False)["accounting"]
    assert verdict == "well"
    assert "a cancelled job counts as running for ever" in text
