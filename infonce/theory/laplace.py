"""Laplace transforms of pool weights `r = e^x`, x in [-range, 0], from narrow bins of x with their moments.

`1 - exp(-t e^x)` is, as a function of x, the same curve for every t, only shifted by log t. In a bin of width
`BIN_WIDTH` a cubic follows it to 1e-9. So the count and three moments of each bin, found in one pass over the
weights, give the transform at every t; and as bins and nodes lie on one grid, one table of cubics serves all of them.
"""

import math
from collections.abc import Callable

import numpy as np
import torch

BIN_WIDTH = 1 / 16
BINS_PER_NODE = 6  # nodes of the quadrature are that many bins apart in log t: a step of 0.375
MOMENTS = 4
BELOW, ABOVE = 46.0, 5.0  # 1 - exp(-e^v) is below 1e-20 for v < -46, and is 1 in float64 for v > 5

_POSITIONS = np.cos(np.pi * (2 * np.arange(MOMENTS) + 1) / (2 * MOMENTS))  # Chebyshev's, in a bin [-1, 1]
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_POSITIONS, increasing=True))


class BinnedPool:
    """Moments of the log weights x of a block of anchors, bin by bin.

    Bin b of B covers [(b-B)·width, (b+1-B)·width). Its moments are Σ ρ^j, j = 0..3, of the position ρ in [-1, 1)
    within the bin. One more bin at the end collects the pairs that are left out.
    """

    def __init__(self, anchors: int, log_weight_range: float, device: torch.device) -> None:
        """No weights yet, for so many anchors; `log_weight_range` bounds -x."""
        self.bins = math.ceil(log_weight_range / BIN_WIDTH) + 1
        self._sums = torch.zeros((MOMENTS, anchors, self.bins + 1), dtype=torch.float64, device=device)
        self._offsets = torch.arange(anchors, device=device)[:, None] * (self.bins + 1)

    def add(self, log_weights: torch.Tensor, left_out: torch.Tensor) -> None:
        """Add a block of log weights (anchors, columns), which is overwritten; `left_out` (2, pairs) do not count."""
        position = log_weights.div_(BIN_WIDTH).add_(self.bins)
        index = position.to(torch.int64).clamp_(0, self.bins - 1)
        rho = position.sub_(index).mul_(2).sub_(1).flatten()
        index[left_out[0], left_out[1]] = self.bins
        index = index.add_(self._offsets).flatten()
        power = torch.ones_like(rho)
        for moment in self._sums:
            moment.view(-1).scatter_add_(0, index, power)
            power.mul_(rho)

    @property
    def size(self) -> torch.Tensor:
        """How many weights each anchor has (anchors, 1)."""
        return self._sums[0, :, : self.bins].sum(1, keepdim=True)

    def occupied(self) -> tuple[int, int]:
        """First bin that any anchor fills, and one past the last."""
        filled = self._sums[0, :, : self.bins].sum(0).nonzero()
        return int(filled[0]), int(filled[-1]) + 1

    def log_range(self) -> tuple[float, float]:
        """Bounds of the log weights x of the block."""
        first, end = self.occupied()
        return (first - self.bins) * BIN_WIDTH, (end - self.bins) * BIN_WIDTH

    def log_mean(self) -> torch.Tensor:
        """log of the mean weight of each anchor (anchors,)."""
        first, end = self.occupied()
        cubics = self._cubics(torch.exp, first - end, end - first)[:, :, None]
        return (self._contract(first, end, cubics) / self.size).squeeze(1).log() + (end - self.bins) * BIN_WIDTH

    def complement(self, first_node: int, nodes: int) -> torch.Tensor:
        """1 - L(t) for log t = step·i at the nodes i from `first_node` on: (anchors, nodes)."""
        first, end = self.occupied()
        shift = BINS_PER_NODE * first_node - self.bins  # bin b meets the curve's interval b + shift at the first node
        reach = BINS_PER_NODE * (nodes - 1)
        saturated = min(max(math.ceil(ABOVE / BIN_WIDTH) - shift, first), end)
        lowest = math.floor(-BELOW / BIN_WIDTH)
        first = max(first, min(lowest - shift - reach, end + lowest))
        ones = self._sums[0, :, saturated:end].sum(1, keepdim=True)
        if first >= saturated:
            return (ones / self.size).expand(-1, nodes).clone()
        curve = self._cubics(_complement_of_one, first + shift, saturated - first + reach)
        windows = curve.unfold(1, saturated - first, BINS_PER_NODE)  # (moments, nodes, bins)
        return (self._contract(first, saturated, windows.transpose(1, 2)) + ones) / self.size

    def _contract(self, first: int, end: int, cubics: torch.Tensor) -> torch.Tensor:
        """Sum over bins and moments of moments times coefficients (moments, bins, n): (anchors, n)."""
        terms = [s[:, first:end] @ c for s, c in zip(self._sums, cubics, strict=True)]
        return torch.stack(terms).sum(0)

    def _cubics(self, curve: Callable[[torch.Tensor], torch.Tensor], first: int, intervals: int) -> torch.Tensor:
        """Coefficients in ρ of cubics through `curve` on intervals [j, j+1)·width, j from `first`: (4, intervals)."""
        positions, inverse = (
            torch.as_tensor(array, device=self._sums.device) for array in (_POSITIONS, _TO_COEFFICIENTS)
        )
        centres = (torch.arange(first, first + intervals, device=self._sums.device) + 0.5) * BIN_WIDTH
        return inverse @ curve(centres + positions[:, None] * (BIN_WIDTH / 2))


def _complement_of_one(v: torch.Tensor) -> torch.Tensor:
    """1 - exp(-e^v), the curve of a single weight."""
    return -torch.expm1(-v.exp())
