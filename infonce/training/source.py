"""Where a step gets its inputs and negatives from, made anew for each batch or, where they are small, kept."""

import torch

from infonce.data.inputs import TupleInputs

__all__ = ["HELD_OUT_PURPOSE", "TRAINING_PURPOSE", "TupleSource"]

TRAINING_PURPOSE = "training"
HELD_OUT_PURPOSE = "held-out"

KEPT_BYTES = {"cpu": 2**28, "cuda": 2**32}
MAKE_AT_ONCE = 4096  # inputs; bounds the temporaries of making views


class TupleSource:
    """Inputs by row of the tuples and by image of the pool; those of fixed tuples are kept if they are small enough.

    Whether they are kept changes no bit: every view and index depends on its counters alone.
    """

    def __init__(self, inputs: TupleInputs, fixed: bool) -> None:
        self.inputs, self.sampler, self.device = inputs, inputs.sampler, inputs.device
        self.images = inputs.sampler.images.to(self.device)
        self.positions = torch.full((len(inputs.labels),), -1, dtype=torch.int64, device=self.device)
        self.positions[self.images] = torch.arange(len(self.images), device=self.device)
        self._kept: dict[str, torch.Tensor] = {}
        if fixed:
            self._keep()

    def anchors(self, rows: torch.Tensor, epoch: int) -> torch.Tensor:
        """Inputs of the anchors of the rows."""
        return self._kept["anchors"][rows] if self._kept else self.inputs.anchor_inputs(rows, epoch)

    def positives(self, rows: torch.Tensor, epoch: int) -> torch.Tensor:
        """Inputs of the positives of the rows."""
        return self._kept["positives"][rows] if self._kept else self.inputs.positive_inputs(rows, epoch)

    def pool(self, images: torch.Tensor, epoch: int) -> torch.Tensor:
        """Inputs of images as members of the pool."""
        return self._kept["pool"][self.positions[images]] if self._kept else self.inputs.pool_inputs(images, epoch)

    def negatives(self, rows: torch.Tensor, epoch: int) -> torch.Tensor:
        """Image indices (B, k) of the negatives of the rows."""
        return self._kept["negatives"][rows] if self._kept else self.sampler.negatives(rows, epoch)

    def _keep(self) -> None:
        rows = torch.arange(self.sampler.tuples, device=self.device)
        one_input = self.inputs.pool_inputs(self.images[:1])
        size = (2 * len(rows) + len(self.images)) * one_input.numel() * 4
        size += len(rows) * self.sampler.negative_count * 8
        if size > KEPT_BYTES.get(self.device.type, 0):
            return
        self._kept = {
            "anchors": torch.cat([self.inputs.anchor_inputs(part) for part in rows.split(MAKE_AT_ONCE)]),
            "positives": torch.cat([self.inputs.positive_inputs(part) for part in rows.split(MAKE_AT_ONCE)]),
            "pool": torch.cat([self.inputs.pool_inputs(part) for part in self.images.split(MAKE_AT_ONCE)]),
            "negatives": torch.cat([self.sampler.negatives(part) for part in rows.split(MAKE_AT_ONCE)]),
        }
