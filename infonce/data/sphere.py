"""The synthetic data set `sphere`: points uniform on S^(D-1), and their von Mises-Fisher positives."""

import functools
import math

import numpy as np
import torch

from infonce.random import normals, uniforms

_CELLS, _NODES, _NEWTON_STEPS = 2048, 8, 6


def uniform_points(count: int, dimension: int, norm_sigma: float, key: int) -> np.ndarray:
    """float32 (count, D): directions uniform on the sphere, independent norms exp(σ·standard normal).

    Row i depends on the key and on i alone.
    """
    rows = torch.arange(count)
    directions = _directions(key, 0, rows, dimension)
    return (directions * log_normal_norms(norm_sigma, key, 0, rows)[:, None]).numpy().astype(np.float32)


def log_normal_norms(norm_sigma: float, key: int, epoch: int, samples: torch.Tensor) -> torch.Tensor:
    """float64 (B,): norms with log-standard-deviation σ and median 1."""
    return torch.exp(norm_sigma * normals(key, epoch, samples, -1))


def von_mises_fisher(
    directions: torch.Tensor, concentration: float, key: int, epoch: int, samples: torch.Tensor
) -> torch.Tensor:
    """One draw from vMF(a, κ), density ∝ exp(κ⟨a, ·⟩), for each unit row a of `directions` (B, D).

    The angle to a is drawn by inverting its distribution function, so a row depends on its own counters
    alone, and no draw is ever rejected. Returns float64 unit rows (B, D).
    """
    a = directions.to(torch.float64)
    u = uniforms(key, epoch, samples, -2)
    angle = angle_quantile(u.cpu(), a.shape[1], concentration).to(a.device)[:, None]
    towards = normals(key, epoch, samples[:, None], torch.arange(a.shape[1], device=samples.device)).to(a.device)
    tangent = torch.nn.functional.normalize(towards - (towards * a).sum(1, keepdim=True) * a, dim=1)
    return torch.nn.functional.normalize(torch.cos(angle) * a + torch.sin(angle) * tangent, dim=1)


def angle_quantile(u: torch.Tensor, dimension: int, concentration: float) -> torch.Tensor:
    """Angles θ in [0, π] with P(angle ≤ θ) = u under vMF on S^(D-1), to about 1e-12; u float64 in [0, 1).

    The density is ∝ exp(κ(cos θ - 1)) sin^(D-2) θ. Its distribution function is tabulated by
    Gauss-Legendre quadrature in cells, and inverted inside a cell by Newton's method with the same
    quadrature.
    """
    table = _angle_table(dimension, concentration)
    target = u * table.cumulative[-1]
    cell = (torch.searchsorted(table.cumulative, target, right=True) - 1).clamp_(0, _CELLS - 1)
    left, width = table.edges[cell], table.edges[1]
    needed = target - table.cumulative[cell]
    share = needed / (table.cumulative[cell + 1] - table.cumulative[cell]).clamp_min(1e-300)
    # Near angle 0 the density grows as θ^(D-2), further on it hardly changes within a cell.
    theta = left + width * torch.where(cell == 0, share ** (1 / (dimension - 1)), share)
    for _ in range(_NEWTON_STEPS):
        span = (theta - left)[:, None]
        mass = span[:, 0] * (table.density(left[:, None] + span * table.nodes) @ table.weights)
        theta = theta - (mass - needed) / table.density(theta).clamp_min(1e-300)
        theta = torch.clamp(theta, min=left, max=left + width)
    return theta


class _AngleTable:
    """Mass of the angle from 0 up to each cell edge, where the last edge leaves less than 1e-16 of it."""

    def __init__(self, dimension: int, concentration: float) -> None:
        points, weights = np.polynomial.legendre.leggauss(_NODES)
        self.nodes, self.weights = torch.from_numpy((points + 1) / 2), torch.from_numpy(weights / 2)
        self.dimension, self.concentration, self.log_peak = dimension, concentration, 0.0
        # The mass sits within a few deviations 1/sqrt(κ) of the typical angle sqrt((D-2)/κ).
        reach = min(math.pi, (math.sqrt(dimension - 2) + 10) * 1.6 / math.sqrt(concentration))
        self.edges = torch.linspace(0, reach, _CELLS + 1, dtype=torch.float64)
        width = self.edges[1]
        angles = self.edges[:-1, None] + width * self.nodes
        self.log_peak = float(self._log_density(angles).max())
        masses = width * (self.density(angles) @ self.weights)
        self.cumulative = torch.cat([torch.zeros(1, dtype=torch.float64), torch.cumsum(masses, 0)])

    def density(self, theta: torch.Tensor) -> torch.Tensor:
        """Up to a constant that makes its largest value 1."""
        return torch.exp(self._log_density(theta) - self.log_peak)

    def _log_density(self, theta: torch.Tensor) -> torch.Tensor:
        powers = torch.special.xlogy(self.dimension - 2, torch.sin(theta))
        return powers - 2 * self.concentration * torch.sin(theta / 2) ** 2


_angle_table = functools.lru_cache(maxsize=8)(_AngleTable)


def _directions(key: int, epoch: int, rows: torch.Tensor, dimension: int) -> torch.Tensor:
    gaussian = normals(key, epoch, rows[:, None], torch.arange(dimension))
    return torch.nn.functional.normalize(gaussian, dim=1)
