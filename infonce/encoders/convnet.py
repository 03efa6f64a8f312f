"""A small convolutional network without biases and without normalisation layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infonce.encoders.registry import HEADS, Option, Shape, register

if TYPE_CHECKING:
    from torch import nn


@register(
    "convnet",
    description="3×3 convolutions with ReLU, halving the resolution between them; no biases, no normalisation",
    heads=HEADS,
    lipschitz=True,
    images_only=True,
    options={
        "width": Option(32, "channels of the first convolution, doubled by each further one", least=1),
        "layers": Option(3, "number of convolutions", least=1),
    },
)
def build(input_shape: Shape, features: int, width: int, layers: int) -> nn.Module:
    """Convolutions, then the mean over positions, then a linear map to the features."""
    from torch import nn

    channels, side = input_shape[0], min(input_shape[1:])
    parts: list[nn.Module] = []
    for layer in range(layers):
        outputs = width * 2**layer
        parts += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.ReLU()]
        if layer + 1 < layers and side >= 4:
            parts.append(nn.AvgPool2d(2))
            side //= 2
        channels = outputs
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, features, bias=False))
