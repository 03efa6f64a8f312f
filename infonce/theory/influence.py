"""How much one pool member counts in a held-out risk: what its standard error over pools is made of.

A risk R(k) depends on the distribution π of the negatives. Moved a little towards one point b, π changes it by

    k (E[ℓ | b_1 = b] - E ℓ) = k ∫_0^∞ e^{-t r_p} L(t)^{k-1} (L(t) - e^{-t r_b}) dt/t

per unit of weight, in the notation of `finite_k` (for DCL leave out r_p). For k → ∞ this is q_a(b) - 1, the
influence on the cross-entropy (docs/theory.md).
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from infonce.theory.checks import Rows, counts, embeddings, excluded_members, positive_number
from infonce.theory.kernels import ANCHOR_BLOCK, similarity_blocks
from infonce.theory.laplace import BIN_WIDTH, BINS_PER_NODE, BinnedPool

STEP = BINS_PER_NODE * BIN_WIDTH  # of log t
CHUNK = 32  # nodes at a time
NEGLIGIBLE = 1e-9  # of an integrand
TABLE = 2**22  # numbers in the table of a block of anchors


def pool_influence(
    anchors: Rows, positives: Rows, pool: Rows, temperature: float, negatives: Iterable[int] | int, exclude: Any = None
) -> dict[str, np.ndarray]:
    """Influence of each pool member on the mean risk at each k, float64 (len(negatives), m) for each loss (measured).

    The derivative of the mean over anchors in the member's weight, times m, as `KernelStatistics.pool_influence` is
    for k → ∞. Arguments as those of `finite_risks`. The integral is exact to 1e-7; the logarithm of r_b is rounded to
    a 16th, which moves a mean over anchors by much less than its standard error needs. Raises ValueError naming a bad
    argument.
    """
    tau = positive_number(temperature, "temperature")
    a, p, b = embeddings(anchors, positives, pool)
    assert p is not None
    ks = counts(negatives, "negatives")
    left_out = excluded_members(exclude, len(a), b)
    log_positive = ((a * p).sum(1) - 1) / tau
    levels = math.ceil(2 / tau / BIN_WIDTH) + 1
    block = max(1, min(ANCHOR_BLOCK, TABLE // (levels * 2 * len(ks))))
    total = torch.zeros((len(b), 2 * len(ks)), dtype=torch.float64, device=b.device)
    for start in range(0, len(a), block):
        rows = slice(start, start + block)
        _add_influence(total, a[rows], b, tau, left_out[rows], log_positive[rows], ks, levels)
    influence = total.T.cpu().numpy() * (len(b) / len(a))
    return {"infonce": influence[: len(ks)], "dcl": influence[len(ks) :]}


def _add_influence(
    total: torch.Tensor,
    anchors: torch.Tensor,
    pool: torch.Tensor,
    tau: float,
    excluded: torch.Tensor,
    log_positive: torch.Tensor,
    ks: list[int],
    levels: int,
) -> None:
    """Add to `total` (m, 2 len(ks)) what a block of anchors says: one sweep finds L, the second looks members up."""
    binned = BinnedPool(len(anchors), 2 / tau, pool.device)
    for _, block, pairs in similarity_blocks(anchors, pool, excluded):
        binned.add(block.sub_(1).div_(tau), pairs)
    table = _table(binned, log_positive, ks, levels) / binned.size[:, :, None]
    of_none = table.new_zeros(1, 2 * len(ks))  # for the pairs that are left out
    table = torch.cat((table.flatten(0, 1), of_none))
    row = torch.arange(len(anchors), device=pool.device)[:, None] * levels
    for columns, block, pairs in similarity_blocks(anchors, pool, excluded):
        level = block.sub_(1).div_(-tau * BIN_WIDTH).round_().to(torch.int64).clamp_(0, levels - 1).add_(row)
        level[pairs[0], pairs[1]] = len(table) - 1
        total[columns] += functional.embedding_bag(level.T.contiguous(), table, mode="sum")


def _table(binned: BinnedPool, log_positive: torch.Tensor, ks: list[int], levels: int) -> torch.Tensor:
    """The integral for log r_b = 0, -1/16, -2/16, …: (anchors, levels, 2 len(ks)), InfoNCE first."""
    device = log_positive.device
    log_weights = -BIN_WIDTH * torch.arange(levels, dtype=torch.float64, device=device)
    table = torch.zeros((2 * len(ks), len(log_positive), levels), dtype=torch.float64, device=device)
    low, high = binned.log_range()
    first = math.floor((math.log(NEGLIGIBLE / max(ks)) - high) / STEP)
    last = math.ceil((math.log(-math.log(NEGLIGIBLE)) - low) / STEP)
    for start in range(first, last + CHUNK, CHUNK):
        log_t = torch.arange(start, start + CHUNK, device=device).double() * STEP
        mean = binned.complement(start, CHUNK).clamp_(max=1.0)  # 1 - L, (anchors, nodes)
        member = -torch.expm1(-(log_t[:, None] + log_weights).exp())  # 1 - e^{-t r_b}, (nodes, levels)
        others, of_positive = torch.log1p(-mean), (log_t + log_positive[:, None]).exp()
        for i, k in enumerate(ks):
            exponent = (k - 1) * others if k > 1 else torch.zeros_like(others)
            for at, power in ((i, exponent - of_positive), (len(ks) + i, exponent)):
                weight = power.exp_().mul_(k * STEP)
                table[at] += weight @ member - (weight * mean).sum(1, keepdim=True)
    return table.permute(1, 2, 0)
