"""Losses along training, over the fixed tuples and over held-out tuples of the same k."""

import torch

from infonce.random import random_bits, stream_key
from infonce.spec.run import RunSpec
from infonce.training.pools import pool_of_tuples
from infonce.training.source import TupleSource
from infonce.training.step import Embedder, losses_of_tuples

__all__ = ["LARGEST_SAMPLE", "TrackedLoss"]

LARGEST_SAMPLE = 2048


class TrackedLoss:
    """The mean loss over all tuples of a source, or over the same random 2,048 of them where there are more."""

    def __init__(self, source: TupleSource, embedder: Embedder, spec: RunSpec) -> None:
        """Choose the tuples and their pool, once."""
        tuples = source.sampler.tuples
        order = torch.argsort(random_bits(stream_key(spec.seed, "history"), torch.arange(tuples)), stable=True)
        self.rows = order[:LARGEST_SAMPLE].sort().values.to(source.device)
        self._source, self._embedder, self._spec = source, embedder, spec
        self._pool = pool_of_tuples(source, self.rows, epoch=0)

    def __call__(self) -> float:
        """Nats, in the paper's normalisation."""
        losses = losses_of_tuples(self._embedder, self._source, self.rows, 0, self._pool, self._spec)
        return float(losses.to(torch.float64).mean())
