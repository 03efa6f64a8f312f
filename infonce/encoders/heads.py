"""The last map of an encoder, from features f in R^m onto the unit sphere."""

from collections.abc import Callable

import torch

__all__ = ["HEAD_FUNCTIONS", "lift", "normalize"]

ZERO_NORM = 1e-12


def normalize(features: torch.Tensor) -> torch.Tensor:
    """f/‖f‖, row by row: not Lipschitz at 0, so assumption (C) is not met.

    A row with ‖f‖ < 1e-12 becomes the first basis vector, with gradient zero: the map has no value there, a unit row
    keeps every similarity in [-1, 1], and the gradient of order 1/‖f‖ would end the training. Half precision is
    widened to float32; a non-finite row stays non-finite.
    """
    features = _wide(features)
    # Dividing by the largest entry first keeps the squares of any finite float32 from overflowing.
    scale = features.detach().abs().amax(1, keepdim=True)
    zero = scale < ZERO_NORM
    scaled = features / scale.masked_fill(zero, 1.0)
    norm = torch.linalg.vector_norm(scaled, dim=1, keepdim=True).clamp_min(0.5)  # at least 1 but in a zero row
    fallback = torch.zeros_like(features[:1])
    fallback[:, 0] = 1.0
    return torch.where(zero, fallback, scaled / norm)


def lift(features: torch.Tensor) -> torch.Tensor:
    """(f,1)/√(1+‖f‖²), row by row: one dimension more, 1-Lipschitz, onto the upper half of the sphere."""
    features = _wide(features)
    return normalize(torch.cat([features, torch.ones_like(features[:, :1])], dim=1))


HEAD_FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {"normalize": normalize, "lift": lift}


def _wide(features: torch.Tensor) -> torch.Tensor:
    return features.to(torch.promote_types(features.dtype, torch.float32))
