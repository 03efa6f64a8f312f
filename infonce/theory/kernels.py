"""The softmax search kernel Q of an embedding over a pool, and the held-out similarity cross-entropy (Sec. 3).

`Q(a, ·)` has the density `q_a(b) = exp(s(a,b)/τ) / Z(a)` with respect to the pool, `Z(a)` the pool's mean of
`exp(s(a,b)/τ)`. Nothing here is estimated by simulation; the pool is taken as π. All logarithms are natural.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from infonce.theory.checks import Rows, embeddings, excluded_members, positive_number

ANCHOR_BLOCK, POOL_BLOCK = 128, 1024  # a block of float64 similarities takes 1 MiB and stays in the cache


@dataclass(frozen=True)
class KernelStatistics:
    """What the search kernel of each anchor looks like; float64 arrays (A,) unless said otherwise."""

    cross_entropy: np.ndarray  # -s(a,p)/τ + log Z(a) = -log q_a(p), nats
    chi2: np.ndarray  # χ²(Q‖π), the variance of q_a over the pool
    third_moment: np.ndarray  # third central moment of q_a over the pool
    kl: np.ndarray  # KL(Q‖π), nats
    log_q_min: np.ndarray  # over the pool
    log_q_max: np.ndarray
    pool_size: np.ndarray  # int64: pool members that the anchor searches
    pool_influence: np.ndarray  # (m,): derivative of the mean cross-entropy in a member's weight, times m

    @property
    def q_positive(self) -> np.ndarray:
        """q_a(p); infinite where it exceeds the range of float64, which needs τ below 0.003."""
        with np.errstate(over="ignore"):
            return np.exp(-self.cross_entropy)

    @property
    def q_min(self) -> np.ndarray:
        """The smallest q_a over the pool."""
        return np.exp(self.log_q_min)

    @property
    def q_max(self) -> np.ndarray:
        """The largest q_a over the pool."""
        return np.exp(self.log_q_max)

    @property
    def effective_neighbours(self) -> np.ndarray:
        """exp(H(Q)): the size of a uniform neighbourhood of the same entropy, from 1 to the pool's size."""
        return self.pool_size * np.exp(-self.kl)


def cross_entropy(anchors: Rows, positives: Rows, pool: Rows, temperature: float) -> float:
    """Similarity cross-entropy `CE = E[-s(a,p)/τ + log Z(a)]` over a pool, in nats (measured; Sec. 3).

    `anchors`, `positives` (A, d) and `pool` (m, d) have unit rows. Raises ValueError naming a bad argument.
    """
    return float(kernel_statistics(anchors, positives, pool, temperature).cross_entropy.mean())


def kernel_statistics(
    anchors: Rows, positives: Rows, pool: Rows, temperature: float, exclude: Any = None
) -> KernelStatistics:
    """Statistics of the search kernel of every anchor, in float64 and in blocks over both axes (measured).

    Shapes: `anchors`, `positives` (A, d), `pool` (m, d), unit rows on one device; `exclude` (A,) is the index of
    the pool member that an anchor does not search (its own image), -1 for none. Memory beside the embeddings does
    not grow with A·m. Raises ValueError naming a bad argument.
    """
    tau = positive_number(temperature, "temperature")
    a, p, b = embeddings(anchors, positives, pool)
    assert p is not None
    left_out = excluded_members(exclude, len(a), b)
    influence = torch.zeros(len(b), dtype=torch.float64, device=b.device)
    parts = []
    for start in range(0, len(a), ANCHOR_BLOCK):
        rows = slice(start, start + ANCHOR_BLOCK)
        parts.append(_block_statistics(a[rows], b, tau, left_out[rows], influence))
    chi2, third, kl, low, high, log_z, size = (torch.cat(column).cpu().numpy() for column in zip(*parts, strict=True))
    similarity = (a * p).sum(1).cpu().numpy()
    return KernelStatistics(
        -similarity / tau + log_z, chi2, third, kl, low, high, size, influence.cpu().numpy() / len(a) * len(b)
    )


