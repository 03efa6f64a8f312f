"""How far the embedding moved since θ_0, along training, and what Prop 4 and Eq 18 make of it."""

import math

import numpy as np
import torch

from infonce.losses import LOSSES
from infonce.spec.run import RunSpec
from infonce.theory.stability import eq18, literal_beta, log_prop4, tight_prop4
from infonce.training.pools import pool_of_tuples
from infonce.training.source import TupleSource
from infonce.training.step import Embedder, embed_without_graph

__all__ = ["COLUMNS", "TrackedStability"]

MOST_TUPLES, FEWEST_TUPLES, NEGATIVES_AT_MOST = 256, 16, 2**18
COLUMNS = ("loss_change", "prop4", "prop4_tight", "eq18")


class TrackedStability:
    """Means over the same tuples of |ℓ(φ_θ) - ℓ(φ_θ_0)| and of its bounds, in nats.

    The tuples are the first 256 of those whose loss is tracked, and fewer, down to 16, where k is so large that
    they would have more than 2¹⁸ negatives. Embeddings are those of `eval` mode, and all after them is float64.
    """

    def __init__(self, source: TupleSource, embedder: Embedder, spec: RunSpec, rows: torch.Tensor) -> None:
        """Embed tuples among `rows` with the encoder as it is now, that is at θ_0."""
        tuples = min(MOST_TUPLES, max(FEWEST_TUPLES, NEGATIVES_AT_MOST // spec.negatives))
        self._rows = rows[:tuples]
        self._pool = pool_of_tuples(source, self._rows, epoch=0)
        self._negatives = self._pool.negatives_of(slice(None))
        self._source, self._embedder, self._spec = source, embedder, spec
        self._before = self._embedded()
        self._losses_before = self._losses(self._before)

    def __call__(self) -> dict[str, float]:
        """The four columns; NaN where an embedding is not finite."""
        after = self._embedded()
        anchors, positives, pool = ((new - old).norm(dim=1) for new, old in zip(after, self._before, strict=True))
        if not all(bool(torch.isfinite(part).all()) for part in (anchors, positives, pool)):
            return dict.fromkeys(COLUMNS, math.nan)
        a, p, b = (part.cpu().numpy() for part in (anchors, positives, pool[self._negatives]))
        tau = self._spec.temperature
        values = (
            (self._losses(after) - self._losses_before).abs().cpu().numpy(),
            np.exp(log_prop4(a, p, b, tau, literal_beta(tau))),
            tight_prop4(a, p, b, tau),
            eq18(a, p, b, tau),
        )
        return {name: float(np.mean(of_tuples)) for name, of_tuples in zip(COLUMNS, values, strict=True)}

    def _embedded(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Unit rows in float64 of anchors (B, d), positives (B, d) and pool (P, d)."""
        embedded = embed_without_graph(self._embedder, self._source, self._rows, 0, self._pool)
        anchors, positives, pool = (part.double() / part.double().norm(dim=1, keepdim=True) for part in embedded)
        return anchors, positives, pool

    def _losses(self, embedded: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> torch.Tensor:
        anchors, positives, pool = embedded
        negatives = (anchors @ pool.T).gather(1, self._negatives)
        return LOSSES[self._spec.loss]((anchors * positives).sum(dim=1), negatives, self._spec.temperature)
