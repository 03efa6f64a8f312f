import os
import stat

import pytest

from infonce.files import replacing, write_json, write_text


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
