"""The moving parts of one run: encoder, optimiser, tuples, and the last state in which everything was finite."""

import math
from typing import Any

import torch
from torch import nn

from infonce.data.inputs import TupleInputs
from infonce.data.prepared import Prepared
from infonce.encoders.encoder import encoder_of
from infonce.spec.run import RunSpec
from infonce.training.device import uses_bfloat16
from infonce.training.history import TrackedLoss
from infonce.training.optimizer import Optimizer
from infonce.training.pools import step_pool
from infonce.training.schedule import Batches, learning_rate
from infonce.training.source import HELD_OUT_PURPOSE, TRAINING_PURPOSE, TupleSource
from infonce.training.stability import TrackedStability
from infonce.training.state import SavedState
from infonce.training.step import Embedder, backward, compiled_or_eager

__all__ = ["Trainer", "weights_of"]


class Trainer:
    """Steps of one run. `encoder` may hold anything after a bad step; `kept` is always finite."""

    def __init__(self, spec: RunSpec, prepared: Prepared) -> None:
        """Check what needs no device and build the encoder at θ_0."""
        self.spec, self.options = spec, spec.training
        self.prepared = prepared
        self.encoder = encoder_of(spec, prepared.input_shape)
        self.initial = weights_of(self.encoder)
        self.kept, self.kept_step, self.displacement = self.initial, 0, 0.0
        self.batches = Batches(spec.tuples, self.options.batch_size, spec.seed)
        self.notes: list[str] = []
        self.bfloat16 = False

    def place(self, device: torch.device, embed_chunk: int | None = None) -> None:
        """Move to the device: data, encoder, optimiser, and the losses that the history follows."""
        spec, shape = self.spec, self.prepared.input_shape
        self.device = device
        self.bfloat16 = uses_bfloat16(self.options, device, self.notes)
        self.embedder = Embedder(self.encoder, shape, self.bfloat16, embed_chunk)
        self.encoder.to(device)
        if self.embedder.channels_last:
            self.encoder.to(memory_format=torch.channels_last)
        self.source = TupleSource(
            TupleInputs("train", self.prepared, spec, device, TRAINING_PURPOSE), self.options.tuples_drawn == "once"
        )
        held_out = TupleSource(TupleInputs("held_out", self.prepared, spec, device, HELD_OUT_PURPOSE), fixed=True)
        self.training_loss = TrackedLoss(self.source, self.embedder, spec)
        self.held_out_loss = TrackedLoss(held_out, self.embedder, spec)
        self.stability = TrackedStability(self.source, self.embedder, spec, self.training_loss.rows)
        self.parameters = list(self.encoder.parameters())
        self.optimizer = Optimizer(self.options, self.parameters)
        self.initial_parameters = [parameter.detach().clone() for parameter in self.parameters]
        if self.options.compile:
            compiled_or_eager(self.embedder, self.source.pool(torch.arange(2, device=device), 0), self.notes)

    def step(self, step: int) -> float:
        """Make one optimiser step; returns the batch's mean loss before it."""
        rows, epoch = self.batches(step)
        rows = rows.to(self.device)
        epoch = epoch if self.options.tuples_drawn == "each_epoch" else 0
        pool = step_pool(self.source, rows, epoch, self.options.pool, self.spec.seed, step)
        self.optimizer.clear()
        losses = backward(self.embedder, self.source, rows, epoch, pool, self.spec)
        if self.options.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.options.gradient_clip)
        self.optimizer.step(learning_rate(self.options, step))
        return float(losses.mean())

    def keep_if_finite(self, step: int, loss: float) -> str | None:
        """Make the parameters after `step` steps the kept ones, or say what is not finite."""
        moved = torch._foreach_sub([p.detach() for p in self.parameters], self.initial_parameters)
        displacement = float(torch.stack(torch._foreach_norm(moved)).norm())
        if not math.isfinite(loss):
            return f"the loss is {loss}"
        if not math.isfinite(displacement):
            return "the parameters are not finite"
        self.kept, self.kept_step, self.displacement = self._copied(), step, displacement
        return None

    def history_row(self, step: int) -> dict[str, float]:
        """The result columns of the history table after `step` steps."""
        return {
            "step": step,
            "epoch": step / self.batches.in_epoch,
            "training_loss": self.training_loss(),
            "held_out_loss": self.held_out_loss(),
            "displacement": self.displacement,
            "learning_rate": learning_rate(self.options, max(0, step - 1)),
            **self.stability(),
        }

    def saved(self, facts: dict[str, Any]) -> SavedState:
        """Everything that the next step depends on."""
        tensors = {f"encoder/{name}": tensor for name, tensor in self.encoder.state_dict().items()}
        tensors |= {f"optimizer/{name}": tensor for name, tensor in self.optimizer.state().items()}
        return SavedState(tensors, {**facts, "step": self.kept_step})

    def restore(self, state: SavedState) -> None:
        """Go on from a saved state."""
        parts: dict[str, dict[str, torch.Tensor]] = {"encoder": {}, "optimizer": {}}
        for name, tensor in state.tensors.items():
            part, rest = name.split("/", 1)
            parts[part][rest] = tensor
        self.encoder.load_state_dict(parts["encoder"])
        self.optimizer.restore(parts["optimizer"])
        self.keep_if_finite(int(state.facts["step"]), loss=0.0)

    def _copied(self) -> dict[str, torch.Tensor]:
        return {name: tensor.detach().clone() for name, tensor in self.encoder.state_dict().items()}


def weights_of(encoder: nn.Module) -> dict[str, torch.Tensor]:
    """A copy of parameters and buffers on the CPU."""
    return {name: tensor.detach().cpu().clone() for name, tensor in encoder.state_dict().items()}
