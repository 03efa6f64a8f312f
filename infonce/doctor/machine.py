"""Cores, memory and GPU."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil

from infonce.cluster.surroundings import Finding
from infonce.plan.workflow import Workflow
from infonce.processors import usable_processors
from infonce.spec.config import Config

NVIDIA = Path("/proc/driver/nvidia/version")


def cores() -> Iterator[Finding]:
    """Cores that this process may use, and memory."""
    usable = usable_processors()
    memory = psutil.virtual_memory()
    limit = os.environ.get("OMP_NUM_THREADS")
    threads = f"; OMP_NUM_THREADS is {limit}, jobs set their own number" if limit else ""
    yield Finding(
        "cores",
        True,
        f"{usable} of {os.cpu_count()} may be used: `snakemake --cores {usable}`; {memory.available / 2**30:.1f} of "
        f"{memory.total / 2**30:.1f} GiB of memory are free{threads}",
    )


def graphics(workflow: Workflow | None) -> Iterator[Finding]:
    """The GPU and its driver, against what the configuration asks for."""
    import torch

    from infonce.training.device import describe, driver

    if torch.cuda.is_available():
        device = torch.device("cuda")
        yield Finding("GPU", True, f"{describe(device)}, driver {driver(device)}, {torch.cuda.device_count()} seen")
        return
    config = workflow.config if workflow else None
    cause = ""
    if NVIDIA.exists():
        cause = f" although a driver is loaded: it may be too old for CUDA {torch.version.cuda}, or "
        cause += f"CUDA_VISIBLE_DEVICES ({os.environ.get('CUDA_VISIBLE_DEVICES')!r}) hides it"
    if config and (config.resources.train.gpus or config.resources.evaluate.gpus):
        yield Finding("GPU", True, f"none is seen here{cause}; jobs ask the cluster for one")
    elif key := config and _asking(config):
        yield Finding(
            "GPU", False, f"none is seen{cause}, and {key} is cuda; set it to auto or cpu, or run where there is one"
        )
    else:
        yield Finding("GPU", not cause, f"none is seen{cause}; jobs compute on the processor")


def _asking(config: Config) -> str | None:
    """The key that wants a GPU on the machine where the job runs."""
    asked = {"training.device": config.training.device, "evaluation.device": config.evaluation.device}
    return next((key for key, device in asked.items() if device == "cuda"), None)
