"""Long work shows how far it is and how long it will take on a terminal, and is quiet where there is none."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import yaml

from infonce.plan.grid import expand, load_config
from infonce.stages import prepare

ROOT = Path(__file__).parents[1]
GRID = {
    "slices": [], "positives": ["augment"], "encoders": ["mlp"], "negatives": [64], "temperatures": [0.5], "seeds": [7],
    "tuples": [1297], "training": {"steps": 150},
}  # fmt: skip
BAR = re.compile(r"(\d+)%\|[^\r]*<")  # done, and behind `<` the time left


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    folder = tmp_path_factory.mktemp("progress")
    data, weights = folder / "data" / "manifest.json", folder / "run" / "weights.safetensors"
    values = yaml.safe_load((ROOT / "config" / "config.yaml").read_text()) | GRID
    (spec,) = expand(load_config(values)).values()
    prepare.run("digits", "{}", folder / "raw", folder / "data")
    return ["--spec", spec.canonical_json(), "--data", str(data), "--weights", str(weights)]


def on_a_terminal(command):
    """What a command writes to a terminal of its own."""
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))  # rows and columns
        os.environ["PYTHONPATH"] = str(ROOT)
        os.execv(command[0], command)
    said = b""
    while True:
        try:
            said += (piece := os.read(terminal, 4096))
        except OSError:  # the other end is closed
            break
        if not piece:
            break
    os.close(terminal)
    assert os.waitpid(process, 0)[1] == 0, said.decode()
    return said.decode()


# In this order: the second reads what the first writes.
@pytest.mark.parametrize(("stage", "titles"), [("train", ["150/150"]), ("evaluate", ["embeddings", "losses", "risks"])])
def test_a_bar_on_a_terminal_and_none_in_a_file(arguments, stage, titles):
    command = [sys.executable, "-m", "infonce", stage, *arguments]
    said = on_a_terminal(command)
    assert BAR.search(said), said
    assert [title for title in titles if title not in said] == []
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not BAR.search(done.stdout + done.stderr)
    assert "\r" not in done.stdout + done.stderr


def test_steps_that_are_watched(tmp_path):
    """`watched` itself, in a pipe and on a terminal."""
    program = tmp_path / "program.py"
    program.write_text(
        "import time\nfrom infonce.progress import watched\n"
        "for _ in watched(range(4), 'risks', 'block'):\n    time.sleep(0.3)\nprint('done')\n"
    )
    said = on_a_terminal([sys.executable, str(program)])
    assert BAR.search(said)
    assert "risks" in said
    done = subprocess.run(
        [sys.executable, str(program)], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
