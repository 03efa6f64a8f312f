"""What a training run hands back."""

from dataclasses import dataclass, field
from typing import Literal

import torch

__all__ = ["Status", "TrainingResult"]

Status = Literal["ok", "diverged", "out_of_memory", "stopped_early"]
Weights = dict[str, torch.Tensor]


@dataclass(frozen=True)
class TrainingResult:
    """The outcome of `train`; a run that diverged or ran out of memory is an outcome too.

    Attributes:
        status: how the run ended.
        message: why, where it is not `ok`.
        initial: state of the encoder at θ_0, on the CPU.
        final: state after `steps` steps: the last with finite loss and parameters.
        history: rows with the result columns of the history table.
        steps: optimiser steps that `final` has seen.
        tuples_seen: steps times batch size.
        parameters: d_θ.
        displacement: ‖θ - θ_0‖ of `final`.
        device: name of the processor that trained.
        driver: of the GPU; None on a CPU.
        precision: that the encoder ran in, whatever was asked.
        deterministic: whether deterministic kernels were in force.
        threads: of the CPU.
        seconds: of all attempts together, in so far as a state was kept of them.
        seconds_per_step: median over this process's steps; None where it made none.
        peak_device_memory_mib: of a GPU; None on a CPU.
        resumed: whether a state of an earlier attempt was taken up.
        attempts: this one and those whose state led to it.
        notes: what fell back on something else than was asked.
    """

    status: Status
    message: str | None
    initial: Weights
    final: Weights
    history: list[dict[str, float]]
    steps: int
    tuples_seen: int
    parameters: int
    displacement: float
    device: str
    driver: str | None
    precision: str
    deterministic: bool
    threads: int
    seconds: float
    seconds_per_step: float | None
    peak_device_memory_mib: float | None
    resumed: bool = False
    attempts: int = 1
    notes: tuple[str, ...] = field(default=())
