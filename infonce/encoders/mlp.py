"""A ReLU network with zero biases: positively homogeneous, so that assumption (C) holds with an explicit constant."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from infonce.encoders.registry import HEADS, Option, Shape, register

if TYPE_CHECKING:
    from torch import nn


@register(
    "mlp",
    description="fully connected ReLU layers without biases",
    heads=HEADS,
    lipschitz=True,
    options={
        "width": Option(256, "units of each hidden layer", least=1),
        "hidden_layers": Option(1, "number of hidden layers", least=1),
    },
)
def build(input_shape: Shape, features: int, width: int, hidden_layers: int) -> nn.Module:
    """f(z) = W_L ReLU(... ReLU(W_1 z))."""
    from torch import nn

    widths = [math.prod(input_shape)] + [width] * hidden_layers
    hidden = [
        layer
        for inputs, outputs in itertools.pairwise(widths)
        for layer in (nn.Linear(inputs, outputs, bias=False), nn.ReLU())
    ]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(widths[-1], features, bias=False))
