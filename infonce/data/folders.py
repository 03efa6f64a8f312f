"""Folders that are there as a whole or not at all, locks on them, and digests of files."""

import glob
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import SoftFileLease, Timeout

from infonce.errors import DataError

LEASE_SECONDS = 30.0


@contextmanager
def alone(lock_path: Path, lease_seconds: float = LEASE_SECONDS) -> Iterator[Callable[[], bool]]:
    """Hold a lock: a file that its holder keeps renewing, so it works on shared disks too.

    The lock of a job that died is taken over `lease_seconds` after its last sign of life. A job that was only suspended
    may find it gone: the function that is yielded tells whether the lock is still its own.
    """
    lock = SoftFileLease(lock_path, lease_duration=lease_seconds)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=2 * lease_seconds)
        except Timeout:
            # A full disk or a crash can leave an empty file, which names no holder that could have died.
            if lock_path.exists() and lock_path.stat().st_size == 0:
                lock_path.unlink(missing_ok=True)
    try:
        yield lambda: lock.is_locked and lock.compromise is None and lock.is_lock_held_by_us
    finally:
        lock.release()


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """A new folder beside `folder` that takes its place when the block ends well, and vanishes otherwise.

    Raises DataError, naming the folder, where it cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for kind in ("part", "old"):  # left by a job that was killed; whoever replaces a folder holds its lock
            for left in folder.parent.glob(f".{glob.escape(folder.name)}.????????.{kind}"):
                shutil.rmtree(left, ignore_errors=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error}") from error
    try:
        staging.chmod(0o755)
        yield staging
        _take_place(staging, folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _take_place(staging: Path, folder: Path) -> None:
    if not folder.is_dir() or not any(folder.iterdir()):
        staging.rename(folder)
        return
    retired = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".old", dir=folder.parent))
    folder.rename(retired / folder.name)
    staging.rename(folder)
    shutil.rmtree(retired, ignore_errors=True)


def file_digest(path: Path, algorithm: str) -> str:
    """Hexadecimal digest of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
