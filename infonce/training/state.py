"""Preemption: a state file from which a killed run goes on, with the same bytes on a CPU.

The file is beside the run's output and not one of them. It begins with a digest of the rest, and the generation before
is kept beside it, so that a file cut in half is seen and the run falls back. One job at a time may work on a run.
"""

import contextlib
import hashlib
import json
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import filelock
import torch
from safetensors.torch import load, save

from infonce.errors import RecordError
from infonce.files import replacing

__all__ = ["SavedState", "StateKeeper", "discard_state", "only_job", "state_file"]

DIGEST_BYTES = 32
# Slurm warns every process of a job. SIGURG is the one signal for it that ends no shell and no Snakemake on the way,
# since whoever does not listen to it ignores it.
WARNINGS = (signal.SIGURG, signal.SIGUSR1)
# A state is written as often as that takes this part of the time, but no sooner than so many seconds after the last.
SHARE_OF_TIME, SHORTEST_PAUSE = 0.01, 30.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SavedState:
    """Tensors by name, and facts that JSON can hold."""

    tensors: dict[str, torch.Tensor]
    facts: dict[str, Any]


def state_file(folder: Path, spec_hash: str) -> Path:
    """Where the state of a run lies below the folder of its output."""
    return folder / f".training-{spec_hash}.state"


def discard_state(path: Path) -> None:
    """Remove a state with all that belongs to it, once the run's output is written."""
    for name in (path, _previous(path), _lock(path)):
        name.unlink(missing_ok=True)


@contextlib.contextmanager
def only_job(path: Path) -> Iterator[None]:
    """Keeps other jobs off the run whose state file is `path`. Raises RecordError where one is at work already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(_lock(path), timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise RecordError(
            f"another job is training this run: it holds {_lock(path)}. Wait for it, or stop it first."
        ) from None
    try:
        yield
    finally:
        lock.release()


class StateKeeper:
    """Keeps the state of one run: as a context it listens to SIGTERM and to the warnings before it.

    Args:
        path: of the state file; None keeps nothing.
        spec_hash: a state of another is refused with RecordError.
        identity: further facts that must agree (data, code, versions); otherwise training starts again, saying so.
        minutes: between two states at most; 0 keeps one after every step.
    """

    def __init__(self, path: Path | None, spec_hash: str, identity: Mapping[str, str], minutes: float) -> None:
        """Nothing is read before the context is entered."""
        self.path, self.spec_hash, self.identity = path, spec_hash, dict(identity)
        self.notes: list[str] = []
        self._longest_pause, self._last, self._seconds_of_a_write = 60 * minutes, time.monotonic(), 0.0
        self._asked: signal.Signals | None = None
        self._ending = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> "StateKeeper":
        """Listen, and clear away what a killed write left."""
        if self.path is None:
            return self
        for left_over in self.path.parent.glob(f".{self.path.name}.*.part"):
            left_over.unlink(missing_ok=True)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, *WARNINGS):
                self._handlers[number] = signal.signal(number, self._note_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def read(self) -> SavedState | None:
        """The newest whole state of this run, or None where training starts from the beginning."""
        if self.path is None:
            return None
        for path in (self.path, _previous(self.path)):
            if not path.exists():
                continue
            try:
                state = decode(path.read_bytes())
            except ValueError as error:
                self._say(f"the training state {path} is damaged ({error}) and was left aside")
                continue
            return self._checked(path, state)
        if self.notes:
            self._say("no whole training state is left: training starts again from step 0")
        return None

    def after_step(self, state: Callable[[], SavedState]) -> None:
        """Write the state if it is time to or a signal asked for it; after SIGTERM, end with SystemExit."""
        if self.path is None:
            return
        ending, began = self._ending, time.monotonic()
        if ending or self._asked or began - self._last >= self._pause():
            if self._asked and not ending:
                log.warning("warned by %s; the state is kept", self._asked.name)
            self._asked = None
            self._write(self.path, state())
            self._last = time.monotonic()
            self._seconds_of_a_write = self._last - began
        if ending:
            log.warning("stopped by SIGTERM; the run goes on from %s", self.path)
            raise SystemExit(128 + signal.SIGTERM)

    def _pause(self) -> float:
        """Seconds between two states: what a killed run loses at most, if it was not warned."""
        return min(self._longest_pause, max(SHORTEST_PAUSE, self._seconds_of_a_write / SHARE_OF_TIME))

    def _write(self, path: Path, state: SavedState) -> None:
        facts = {**state.facts, "spec_hash": self.spec_hash, "identity": self.identity}
        with replacing(path) as temporary:
            temporary.write_bytes(encode(SavedState(state.tensors, facts)))
            if path.exists():
                path.replace(_previous(path))

    def _checked(self, path: Path, state: SavedState) -> SavedState | None:
        found = state.facts["spec_hash"]
        if found != self.spec_hash:
            raise RecordError(
                f"{path} is the training state of another run: its spec hash is {found}, this run's is "
                f"{self.spec_hash}. Delete it, or keep the state of this run elsewhere."
            )
        theirs = state.facts["identity"]
        different = sorted(
            name for name in self.identity.keys() | theirs.keys() if self.identity.get(name) != theirs.get(name)
        )
        if different:
            self._say(f"the training state {path} was made with another {', '.join(different)}: training starts again")
            return None
        return state

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        self._asked = signal.Signals(number)
        self._ending = self._ending or number == signal.SIGTERM

    def _say(self, note: str) -> None:
        log.warning(note)
        self.notes.append(note)


def encode(state: SavedState) -> bytes:
    """The bytes of a state file: a digest, then safetensors with the facts as its metadata."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}
    payload = save(tensors, {"facts": json.dumps(state.facts)})
    return hashlib.blake2b(payload, digest_size=DIGEST_BYTES).digest() + payload


def decode(content: bytes) -> SavedState:
    """The state in the bytes of a file; ValueError where they are not whole."""
    digest, payload = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    if hashlib.blake2b(payload, digest_size=DIGEST_BYTES).digest() != digest:
        raise ValueError(f"{len(content)} bytes that do not match their digest")
    length = int.from_bytes(payload[:8], "little")
    metadata = json.loads(payload[8 : 8 + length])["__metadata__"]
    return SavedState(load(payload), json.loads(metadata["facts"]))


def _previous(path: Path) -> Path:
    return path.with_name(f"{path.name}.previous")


def _lock(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")
