"""A real one-node Slurm cluster for the tests: started and stopped by this file, without systemd.

`python tests/slurm/cluster.py up` starts it for work by hand, `down` stops it. Everything listens on the loopback
address only. GPUs are pretended by device nodes: Slurm counts, grants and shows them, nothing computes on them.
"""

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import filelock
import psutil

FOLDER = Path("/run/infonce-test-cluster")
# The inner `srun` of a job reads its settings from the standard place only.
SETTINGS = Path("/etc/slurm")
MARK = "# written by the tests of infonce; removed when their cluster stops\n"
CPUS = 8  # more than the machine may have: jobs of the tests wait more than they compute
GPUS = 6
MEMORY_MIB = 64_000  # more than the machine has; nothing enforces it

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "munged", "mungekey")
DAEMONS = ("slurmd", "slurmctld", "slurmdbd", "mariadbd", "munged")  # in the order in which they stop

SLURM_CONF = """\
ClusterName=infonce
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=30
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/node
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=2,bf_interval=2,sched_min_interval=0,batch_sched_delay=0
EnforcePartLimits=ALL
GresTypes=gpu
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=20
MinJobAge=3600
MpiDefault=none
MailProg=/bin/true
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:h200:{gpus} Feature=h200,avx512
PartitionName=cpu Nodes=localhost Default=YES MaxTime=1-0 State=UP
PartitionName=gpu Nodes=localhost MaxTime=1-0 State=UP
"""


def lacking() -> str | None:
    """Why no cluster can be started here, or None."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=search_path()) is None]
    if missing:
        return f"no {', '.join(missing)}: apt-get install slurmctld slurmd slurm-client munge"
    if os.geteuid() != 0:
        return "only root can start a Slurm cluster without systemd"
    if (SETTINGS / "slurm.conf").exists() and not _ours():
        return f"{SETTINGS}/slurm.conf belongs to another cluster"
    return None


@contextlib.contextmanager
def cluster() -> Iterator[None]:
    """The cluster, for the time of the block; one at a time on a machine."""
    with filelock.FileLock(Path(tempfile.gettempdir()) / "infonce-test-cluster.lock", timeout=900):
        down()
        try:
            up()
            yield
        finally:
            down()


def up() -> None:
    """Start the daemons and wait until the node is idle."""
    FOLDER.mkdir(mode=0o755)
    for name in ("controller", "node"):
        (FOLDER / name).mkdir()
    for number in range(GPUS):
        os.mknod(FOLDER / f"gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    _write_settings()
    run("mungekey", "--create", f"--keyfile={FOLDER}/munge.key")
    start_munged()
    start_controller()
    start_node()


def down() -> None:
    """End every job and daemon, and remove all that `up` made. Does nothing where nothing is left."""
    if not FOLDER.exists():
        return
    if _pid("slurmctld"):
        subprocess.run(["timeout", "10", "scancel", "--user=root"], capture_output=True, check=False)
        with contextlib.suppress(TimeoutError):
            wait_for("jobs to end", lambda: not output("squeue", "--noheader"), seconds=15)
    for daemon in DAEMONS:
        stop(daemon)
    for process in _stray_steps():
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    for file in ("slurm.conf", "gres.conf", "slurmdbd.conf"):
        if _ours(file):
            (SETTINGS / file).unlink()
    shutil.rmtree(FOLDER)


def start_munged() -> None:
    """Start the daemon that signs messages; it listens on a socket file only."""
    files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{option}={FOLDER}/{_munge_file(name)}" for option, name in files.items()]
    start("munged", "--force", *options)
    wait_for("munge's socket", (FOLDER / "munge.socket").exists)


def start_controller() -> None:
    """Start the controller, or start it again with the jobs that it knew."""
    start("slurmctld")
    wait_for("the controller", lambda: "UP" in output("scontrol", "ping"))


def start_node() -> None:
    """Start the node's daemon; a node that failed takes jobs again."""
    start("slurmd", "-N", "localhost")
    if _state().startswith("down"):  # it may come back by itself meanwhile
        output("scontrol", "update", "nodename=localhost", "state=resume")
    wait_for_idle_node()


def wait_for_idle_node() -> None:
    """Wait until the controller knows that the node takes jobs."""
    wait_for("the node to be idle", lambda: _state() == "idle")