def standard_error(
    values: np.ndarray, pool_influence: np.ndarray | None = None, own_member: np.ndarray | None = None
) -> float:
    """Standard error of the mean of `values` (A,) by the infinitesimal jackknife.

    With `pool_influence` (m,) the sampling of the pool counts as well. `own_member` (A,) says which pool member
    is the anchor's own image (-1 for none): the two influences of one image are added before they are squared.
    Without a pool it is the usual `std/√A`, with the factor A/(A-1). Anchors are taken as independent.
    """
    count = len(values)
    if count < 2:
        return float("nan")
    of_anchor = (values - values.mean()) / np.sqrt(count * (count - 1.0))
    if pool_influence is None:
        return float(np.sqrt((of_anchor**2).sum()))
    of_member = pool_influence / len(pool_influence)
    if own_member is None:
        return float(np.sqrt((of_anchor**2).sum() + (of_member**2).sum()))
    own = own_member >= 0
    joint = of_member.copy()
    np.add.at(joint, own_member[own], of_anchor[own])
    return float(np.sqrt((of_anchor[~own] ** 2).sum() + (joint**2).sum()))


def similarity_blocks(
    anchors: torch.Tensor, pool: torch.Tensor, excluded: torch.Tensor
) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor]]:
    """Blocks `(columns, similarities (rows, columns), excluded)`; `excluded` holds the pairs (2, pairs) left out."""
    for start in range(0, len(pool), POOL_BLOCK):
        columns = slice(start, min(start + POOL_BLOCK, len(pool)))
        inside = (excluded >= columns.start) & (excluded < columns.stop)
        rows = inside.nonzero()[:, 0]
        yield columns, anchors @ pool[columns].T, torch.stack([rows, excluded[rows] - columns.start])


def log_mean_exp(anchors: torch.Tensor, pool: torch.Tensor, tau: float, excluded: torch.Tensor) -> torch.Tensor:
    """log Z of each anchor (rows,): the log of the mean of exp(s/τ) over the pool without the excluded member."""
    total = torch.full((len(anchors),), -torch.inf, dtype=torch.float64, device=anchors.device)
    for _, block, pairs in similarity_blocks(anchors, pool, excluded):
        logits = block.div_(tau)
        logits[pairs[0], pairs[1]] = -torch.inf
        total = torch.logaddexp(total, torch.logsumexp(logits, 1))
    return total - (len(pool) - (excluded >= 0).double()).log()


def _block_statistics(
    anchors: torch.Tensor, pool: torch.Tensor, tau: float, excluded: torch.Tensor, influence: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Two sweeps over the pool: the first finds log Z, the second reads q; adds to `influence` (m,) in place."""
    log_z = log_mean_exp(anchors, pool, tau, excluded)
    size = len(pool) - (excluded >= 0).to(torch.int64)
    chi2, third, kl = torch.zeros((3, len(anchors)), dtype=torch.float64, device=pool.device)
    low, high = torch.full_like(log_z, torch.inf), torch.full_like(log_z, -torch.inf)
    for columns, block, pairs in similarity_blocks(anchors, pool, excluded):
        log_q = block.div_(tau).sub_(log_z[:, None])
        # q has mean one: a left-out member set to q = 1 adds nothing to central moments, KL, influence, min or max.
        log_q[pairs[0], pairs[1]] = 0.0
        high, low = torch.maximum(high, log_q.amax(1)), torch.minimum(low, log_q.amin(1))
        q = log_q.exp()
        kl += (q * log_q).sum(1)
        q -= 1
        influence[columns] += (q / size[:, None]).sum(0)
        square = q * q
        chi2 += square.sum(1)
        third += (square * q).sum(1)
    return chi2 / size, third / size, kl / size, low, high, log_z, size
