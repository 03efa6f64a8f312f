"""Risks, cross-entropies and kernel statistics of one encoder on the tuples of a run."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from infonce.data.inputs import TupleInputs
from infonce.evaluation.embedding import EmbeddedTuples, negative_similarities
from infonce.losses import LOSSES
from infonce.progress import watched
from infonce.theory.finite_k import FiniteRisks, finite_risks
from infonce.theory.influence import pool_influence
from infonce.theory.kernels import KernelStatistics, kernel_statistics

SIMILARITIES_AT_ONCE = 2**24


@dataclass(frozen=True)
class HeldOut:
    """Everything exact that the held-out pool gives, per anchor; the pool is taken as π."""

    temperature: float
    embedded: EmbeddedTuples
    kernel: KernelStatistics
    risks: FiniteRisks
    influence: dict[str, np.ndarray]  # of each pool member on the mean risk at each k (len(negatives), m), by loss

    def risk(self, loss: str) -> np.ndarray:
        """R of each anchor at each k (len(negatives), A): the exact cross-entropy and the difference from it."""
        return self.kernel.cross_entropy + self.risks.difference(loss)


def measure_held_out(embedded: EmbeddedTuples, temperature: float, negatives: list[int]) -> HeldOut:
    """Kernel statistics and exact risks of every held-out anchor, its own image left out of the pool."""
    triple = (embedded.anchors, embedded.positives, embedded.pool)
    kernel = kernel_statistics(*triple, temperature, exclude=embedded.own)
    watch = partial(watched, title="risks", unit="block")  # they take most of the time of an evaluation
    risks = finite_risks(*triple, temperature, negatives, exclude=embedded.own, watch=watch)
    influence = pool_influence(*triple, temperature, negatives, exclude=embedded.own)
    return HeldOut(temperature, embedded, kernel, risks, influence)


def tuple_losses(embedded: EmbeddedTuples, inputs: TupleInputs, loss: str, temperature: float) -> Tensor:
    """The loss of every training tuple, float64 (n,); its mean is the empirical risk."""
    positive = (embedded.anchors * embedded.positives).sum(dim=1)
    block = max(1, SIMILARITIES_AT_ONCE // max(inputs.spec.negatives, len(embedded.pool)))
    parts = []
    for start in watched(range(0, len(positive), block), "losses", "block"):
        rows = slice(start, start + block)
        parts.append(LOSSES[loss](positive[rows], negative_similarities(embedded, inputs, rows), temperature))
    return torch.cat(parts)
