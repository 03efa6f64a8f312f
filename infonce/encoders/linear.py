"""A linear map without bias: the smallest encoder that meets assumption (C)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from infonce.encoders.registry import HEADS, Shape, register

if TYPE_CHECKING:
    from torch import nn


@register(
    "linear",
    description="a linear map of the flattened input, without bias",
    heads=HEADS,
    lipschitz=True,
)
def build(input_shape: Shape, features: int) -> nn.Module:
    """f(z) = W z."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(input_shape), features, bias=False))