def fail_node(spared: Path) -> None:
    """Let the node be lost without a word. Programs that work in a folder live on, out of Slurm's sight."""
    left = [psutil.Process(pid) for pid in [_pid("slurmd")] if pid] + _stray_steps()
    for process in left:
        with contextlib.suppress(psutil.Error):
            if process.name() in ("slurmd", "slurmstepd") or Path(process.cwd()) != spared:
                process.kill()
    run("scontrol", "update", "nodename=localhost", "state=down", "reason=test")


def stop(daemon: str, number: signal.Signals = signal.SIGTERM) -> None:
    """Stop one daemon and wait until it is gone."""
    pid = _pid(daemon)
    if pid is None:
        return
    process = psutil.Process(pid)
    process.send_signal(number)
    try:
        process.wait(timeout=10)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(timeout=10)


def processes() -> list[psutil.Process]:
    """The daemons that run and every process of their jobs."""
    daemons = [psutil.Process(pid) for pid in map(_pid, DAEMONS) if pid]
    return daemons + _stray_steps()


def _write_settings() -> None:
    ports = free_ports(2)
    slurm = SLURM_CONF.format(
        folder=FOLDER, controller_port=ports[0], node_port=ports[1], cpus=CPUS, memory=MEMORY_MIB, gpus=GPUS
    )
    gres = [f"NodeName=localhost Name=gpu Type=h200 File={FOLDER}/gpu{number}\n" for number in range(GPUS)]
    SETTINGS.mkdir(exist_ok=True)
    (SETTINGS / "slurm.conf").write_text(MARK + slurm)
    (SETTINGS / "gres.conf").write_text(MARK + "AutoDetect=off\n" + "".join(gres))


def _ours(file: str = "slurm.conf") -> bool:
    path = SETTINGS / file
    return path.exists() and path.read_text().startswith(MARK)


def _munge_file(name: str) -> str:
    return "munged.pid" if name == "pid" else f"munge.{name}"


def start(name: str, *options: str, **environment: str) -> None:
    """Start a daemon in a session of its own; it goes to the background when it is ready."""
    with (FOLDER / f"{name}.start").open("w") as log:
        result = subprocess.run(
            ["timeout", "20", "setsid", name, *options],
            stdout=log,
            stderr=log,
            env={**os.environ, "PATH": search_path(), **environment},
        )
    if result.returncode:
        raise RuntimeError(f"{name} did not start:\n{(FOLDER / f'{name}.start').read_text()}")
    wait_for(f"the process of {name}", lambda: _pid(name) is not None)


def _pid(name: str) -> int | None:
    """The process of a daemon, if it is the one that its file names and runs."""
    try:
        pid = int((FOLDER / f"{name}.pid").read_text())
        return pid if psutil.Process(pid).name() == name else None
    except (OSError, ValueError, psutil.NoSuchProcess):
        return None


def _stray_steps() -> list[psutil.Process]:
    """Processes of jobs: a step can outlive its daemon."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            in_job = process.environ().get("SLURM_CLUSTER_NAME") == "infonce" and process.pid != os.getpid()
            if in_job or process.name() == "slurmstepd":
                found.append(process)
    return found


def _state() -> str:
    return output("sinfo", "--noheader", "--format=%t", "--partition=cpu").strip()


def output(*command: str) -> str:
    """What a command of Slurm prints, if anything."""
    result = subprocess.run(["timeout", "10", *command], capture_output=True, text=True, check=False)
    return result.stdout


def run(*command: str) -> None:
    """A command of Slurm or munge, which must succeed."""
    subprocess.run(["timeout", "20", *command], check=True, env={**os.environ, "PATH": search_path()})


def search_path() -> str:
    """The search path with the folders of daemons, which a user's path may lack."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def free_ports(count: int) -> list[int]:
    """Ports on which nothing listens now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def wait_for(what: str, condition, seconds: float = 30) -> None:
    """Wait until a condition holds; TimeoutError with the daemons' logs if it does not."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            logs = "\n".join(path.read_text()[-2000:] for path in FOLDER.glob("*.log"))
            raise TimeoutError(f"waited {seconds} s for {what}\n{logs}")
        time.sleep(0.1)


if __name__ == "__main__":
    if sys.argv[1:] == ["up"]:
        if reason := lacking():
            sys.exit(reason)
        up()
        print("The cluster runs; stop it with `down`.")
    elif sys.argv[1:] == ["down"]:
        down()
    else:
        sys.exit("usage: cluster.py up|down")
