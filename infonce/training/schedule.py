"""Which tuples, which learning rate and which history rows belong to a step: pure functions of its number."""

import math

import torch

from infonce.random import random_bits, stream_key
from infonce.spec.run import TrainingOptions

__all__ = ["Batches", "history_steps", "learning_rate"]


class Batches:
    """Batches of tuple rows: each epoch is a permutation of its own, cut into batches of exactly the same size.

    What remains of a permutation, fewer tuples than a batch, waits for the next epoch; a batch is never short, and
    with fewer tuples than `batch_size` it is all of them. The batch of a step depends on the seed and the step alone.
    """

    def __init__(self, tuples: int, batch_size: int, seed: int) -> None:
        """Batches of `batch_size` out of `tuples`, in the order that `seed` gives."""
        self.tuples, self.size = tuples, min(batch_size, tuples)
        self.in_epoch = tuples // self.size
        self._key = stream_key(seed, "batches")
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.int64)

    def __call__(self, step: int) -> tuple[torch.Tensor, int]:
        """Rows (B,) on the CPU, and the number of the epoch."""
        epoch, place = divmod(step, self.in_epoch)
        if epoch != self._epoch:
            self._order = torch.argsort(random_bits(self._key, epoch, torch.arange(self.tuples)), stable=True)
            self._epoch = epoch
        return self._order[place * self.size : (place + 1) * self.size], epoch


def learning_rate(options: TrainingOptions, step: int) -> float:
    """The rate of a step: linear warm-up from rate/warmup_steps, then constant, or half a cosine down to 0."""
    if step < options.warmup_steps:
        return options.learning_rate * (step + 1) / options.warmup_steps
    if options.schedule == "constant":
        return options.learning_rate
    progress = (step - options.warmup_steps) / max(1, options.steps - options.warmup_steps)
    return options.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def history_steps(options: TrainingOptions) -> set[int]:
    """Step 0 and `history_points` evenly spaced steps up to the last."""
    points = min(options.history_points, options.steps)
    return {round(options.steps * point / points) for point in range(points + 1)}
