"""The losses of a batch whose negatives all lie in one pool of embeddings, and their gradients in closed form.

A batch embeds the pool once and gathers similarities, never embeddings, so no tensor of size batch·k·d exists; rows
are worked off in chunks, so no matrix of batch·k logits is kept either. The values are those of `infonce.losses`,
and the gradient with respect to a logit is its softmax weight.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from infonce.losses import log_sums_and_weights
from infonce.spec.run import Loss

__all__ = ["NegativesOf", "PooledLoss", "pooled_loss"]

# Elements that are worked on at once: similarities to the pool for the matrix products, and within them the logits of
# a few rows, whose temporaries stay in a cache. A GPU wants large kernels for both.
SIMILARITIES = {"cpu": 2**22, "cuda": 2**26}
LOGITS = {"cpu": 2**18, "cuda": 2**25}

NegativesOf = Callable[[slice], torch.Tensor]
"""Positions in the pool, int64 (rows, k), of the negatives of some rows of the batch."""


@dataclass(frozen=True)
class PooledLoss:
    """Losses in nats, shape (B,), and the gradients of their mean with respect to the three sets of embeddings."""

    losses: torch.Tensor
    anchors: torch.Tensor
    positives: torch.Tensor
    pool: torch.Tensor


@torch.no_grad()
def pooled_loss(
    anchors: torch.Tensor,
    positives: torch.Tensor,
    pool: torch.Tensor,
    negatives_of: NegativesOf,
    negatives: int,
    temperature: float,
    loss: Loss,
    gradients: bool = True,
) -> PooledLoss:
    """The loss of each tuple and, unless `gradients` is False, the gradients of the mean loss.

    Args:
        anchors: unit rows φ(a), float32 or float64, shape (B, d).
        positives: unit rows φ(p), shape (B, d).
        pool: unit rows, shape (P, d); every negative is one of them.
        negatives_of: gives the negatives of a slice of the batch's rows.
        negatives: k.
        temperature: τ > 0.
        loss: `infonce` or `dcl`.
        gradients: whether they are wanted; without, they are zero.
    """
    batch = len(anchors)
    positive_similarity = (anchors * positives).sum(1)
    result = PooledLoss(
        losses=torch.empty_like(positive_similarity),
        anchors=torch.zeros_like(anchors),
        positives=torch.zeros_like(positives),
        pool=torch.zeros_like(pool),
    )
    device = anchors.device.type
    for rows in _slices(0, batch, SIMILARITIES[device] // len(pool)):
        similarities = anchors[rows] @ pool.T
        for part in _slices(rows.start, rows.stop, LOGITS[device] // negatives):
            of_part = similarities[part.start - rows.start : part.stop - rows.start]
            members = negatives_of(part)
            logits = of_part.gather(1, members).sub_(positive_similarity[part, None]).div_(temperature)
            losses, weights = log_sums_and_weights(logits, loss)
            result.losses[part] = losses - math.log(negatives)
            if gradients:
                # The gradient takes the place of the similarities. A member drawn several times adds the same number
                # each time, so the order of a GPU's atomic additions does not change a bit.
                of_part.zero_().scatter_add_(1, members, weights.div_(batch * temperature))
        if gradients:
            to_positive = -similarities.sum(1, keepdim=True)
            result.anchors[rows] = similarities @ pool + to_positive * positives[rows]
            result.positives[rows] = to_positive * anchors[rows]
            result.pool.addmm_(similarities.T, anchors[rows])
    return result


def _slices(start: int, stop: int, length: int) -> list[slice]:
    length = max(1, length)
    return [slice(first, min(first + length, stop)) for first in range(start, stop, length)]
