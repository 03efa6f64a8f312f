"""Getting the raw files of a data set: at most one download, however many jobs start with an empty folder.

    data/raw/<name>/            the unpacked files, at the paths that the registry names
    data/raw/<name>/files.json  their digests, as they were when they were unpacked
    data/raw/<name>/.download/  what is not whole yet

A complete folder is used as it is: nothing is written and no address is asked.
"""

import contextlib
import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from infonce.data.extract import unpack
from infonce.data.folders import LEASE_SECONDS, alone, file_digest
from infonce.data.registry import DatasetInfo, dataset
from infonce.data.sources import Member, SourceFile
from infonce.data.transfer import TransferError, download, wrong_digest
from infonce.errors import DataError
from infonce.files import write_json

RECORD = "files.json"
_WORK = ".download"


def fetch(
    name: str,
    raw: Path,
    mirror: str | None = None,
    retries: int = 4,
    progress: bool = True,
    lease_seconds: float = LEASE_SECONDS,
) -> Path:
    """Make sure that all raw files of a data set lie in `raw/<name>`, and return that folder.

    `mirror` is an address or a local folder that holds the archives under their own names; it is tried
    before the official addresses. An archive that was put into `raw/<name>` by hand is used before anything
    is asked. Digests are checked before anything is unpacked. Jobs that come while another one fetches wait
    for it; the lock of a job that died is taken over `lease_seconds` after its last sign of life.

    Raises DataError that names each address with its cause, and says which file to put where by hand.
    """
    info, folder = dataset(name), Path(raw) / name
    lock = folder / f"{_WORK}.lock"
    while missing_members(info, folder):
        try:
            (folder / _WORK).mkdir(parents=True, exist_ok=True)
            with alone(lock, lease_seconds) as still_mine:
                _fetch_missing(info, folder, mirror, retries, progress, still_mine)
        except _LockLostError:
            continue  # this job was suspended for so long that another one went on: wait for that one
        except OSError as error:
            if missing_members(info, folder):
                raise DataError(f"{folder} cannot be written ({error}). {by_hand(info, folder)}") from error
    if (folder / _WORK).exists():
        with contextlib.suppress(OSError), alone(lock, lease_seconds):
            shutil.rmtree(folder / _WORK, ignore_errors=True)
    return folder


class _LockLostError(Exception):
    """Another job has taken over the lock, and must not find its files removed."""


def missing_members(info: DatasetInfo, folder: Path) -> list[Member]:
    """The unpacked files that are not there, or not in their full size."""
    members = [member for source in info.files for member in source.members]
    return [member for member in members if not _has_size(folder / member.path, member.size)]


def require_complete(name: str, raw: Path) -> Path:
    """The folder of a complete data set; DataError that says what to fetch and where to put it, if it is not."""
    info, folder = dataset(name), Path(raw) / name
    if missing_members(info, folder):
        raise DataError(by_hand(info, folder))
    return folder


def by_hand(info: DatasetInfo, folder: Path) -> str:
    """What is missing, and how to get it with and without a network."""
    missing = missing_members(info, folder)
    lines = [f"{folder} is incomplete:"]
    for member in missing:
        path = folder / member.path
        found = f"{path.stat().st_size} bytes" if path.is_file() else "missing"
        lines.append(f"  {member.path}: {found}, expected {member.size} bytes")
    lines.append(f"Where there is a network, run: {_fetching(info.name, folder.parent)}")
    lines.append(f"Or put into {folder} by hand:")
    for source in info.files:
        if set(source.members) & set(missing):
            lines.append(f"  {source.name} ({source.size} bytes, {source.digest}) from {source.addresses[0]}")
    return "\n".join(lines)


def verify(name: str, raw: Path) -> list[str]:
    """Read every byte of a complete data set; a line for each file that says how it was checked.

    Raises DataError where a digest differs from the published one, or from the one recorded at unpacking.
    """
    info, folder = dataset(name), require_complete(name, raw)
    recorded = _read_record(folder)
    lines, wrong = [], []
    for member in (member for source in info.files for member in source.members):
        known = member.digest or (f"sha256:{recorded[member.path]}" if member.path in recorded else None)
        if known is None:
            lines.append(f"{member.path}: {member.size} bytes as expected; no digest is known")
            continue
        algorithm, _, expected = known.partition(":")
        found = file_digest(folder / member.path, algorithm)
        if found != expected:
            wrong.append(f"{folder / member.path}: {algorithm} is {found}, expected {expected}")
        lines.append(f"{member.path}: {algorithm} as {'published' if member.digest else 'when unpacked'}")
    if wrong:
        raise DataError("\n".join([*wrong, f"Delete the named files and run: {_fetching(name, raw)}"]))
    return lines


def _fetching(name: str, raw: Path) -> str:
    return f"infonce data fetch {name} --raw {shlex.quote(str(raw))}"


def _fetch_missing(
    info: DatasetInfo,
    folder: Path,
    mirror: str | None,
    retries: int,
    progress: bool,
    still_mine: Callable[[], bool],
) -> None:
    """Fetch and unpack; raises _LockLostError before anything is renamed or removed that may be another job's."""

    def keep(digests: dict[str, str]) -> None:
        if not still_mine():
            raise _LockLostError
        write_json(folder / RECORD, _read_record(folder) | digests)

    for source in info.files:
        missing = missing_members(info, folder)
        if not set(source.members) & set(missing):
            continue
        archive = _by_hand_or_mirror(source, folder, mirror) or _downloaded(
            info, source, folder, mirror, retries, progress
        )
        if not still_mine():
            raise _LockLostError
        unpack(archive, source.members, folder, folder / _WORK, keep)
        (folder / _WORK / source.name).unlink(missing_ok=True)


def _by_hand_or_mirror(source: SourceFile, folder: Path, mirror: str | None) -> Path | None:
    """An archive that is on this machine already, if its bytes are right; DataError if they are not."""
    places = [folder / source.name]
    if mirror is not None and not _is_address(mirror):
        places.append(Path(mirror).expanduser() / source.name)
    for place in places:
        if not place.is_file():
            continue
        # A single packed file may have been packed anew, as distributions do: its content has a digest of its own.
        if source.name.endswith(".tar.gz") or source.members[0].digest is None:
            size = place.stat().st_size
            wrong = f"has {size} bytes, expected {source.size}" if size != source.size else None
            if wrong := wrong or wrong_digest(source, place):
                raise DataError(f"{place} is not the file it should be ({wrong}); delete it or replace it")
        return place
    return None


def _downloaded(
    info: DatasetInfo, source: SourceFile, folder: Path, mirror: str | None, retries: int, progress: bool
) -> Path:
    part = folder / _WORK / source.name
    causes = []
    if mirror is not None and not _is_address(mirror):
        causes.append(f"{Path(mirror) / source.name}: no such file")
    first = [f"{mirror.rstrip('/')}/{source.name}"] if mirror is not None and _is_address(mirror) else []
    for address in (*first, *source.addresses):
        try:
            download(source, address, part, retries, progress)
            return part
        except TransferError as error:
            causes.append(f"{_without_password(address)}: {error}")
    raise DataError("\n".join([f"{source.name} cannot be had:", *causes, by_hand(info, folder)]))


def _read_record(folder: Path) -> dict[str, str]:
    try:
        known = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(known, dict):
        return {}
    return {path: digest for path, digest in known.items() if isinstance(digest, str)}


def _without_password(address: str) -> str:
    """As it may stand in a message or a log: without the user and password that a mirror's address may carry."""
    scheme, separator, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def _is_address(mirror: str) -> bool:
    return mirror.startswith(("http://", "https://"))


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size
