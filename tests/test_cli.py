import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("options", "cause"), [("size=4k", "No space left on device"), ("ro", "Read-only file system")]
)
def test_a_disk_that_takes_nothing_is_told_without_a_traceback(tmp_path, options, cause):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a small tmpfs")
    try:
        record = disk / "new" / "record.json"
        if options != "ro":
            (disk / "full").write_bytes(bytes(4096))
        done = subprocess.run(
            [sys.executable, "-m", "infonce", "data", "fetch", "digits", "--record", str(record)],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        )  # fmt: skip
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)
    assert done.returncode == 1
    assert cause in done.stderr
    assert str(disk) in done.stderr or cause == "No space left on device"
    assert "Traceback" not in done.stderr
