"""An encoder φ = head ∘ backbone and its He initialisation from an own random stream."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from infonce.encoders import registry
from infonce.encoders.heads import HEAD_FUNCTIONS
from infonce.errors import ConfigError
from infonce.random import normals, stream_key
from infonce.spec.run import RunSpec

__all__ = ["Encoder", "build_encoder", "encoder_of"]


class Encoder(nn.Module):
    """φ_θ: inputs to unit rows in R^dimension; `features` are f_θ before the head."""

    def __init__(self, backbone: nn.Module, head: str) -> None:
        """Put the head named `head` on a backbone."""
        super().__init__()
        self.backbone = backbone
        self.head = HEAD_FUNCTIONS[head]

    def features(self, inputs: torch.Tensor) -> torch.Tensor:
        """f_θ(z), shape (B, m)."""
        return self.backbone(inputs)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """φ_θ(z), unit rows in float32 or float64, shape (B, dimension)."""
        return self.head(self.backbone(inputs))

    def layers(self) -> list[tuple[torch.Tensor, float]]:
        """Each weight as a matrix W with a factor c, so that the layer's operator norm is at most c·‖W‖.

        c is 1 for a linear map; a convolution with an h×w kernel reads every input up to h·w times, so c = √(h·w).
        With these, C_Φ of a network without biases is a product over layers (theory, Sec. 6).
        """
        found = []
        for module in self.backbone.modules():
            if isinstance(module, nn.Linear):
                found.append((module.weight, 1.0))
            elif isinstance(module, nn.Conv2d):
                found.append((module.weight.flatten(1), math.sqrt(math.prod(module.kernel_size))))
        return found


def build_encoder(
    name: str, input_shape: tuple[int, ...], dimension: int, head: str, options: Mapping[str, Any], key: int
) -> Encoder:
    """An encoder on the CPU, initialised by the stream `key`.

    Args:
        name: as registered.
        input_shape: of one input, (C, H, W) or (D,).
        dimension: of the embedding, so that the sphere is S^(dimension-1) whatever the head.
        head: `normalize` or `lift`.
        options: of the encoder; defaults are filled in.
        key: of the random stream, from `stream_key`.

    Raises:
        ConfigError: an unknown name or option, a head or an input shape that the encoder cannot have.
    """
    info = registry.encoder(name)
    problem = (
        registry.head_problem(name, head)
        or registry.dimension_problem(head, dimension)
        or registry.input_problem(name, tuple(input_shape))
    )
    if problem:
        raise ConfigError(problem)
    features = registry.feature_dimension(head, dimension)
    backbone = info.build(tuple(input_shape), features, **registry.complete_options(name, options))
    encoder = Encoder(backbone, head)
    initialise(encoder, key)
    return encoder


def encoder_of(spec: RunSpec, input_shape: tuple[int, ...]) -> Encoder:
    """The encoder of a run at its initial parameters θ_0."""
    key = stream_key(spec.seed, "encoder")
    return build_encoder(spec.encoder, input_shape, spec.dimension, spec.head, spec.encoder_options, key)


@torch.no_grad()
def initialise(encoder: Encoder, key: int) -> None:
    """He initialisation: weights N(0, 2/fan_in), biases 0, normalisation layers at the identity."""
    for name, parameter in encoder.named_parameters():
        if parameter.ndim >= 2:
            deviation = math.sqrt(2 / parameter[0].numel())
            draws = normals(stream_key(key, name), torch.arange(parameter.numel()))
            parameter.copy_(draws.view_as(parameter) * deviation)
        else:
            parameter.fill_(0.0 if name.endswith("bias") else 1.0)
