"""Where a step gets its inputs and negatives from, made anew for each batch or, where they are small, kept."""

import torch

from infonce.data.inputs import TupleInputs

__all__ = ["HELD_OUT_PURPOSE", "TRAINING_PURPOSE", "TupleSource"]

TRAINING_PURPOSE = "training"
HELD_OUT_PURPOSE = "held-out"

KEPT_BYTES = {"cpu": 2**28, "cuda": 2**32}
MAKE_AT_ONCE = 4096  # inputs, and
NUMBERS_AT_ONCE = 2**20  # indices: bounds of the temporaries that making them takes


class TupleSource:
    """Inputs by row of the tuples and by place of the pool; those of fixed tuples are kept if they are small enough.

    A place is a position among `images`, the images that make up π. Whether inputs are kept changes no bit: every
    view and index depends on its counters alone.
    """

    def __init__(self, inputs: TupleInputs, fixed: bool) -> None:
        """`fixed` says that only epoch 0 will be asked for."""
        self.inputs, self.sampler, self.device = inputs, inputs.sampler, inputs.device
        self.images = inputs.sampler.images.to(self.device)
        self._places = torch.full((len(inputs.labels),), -1, dtype=torch.int64, device=self.device)
        self._places[self.images] = torch.arange(len(self.images), device=self.device)
        self._kept: dict[str, torch.Tensor] = {}
        if fixed:
            self._keep()

    def anchors(self, rows: torch.Tensor, epoch: int) -> torch.Tensor:
        """Inputs of the anchors of the rows."""
        return self._kept["anchors"][rows] if self._kept else self.inputs.anchor_inputs(rows, epoch)

    def positives(self, rows: torch.Tensor, epoch: int) -> torch.Tensor:
        """Inputs of the positives of the rows."""
        return self._kept["positives"][rows] if self._kept else self.inputs.positive_inputs(rows, epoch)

    def pool(self, places: torch.Tensor, epoch: int) -> torch.Tensor:
        """Inputs of images as members of the pool."""
        return self._kept["pool"][places] if self._kept else self.inputs.pool_inputs(self.images[places], epoch)

    def anchor_places(self, rows: torch.Tensor, epoch: int) -> torch.Tensor:
        """Places (B,) of the anchors' images."""
        return self._places[self.sampler.anchors(rows, epoch)]

    def negative_places(self, rows: torch.Tensor, epoch: int) -> torch.Tensor:
        """Places (B, k) of the negatives of the rows."""
        return self._kept["negatives"][rows] if self._kept else self._places[self.sampler.negatives(rows, epoch)]

    def _keep(self) -> None:
        rows = torch.arange(self.sampler.tuples, device=self.device)
        one_input = self.inputs.pool_inputs(self.images[:1])
        size = (2 * len(rows) + len(self.images)) * one_input.numel() * one_input.element_size()
        size += len(rows) * self.sampler.negative_count * rows.element_size()
        if size > KEPT_BYTES.get(self.device.type, 0):
            return
        inputs, of_negatives = self.inputs, max(1, NUMBERS_AT_ONCE // self.sampler.negative_count)
        self._kept = {
            "anchors": torch.cat([inputs.anchor_inputs(part) for part in rows.split(MAKE_AT_ONCE)]),
            "positives": torch.cat([inputs.positive_inputs(part) for part in rows.split(MAKE_AT_ONCE)]),
            "pool": torch.cat([inputs.pool_inputs(part) for part in self.images.split(MAKE_AT_ONCE)]),
            "negatives": torch.cat([self.negative_places(part, 0) for part in rows.split(of_negatives)]),
        }
