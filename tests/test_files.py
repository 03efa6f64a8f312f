import os
import stat
import subprocess
import time

import pytest

from infonce.errors import RecordError
from infonce.files import none_in_the_future, replacing, write_json, write_text


def test_a_file_appears_whole_under_its_name(tmp_path):
    path = tmp_path / "new" / "a.txt"
    write_text(path, "zażółć\n")
    assert path.read_text(encoding="utf-8") == "zażółć\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_the_umask_decides_who_may_read(tmp_path):
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "a.json", {"b": 1, "a": "ü"})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o640
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n "a": "ü",\n "b": 1\n}\n'


def test_times_of_the_future_become_now_before_and_behind_a_block(tmp_path):
    late, later, past, none = (tmp_path / name for name in ("late", "later", "past", "none"))
    for path, seconds in ((late, 3600), (later, 7200), (past, -3600)):
        path.touch()
        os.utime(path, (time.time() + seconds,) * 2)
    before = past.stat().st_mtime_ns
    with none_in_the_future([late, later, past, none]):
        assert late.stat().st_mtime_ns == later.stat().st_mtime_ns <= time.time_ns()
        os.utime(late, (time.time() + 3600,) * 2)
    assert late.stat().st_mtime_ns <= time.time_ns()
    assert past.stat().st_mtime_ns == before


@pytest.mark.parametrize(("seconds", "refused"), [(3600, True), (5, False)])
def test_a_time_of_the_future_that_cannot_be_changed_is_told_before_the_work(tmp_path, seconds, refused):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small tmpfs")
    try:
        (disk / "a").touch()
        os.utime(disk / "a", (time.time() + seconds,) * 2)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        worked = False
        try:
            with none_in_the_future([disk / "a"]):
                worked = True
        except RecordError as error:
            assert str(disk / "a") in str(error)
        assert worked is not refused
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)
