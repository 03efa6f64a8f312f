"""A lower estimate of the Rademacher complexity of a ball of encoders, by gradient ascent over random signs.

The empirical complexity of the losses over the ball `‖θ - θ_0‖ ≤ R_θ` is

    Rad = E_σ sup_θ (1/n) Σ_i σ_i ℓ_i(θ),   σ_i independent signs.

Ascent finds a point of the ball for each draw of signs, so its mean lies below Rad up to the draw of the signs: a
lower estimate. Upper bounds are `bounds.prop5_rademacher` (literal) and `bounds.tight_rademacher` (tight); half the
range of the loss bounds it as well. The three make a sandwich.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from infonce.random import stream_key, uniforms
from infonce.theory.checks import count, positive_number


@dataclass(frozen=True)
class LowerEstimate:
    """Mean over the draws of signs, its standard error, and what ascent found for each draw; nats."""

    value: float
    standard_error: float
    draws: np.ndarray  # (draws,)


def rademacher_lower(
    module: torch.nn.Module,
    losses: Callable[[torch.nn.Module], torch.Tensor],
    radius: float,
    seed: int,
    draws: int = 16,
    steps: int = 60,
) -> LowerEstimate:
    """Lower estimate of Rad over the ball around the parameters of `module` (measured; Sec. 6).

    Args:
        module: the encoder at θ_0; a copy of it is moved.
        losses: from an encoder to the losses of the n training tuples, (n,), differentiable.
        radius: R_θ > 0.
        seed: of the signs.
        draws: of signs; at least 2, so that there is a standard error.
        steps: of projected gradient ascent for each draw.

    Returns:
        Mean of `sup - value at θ_0`: the value at θ_0 has mean zero over the signs, and taking it off removes most
        of their noise. Each draw is at least zero.

    Raises:
        ValueError: naming a bad argument.
    """
    r = positive_number(radius, "radius")
    if count(draws, "draws") < 2:
        raise ValueError(f"draws: expected at least 2, got {draws}")
    moved = copy.deepcopy(module)
    start = parameters_to_vector(module.parameters()).detach().clone()
    found = np.array(
        [
            _ascend(moved, start, losses, r, stream_key(seed, "rademacher", i), count(steps, "steps"))
            for i in range(draws)
        ]
    )
    return LowerEstimate(float(found.mean()), float(found.std(ddof=1) / math.sqrt(draws)), found)


def _ascend(
    module: torch.nn.Module,
    start: torch.Tensor,
    losses: Callable[[torch.nn.Module], torch.Tensor],
    radius: float,
    key: int,
    steps: int,
) -> float:
    """Largest sign-weighted mean loss on the way of an ascent within the ball, less that at θ_0."""
    vector_to_parameters(start.clone(), module.parameters())
    signs: torch.Tensor | None = None
    at_start, best = 0.0, 0.0
    for step in range(steps + 1):
        values = losses(module)
        if signs is None:
            if values.ndim != 1 or not values.requires_grad:
                raise ValueError(f"losses: expected differentiable losses of shape (n,), got {tuple(values.shape)}")
            signs = torch.where(uniforms(key, torch.arange(len(values))) < 0.5, -1.0, 1.0).to(values)
        objective = (signs * values).mean()
        best = max(best, float(objective.detach()) - at_start) if step else 0.0
        at_start = at_start if step else float(objective.detach())
        if step < steps:
            _step(module, start, objective, radius, 2 * radius * (1 - step / steps) / math.sqrt(step + 1))
    return best


def _step(module: torch.nn.Module, start: torch.Tensor, objective: torch.Tensor, radius: float, length: float) -> None:
    """Move along the gradient by `length`, then back onto the ball."""
    parameters = list(module.parameters())
    gradient = parameters_to_vector(torch.autograd.grad(objective, parameters))
    norm = float(gradient.norm())
    if norm == 0:
        return
    offset = parameters_to_vector(parameters).detach() - start + gradient * (length / norm)
    offset *= min(1.0, radius / float(offset.norm()))
    vector_to_parameters(start + offset, parameters)
