import gzip
import io
import resource
import tarfile

import pytest

from infonce.data.extract import unpack
from infonce.data.sources import Member
from infonce.errors import DataError
from tests.data.archives import tar_gz

MEMBERS = (Member("box/a.bin", 3), Member("box/b.bin", 5))
ENTRIES = {"box/a.bin": b"abc", "box/b.bin": b"12345", "box/readme.txt": b"not asked for"}


def entry(name, kind=tarfile.REGTYPE, target="", size=0):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size
    return info


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "data"
    made.mkdir()
    return made


def archive(tmp_path, content):
    path = tmp_path / "box.tar.gz"
    path.write_bytes(content)
    return path


def everything(tmp_path):
    return sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))


def test_the_named_files_are_unpacked_and_no_others(tmp_path, folder):
    digests = unpack(archive(tmp_path, tar_gz(ENTRIES)), MEMBERS, folder)
    assert everything(folder) == ["box", "box/a.bin", "box/b.bin"]
    assert (folder / "box/b.bin").read_bytes() == b"12345"
    assert digests["box/a.bin"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_paths_that_begin_with_a_dot_are_the_same_paths(tmp_path, folder):
    unpack(archive(tmp_path, tar_gz({f"./{path}": data for path, data in ENTRIES.items()})), MEMBERS, folder)
    assert everything(folder) == ["box", "box/a.bin", "box/b.bin"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (entry("../evil", size=4), "'../evil' leaves the folder"),
        (entry("box/../../evil", size=4), "leaves the folder"),
        (entry("/tmp/evil", size=4), "'/tmp/evil' leaves the folder"),
        (entry("box\\..\\evil", size=4), "leaves the folder"),
        (entry("box/link", tarfile.SYMTYPE, "/etc/passwd"), "'box/link' is a link or a device"),
        (entry("box/link", tarfile.SYMTYPE, "a.bin"), "is a link or a device"),
        (entry("box", tarfile.SYMTYPE, "/tmp"), "is a link or a device"),
        (entry("box/hard", tarfile.LNKTYPE, "../../evil"), "is a link or a device"),
        (entry("box/hard", tarfile.LNKTYPE, "box/a.bin"), "is a link or a device"),
        (entry("box/device", tarfile.CHRTYPE), "is a link or a device"),
        (entry("box/block", tarfile.BLKTYPE), "is a link or a device"),
        (entry("box/pipe", tarfile.FIFOTYPE), "is a link or a device"),
        (entry("box/a.bin", size=3), "holds 'box/a.bin' twice"),
        (entry("box/large", size=65 << 20), "unpacks to more than it should"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_archives_with_anything_unsafe_are_refused_as_a_whole(tmp_path, folder, extra, message, first):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for info in [extra] if first else []:
            tar.addfile(info, io.BytesIO(b"x" * info.size))
        for path, content in ENTRIES.items():
            info = entry(path, size=len(content))
            tar.addfile(info, io.BytesIO(content))
        for info in [] if first else [extra]:
            tar.addfile(info, io.BytesIO(b"x" * info.size))
    path = archive(tmp_path, buffer.getvalue())
    before = everything(tmp_path)
    with pytest.raises(DataError, match="twice" if "twice" in message else message) as refusal:
        unpack(path, MEMBERS, folder)
    assert str(path) in str(refusal.value)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (tar_gz({"box/a.bin": b"abc"}), "lacks box/b.bin"),
        (tar_gz(ENTRIES | {"box/a.bin": b"ab"}), "box/a.bin has 2 bytes, expected 3"),
        (tar_gz(ENTRIES | {"box/a.bin": b"abcd"}), "box/a.bin has more than 3 bytes, expected 3"),
        (tar_gz(ENTRIES)[:-30], "is cut or no archive"),
        (tar_gz(ENTRIES)[:-8] + bytes(8), "is cut or no archive"),
        (tar_gz(ENTRIES)[:40], "is cut or no archive"),
        (b"<html>Please sign in</html>", "is cut or no archive"),
        (b"", "is cut or no archive"),
        (gzip.compress(b"no tar at all" * 100), "is cut or no archive"),
    ],
    # Not the bytes: a packed file holds the second it was made in, and workers must collect the same names.
    ids=["a file less", "too short", "too long", "cut", "wrong checksum", "begun", "a page", "empty", "no tar"],
)
def test_wrong_or_broken_archives_leave_nothing(tmp_path, folder, content, message):
    path = archive(tmp_path, content)
    with pytest.raises(DataError, match=message):
        unpack(path, MEMBERS, folder)
    assert everything(folder) == []


def test_a_published_digest_of_a_member_is_checked(tmp_path, folder):
    path = archive(tmp_path, tar_gz(ENTRIES))
    md5 = "900150983cd24fb0d6963f7d28e17f72"
    unpack(path, (Member("box/a.bin", 3, f"md5:{md5}"),), folder)
    with pytest.raises(DataError, match=rf"box/a.bin has md5 {md5}, expected 0+1"):
        unpack(path, (MEMBERS[1], Member("box/a.bin", 3, f"md5:{1:032}")), folder)
    assert everything(folder) == ["box", "box/a.bin"]


def test_a_bomb_in_a_packed_file_stops_at_the_size_of_the_manifest(tmp_path, folder):
    path = tmp_path / "labels.gz"
    path.write_bytes(gzip.compress(bytes(50 << 20), compresslevel=1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))  # writing on would be another error
    try:
        with pytest.raises(DataError, match="labels has more than 1000 bytes"):
            unpack(path, (Member("labels", 1000),), folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert everything(folder) == []


def test_files_of_an_earlier_half_unpacking_are_replaced(tmp_path, folder):
    (folder / "box").mkdir()
    (folder / "box/a.bin").write_bytes(b"a")
    (folder / "box/notes.txt").write_bytes(b"mine")
    unpack(archive(tmp_path, tar_gz(ENTRIES)), MEMBERS, folder)
    assert (folder / "box/a.bin").read_bytes() == b"abc"
    assert (folder / "box/notes.txt").read_bytes() == b"mine"
    assert [path.name for path in folder.iterdir()] == ["box"]
