"""Trainings in jobs of the tests' cluster: found, held, and let go on for a moment.

A held training is like one in a step that takes long: Slurm's signals reach it and wait.
"""

import contextlib
import re
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.slurm.conftest import Checkout, wait_for


def training_of(checkout: Checkout) -> psutil.Process | None:
    """The process of a checkout's training that is ready for Slurm's SIGTERM, if there is one."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, FileNotFoundError):
            words = process.cmdline()
            if words[1:4] == ["-m", "infonce", "train"] and process.cwd() == str(checkout.folder):
                return process if catches(process, signal.SIGTERM) else None
    return None


def hold_trainings(checkouts: Sequence[Checkout]) -> list[psutil.Process]:
    """Suspend the training of each once it makes steps, so that a fault meets it however fast the machine is.

    Steps begin well within a second of processor time after it is ready.
    """
    held: dict[Path, psutil.Process] = {}
    ready: dict[int, float] = {}

    def all_held() -> bool:
        for checkout in checkouts:
            if checkout.folder not in held and (process := training_of(checkout)):
                used = process.cpu_times().user
                if used - ready.setdefault(process.pid, used) >= 1.0:
                    process.suspend()
                    held[checkout.folder] = process
        return len(held) == len(checkouts)

    wait_for("trainings to begin", all_held, seconds=150)
    return [held[checkout.folder] for checkout in checkouts]


def run_a_little(training: psutil.Process, until: Callable[[], Any]) -> None:
    """Let a held training go on until something is there, and hold it again."""
    training.resume()
    end = time.monotonic() + 30
    while not until():
        assert time.monotonic() < end, "waited 30 s for a held training that goes on"
        time.sleep(0.01)
    training.suspend()


def keep_state(training: psutil.Process, checkout: Checkout) -> None:
    """Let a held training keep its state, as it does from time to time by itself."""
    training.send_signal(signal.SIGUSR1)
    run_a_little(training, checkout.states)


def catches(process: psutil.Process, number: signal.Signals) -> bool:
    """Whether a process has a handler of its own for a signal."""
    return number in _signals(process, "SigCgt")


def pending(process: psutil.Process, number: signal.Signals) -> bool:
    """Whether a signal was sent to a held process."""
    return number in _signals(process, "ShdPnd")


def _signals(process: psutil.Process, kind: str) -> set[int]:
    mask = re.search(rf"{kind}:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text())
    assert mask is not None
    return {number for number in range(1, 65) if int(mask.group(1), 16) >> (number - 1) & 1}
