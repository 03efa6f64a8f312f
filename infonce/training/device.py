"""The device of a run: checked before anything is loaded, set up for one run, and described for its row."""

import contextlib
import importlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from infonce.errors import DeviceError
from infonce.spec.run import TrainingOptions

__all__ = ["describe", "determinism", "driver", "out_of_memory", "resolve", "threads_set", "uses_bfloat16"]


def resolve(asked: torch.device | str) -> torch.device:
    """The device for `auto`, `cpu`, `cuda` or a torch device; DeviceError where it is not there."""
    name = str(asked)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        raise DeviceError(
            f"the run asks for device {name!r}, but no GPU is seen on {platform.node()} "
            f"(CUDA_VISIBLE_DEVICES is {visible!r}, torch {torch.__version__}). "
            "Request a GPU for the job, or set training.device to auto or cpu."
        )
    if name.split(":")[0] not in ("cpu", "cuda"):
        raise DeviceError(f"unknown device {name!r}; expected auto, cpu or cuda")
    return torch.device(name)


def describe(device: torch.device) -> str:
    """The name of the processor."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return f"cpu: {line.split(':', 1)[1].strip()}"
    return f"cpu: {platform.processor() or platform.machine()}"


def driver(device: torch.device) -> str | None:
    """Version of the GPU's kernel driver and of CUDA; None on a CPU."""
    if device.type != "cuda":
        return None
    with contextlib.suppress(OSError, IndexError):
        line = Path("/proc/driver/nvidia/version").read_text().splitlines()[0]
        version = next(word for word in line.split() if word[0].isdigit() and "." in word)
        return f"{version}, CUDA {torch.version.cuda}"
    return f"CUDA {torch.version.cuda}"


def uses_bfloat16(options: TrainingOptions, device: torch.device, notes: list[str]) -> bool:
    """Whether the encoder runs in bfloat16: where it is asked for and the GPU has it; otherwise a note says so."""
    if options.precision != "bfloat16":
        return False
    if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return True
    notes.append("precision bfloat16 needs a GPU that has it; the encoder ran in float32")
    return False


@contextlib.contextmanager
def threads_set(threads: int) -> Iterator[None]:
    """torch computes with that many CPU threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def determinism(enabled: bool, device: torch.device) -> Iterator[None]:
    """Deterministic kernels on a GPU inside the block; a CPU with a fixed number of threads needs no switch."""
    if device.type != "cuda" or not enabled:
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it when it is first used
    uninitialised: Any = importlib.import_module("torch.utils.deterministic")
    before = torch.are_deterministic_algorithms_enabled(), uninitialised.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    uninitialised.fill_uninitialized_memory = False  # it only slows down code that writes what it reads
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        uninitialised.fill_uninitialized_memory = before[1]


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the memory of a device or of the machine is exhausted."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
