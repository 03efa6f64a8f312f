"""The tests' own cluster: what it listens on, and that nothing of it is left."""

import ipaddress

import psutil
import pytest

from tests.slurm import cluster as one_node

pytestmark = pytest.mark.slurm


def test_everything_listens_on_the_loopback_address_only(cluster):
    assert listening() == {"slurmctld", "slurmd"}


def listening() -> set[str]:
    """The daemons of the cluster that listen on the network, which must be on the loopback address."""
    daemons = {process.pid: process.name() for process in one_node.processes()}
    found = [
        (daemons[connection.pid], connection.laddr.ip)
        for connection in psutil.net_connections(kind="inet")
        if connection.pid in daemons and connection.status == psutil.CONN_LISTEN
    ]
    assert [pair for pair in found if not ipaddress.ip_address(pair[1]).is_loopback] == []
    return {name for name, _ in found}
