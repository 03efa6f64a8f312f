"""What a cluster needs besides Slurm: a folder that every node sees, and a network where data sets are fetched."""

import re
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from infonce.cluster.site import Site
from infonce.data.download import missing_members
from infonce.data.registry import dataset
from infonce.plan.workflow import Workflow

# What other nodes see as well.
SHARED = re.compile(r"nfs|lustre|gpfs|beegfs|ceph|gluster|panfs|wekafs|smb|cifs|afs|pvfs|orangefs|daos|vast")
PROBE_SECONDS = 300


@dataclass(frozen=True)
class Finding:
    """One line: what was tried, whether it is well, and what was seen or what to set."""

    name: str
    well: bool
    text: str


def file_system(site: Site, folder: Path, submit: bool) -> Finding:
    """Whether the nodes see the folder: by its type, or with `submit` by asking one of them."""
    name = "shared file system"
    if submit:
        return _probe(site, folder)
    kind = _kind(folder)
    if SHARED.search(kind):
        return Finding(name, True, f"{folder} is on {kind}")
    return Finding(
        name,
        False,
        f"{folder} is on {kind}, which other nodes may not see; --submit asks a node, or work on a shared disk",
    )


def _kind(folder: Path) -> str:
    """The type of the file system of a folder."""
    parts = [part for part in psutil.disk_partitions(all=True) if folder.resolve().is_relative_to(part.mountpoint)]
    return max(parts, key=lambda part: len(part.mountpoint)).fstype if parts else "an unknown file system"


def _probe(site: Site, folder: Path) -> Finding:
    """A job that looks for a file of ours and leaves one of its own."""
    name = "shared file system"
    ours, theirs = folder / ".infonce-here", folder / ".infonce-there"
    resources = site.resources("evaluate")
    where = [
        f"--{key}={resources[f'slurm_{key}']}" for key in ("account", "partition") if resources.get(f"slurm_{key}")
    ]
    ours.touch()
    command = f"test -e {ours.name} && hostname > {theirs.name}"
    probe = ["sbatch", "--wait", "--time=1", "--mem=100", "--output=/dev/null", f"--chdir={folder}", *where]
    try:
        subprocess.run([*probe, f"--wrap={command}"], capture_output=True, timeout=PROBE_SECONDS, check=False)
        if theirs.exists():
            return Finding(name, True, f"{folder} is seen on {theirs.read_text(encoding='utf-8').strip()}")
        return Finding(name, False, f"no job of yours could see {folder}; work on a shared disk")
    except subprocess.TimeoutExpired:
        return Finding(name, False, f"no node ran a job of one minute within {PROBE_SECONDS} s; try again later")
    finally:
        ours.unlink(missing_ok=True)
        theirs.unlink(missing_ok=True)


def downloads(workflow: Workflow, folder: Path) -> Iterator[Finding]:
    """Whether the raw files of every data set of the grid are here or can be fetched from here."""
    names = dict.fromkeys(run.dataset for run in workflow.runs.values())
    missing = [name for name in names if missing_members(dataset(name), folder / workflow.data / "raw" / name)]
    if not missing:
        yield Finding("downloads", True, "nothing is to be downloaded")
    for name in missing:
        address = workflow.config.downloads.mirrors.get(name) or dataset(name).files[0].addresses[0]
        reason = _unreachable(address)
        if reason is None:
            yield Finding(f"downloads of {name}", True, f"{address} can be reached from here")
        else:
            yield Finding(
                f"downloads of {name}",
                False,
                f"{address}: {reason}; run `infonce data fetch {name}` where there is a network and copy "
                f"{workflow.data}/raw, or name a mirror in downloads.mirrors",
            )


def _unreachable(address: str) -> str | None:
    """Why an address gives nothing, or None; a mirror may be a local folder."""
    if "://" not in address:
        return None if Path(address).is_dir() else "no such folder"
    try:
        request = urllib.request.Request(address, method="HEAD")
        with urllib.request.urlopen(request, timeout=20):
            return None
    except OSError as error:
        return str(getattr(error, "reason", error))
