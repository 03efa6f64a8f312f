"""Slurm's accounting for the tests' cluster: slurmdbd on the loopback address, a database behind a socket file."""

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator

from tests.slurm import cluster as one_node
from tests.slurm.cluster import FOLDER, MARK, SETTINGS

PROGRAMS = ("slurmdbd", "sacct", "sacctmgr", "mariadbd", "mariadb-install-db")
WITHOUT = "AccountingStorageType=accounting_storage/none\n"
WITH = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.socket
"""
SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=accounting
"""


def lacking() -> str | None:
    """Why no accounting can be started here, or None."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=one_node.search_path()) is None]
    return f"no {', '.join(missing)}: apt-get install slurmdbd mariadb-server" if missing else None


@contextlib.contextmanager
def accounting() -> Iterator[None]:
    """The cluster keeps accounts for the time of the block; no job may be in its queue at the edges."""
    settings = SETTINGS / "slurm.conf"
    before = settings.read_text()
    (port,) = one_node.free_ports(1)
    one_node.stop("slurmctld")
    try:
        _start_database()
        _start_slurmdbd(port)
        settings.write_text(before.replace(WITHOUT, WITH.format(port=port, folder=FOLDER)))
        one_node.wait_for("slurmdbd", lambda: "root" in one_node.output("sacctmgr", "--noheader", "list", "user"))
        one_node.run("sacctmgr", "--immediate", "add", "cluster", "infonce")
        one_node.start_controller()
        one_node.wait_for_idle_node()
        yield
    finally:
        one_node.stop("slurmctld")
        for daemon in ("slurmdbd", "mariadbd"):
            one_node.stop(daemon, signal.SIGKILL)  # nothing of theirs is kept
        settings.write_text(before)
        one_node.start_controller()
        one_node.wait_for_idle_node()


def _start_database() -> None:
    data = f"--datadir={FOLDER}/database"
    one_node.run("mariadb-install-db", "--no-defaults", "--user=root", data, "--skip-test-db", "--skip-log-bin")
    options = ["--no-defaults", "--user=root", data, "--skip-networking", f"--socket={FOLDER}/mariadb.socket"]
    files = [f"--pid-file={FOLDER}/mariadbd.pid", f"--log-error={FOLDER}/mariadbd.log"]
    with (FOLDER / "mariadbd.start").open("w") as log:
        subprocess.Popen(  # it does not go to the background by itself
            ["mariadbd", *options, *files],
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={"PATH": one_node.search_path()},
        )
    one_node.wait_for("the database", (FOLDER / "mariadb.socket").exists)


def _start_slurmdbd(port: int) -> None:
    path = SETTINGS / "slurmdbd.conf"
    path.touch(mode=0o600)
    path.write_text(MARK + SLURMDBD_CONF.format(port=port, folder=FOLDER))
    one_node.start("slurmdbd", MYSQL_UNIX_PORT=f"{FOLDER}/mariadb.socket")
