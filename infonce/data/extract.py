"""Unpacking of an archive: exactly the files that its manifest names, all of them or none.

What is written, where, and how much is decided by the manifest. An archive that holds a link, a device or a
path that leaves the folder is refused as a whole, even where the entry would not have been unpacked.
"""

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from infonce.data.sources import Member
from infonce.errors import DataError

_BLOCK = 1 << 20
_OTHER_BYTES, _ENTRIES = 64 << 20, 10_000


def unpack(
    archive: Path,
    members: tuple[Member, ...],
    folder: Path,
    work: Path | None = None,
    before_renaming: Callable[[dict[str, str]], None] = lambda digests: None,
) -> dict[str, str]:
    """Unpack `members` of a `.tar.gz` or a `.gz` below `folder`; returns the SHA-256 of each by its path.

    Every size and every published digest is checked before the first file gets its name; `before_renaming` is told the
    digests then. `work`, on the disk of `folder`, holds what is not whole yet. Raises DataError, naming the archive and
    the entry, and leaves `folder` as it was.
    """
    try:
        with _staging(work or folder) as staging:
            if archive.name.endswith(".tar.gz"):
                digests = _unpack_tar(archive, members, staging)
            else:
                digests = _unpack_gzip(archive, members, staging)
            if taken := [member.path for member in members if (folder / member.path).is_dir()]:
                raise DataError(f"{folder / taken[0]} is a folder where a file belongs; remove it and fetch again")
            before_renaming(digests)
            for member in members:
                target = folder / member.path
                target.parent.mkdir(parents=True, exist_ok=True)
                (staging / member.path).replace(target)
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{archive} cannot be unpacked, it is cut or no archive ({error}); fetch it again") from error
    except OSError as error:
        raise DataError(f"{archive} cannot be unpacked into {folder}: {error}") from error
    return digests


def _unpack_tar(archive: Path, members: tuple[Member, ...], staging: Path) -> dict[str, str]:
    wanted = {member.path: member for member in members}
    allowed = sum(member.size for member in members) + _OTHER_BYTES
    digests: dict[str, str] = {}
    with gzip.open(archive) as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
        for number, entry in enumerate(tar):
            path = _safe_path(archive, entry)
            allowed -= entry.size
            if allowed < 0 or number >= _ENTRIES:
                raise DataError(f"{archive} is refused: at {path!r} it unpacks to more than it should")
            if path not in wanted or entry.isdir():
                continue
            if path in digests:
                raise DataError(f"{archive} is refused: it holds {path!r} twice")
            content = tar.extractfile(entry)
            assert content is not None  # only regular files come here
            digests[path] = _write(archive, content, wanted[path], staging)
        # The checksum of the whole stands at the end of the stream, behind the padding.
        if len(packed.read(_OTHER_BYTES)) == _OTHER_BYTES:
            raise DataError(f"{archive} is refused: it unpacks to more than it should")
    if missing := wanted.keys() - digests.keys():
        raise DataError(f"{archive} lacks {', '.join(sorted(missing))}; it is not the archive it should be")
    return digests


def _unpack_gzip(archive: Path, members: tuple[Member, ...], staging: Path) -> dict[str, str]:
    (member,) = members
    with gzip.open(archive) as content:
        return {member.path: _write(archive, content, member, staging)}


def _safe_path(archive: Path, entry: tarfile.TarInfo) -> str:
    """The entry's path, normalised; DataError for anything but a regular file or folder inside the folder."""
    path = PurePosixPath(entry.name)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.name:
        raise DataError(f"{archive} is refused: its entry {entry.name!r} leaves the folder")
    if not (entry.isreg() or entry.isdir()):
        raise DataError(f"{archive} is refused: its entry {entry.name!r} is a link or a device")
    return str(path)


def _write(archive: Path, content: IO[bytes] | gzip.GzipFile, member: Member, staging: Path) -> str:
    """Write one member with as many bytes as it should have, and check its digest."""
    target = staging / member.path
    target.parent.mkdir(parents=True, exist_ok=True)
    sha256, size = hashlib.sha256(), 0
    algorithm, _, expected = (member.digest or "sha256:").partition(":")
    published = hashlib.new(algorithm, usedforsecurity=False)
    with target.open("xb") as file:
        while block := content.read(min(_BLOCK, member.size - size + 1)):
            size += len(block)
            if size > member.size:
                break
            file.write(block)
            sha256.update(block)
            published.update(block)
        file.flush()
        os.fsync(file.fileno())
    if size != member.size:
        found = f"more than {member.size}" if size > member.size else str(size)
        raise DataError(f"{archive}: {member.path} has {found} bytes, expected {member.size}; fetch it again")
    if expected and published.hexdigest() != expected:
        raise DataError(
            f"{archive}: {member.path} has {algorithm} {published.hexdigest()}, expected {expected}; fetch it again"
        )
    return sha256.hexdigest()


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    staging = Path(tempfile.mkdtemp(prefix=".unpack.", dir=folder))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
