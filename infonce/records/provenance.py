"""Where and how a number was made, taken in the process that makes it."""

import datetime
import functools
import json
import platform
import resource
import socket
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("numpy", "pandas", "pyarrow", "scipy", "scikit-learn", "snakemake", "torch", "torchvision")


def provenance() -> dict[str, Any]:
    """The provenance columns of the table `runs` that any stage can fill."""
    commit, dirty = git_state()
    return {
        "git_commit": commit,
        "git_dirty": dirty,
        "python_version": platform.python_version(),
        "torch_version": _version("torch"),
        "package_versions": json.dumps({name: _version(name) for name in _PACKAGES}, sort_keys=True),
        "host": socket.gethostname(),
        "peak_memory_mib": peak_memory_mib(),
        "finished_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


@functools.cache
def git_state() -> tuple[str | None, bool | None]:
    """The commit that the package's checkout stands at and whether files differ from it; (None, None) without git."""
    checkout = Path(__file__).resolve().parent
    try:
        commit = _git("rev-parse", "HEAD", folder=checkout)
        changed = _git("status", "--porcelain", "--untracked-files=no", folder=checkout)
    except (OSError, subprocess.SubprocessError):
        return None, None
    return commit, bool(changed)


def peak_memory_mib() -> float:
    """The largest resident memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if platform.system() == "Darwin" else 2**10)


def _git(*arguments: str, folder: Path) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout.strip()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
