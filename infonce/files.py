"""Writing files so that nothing is lost: a temporary name beside the target, fsync, rename; and times of files."""

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from infonce.errors import RecordError

CLOCKS_DIFFER = 60  # seconds at most between the clocks of two machines that share a disk


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path that takes the name `path` when the block ends well, and is removed when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files private; the umask decides as for any other file.
        temporary.chmod(0o666 & ~_umask())
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 under the name `path`, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write `value` as JSON under the name `path`, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def json_digest(value: Any) -> str:
    """SHA-256 over values, however their JSON is laid out in a file."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


@contextlib.contextmanager
def none_in_the_future(inputs: Iterable[Path]) -> Iterator[None]:
    """Files whose time lies in the future, because a clock was wrong, take the time of now: before the block and,
    for a clock that is set back while it runs, behind it.

    Snakemake would otherwise discard what a job made as older than its input. No file becomes newer than another that
    way, so nothing is made anew for it. Raises RecordError before the block where the time of a file cannot be changed
    and is later than clocks of machines differ.
    """
    inputs = list(inputs)
    if unchanged := _set_back(inputs):
        raise RecordError(
            f"{unchanged[0]}: its time lies in the future, and it cannot be changed: a clock was wrong. Results of "
            "this job would count as older than it; `touch` the file, or set the clock right"
        )
    yield
    _set_back(inputs)


def _set_back(paths: Iterable[Path]) -> list[Path]:
    """Give files of the future the time of now; returns those that refuse."""
    refused, now = [], time.time_ns()
    for path in paths:
        try:
            if path.stat().st_mtime_ns > now:
                os.utime(path, ns=(now, now))
        except FileNotFoundError:
            continue
        except OSError:
            if path.stat().st_mtime_ns > now + CLOCKS_DIFFER * 10**9:
                refused.append(path)
    return refused


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
