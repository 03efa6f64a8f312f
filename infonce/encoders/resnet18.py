"""torchvision's ResNet-18 with the stem that fits the image size and SimCLR's projection head."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from infonce.encoders.registry import Option, Shape, register

if TYPE_CHECKING:
    from torch import nn

SMALL_IMAGE = 64  # up to this side length the stem keeps the resolution, as in SimCLR's CIFAR experiments
GROUPS = 32


@register(
    "resnet18",
    description="ResNet-18; for sides up to 64 pixels a 3×3 stem without pooling",
    heads=("normalize",),
    lipschitz=False,
    images_only=True,
    options={
        "normalization": Option(
            "group",
            "group: GroupNorm, an embedding function of one image; batch: BatchNorm, which in training mixes images",
            choices=("group", "batch"),
        ),
        "projection": Option(
            "simclr", "simclr: Linear, ReLU, Linear as in SimCLR; none: one linear map", choices=("simclr", "none")
        ),
    },
)
def build(input_shape: Shape, features: int, normalization: str, projection: str) -> nn.Module:
    """The network from images to features."""
    from torch import nn
    from torchvision.models import resnet18

    norm = nn.BatchNorm2d if normalization == "batch" else partial(nn.GroupNorm, GROUPS)
    network = resnet18(norm_layer=norm, num_classes=features)
    channels, *sides = input_shape
    if max(sides) <= SMALL_IMAGE:
        network.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        network.maxpool = nn.Identity()
    elif channels != 3:
        network.conv1 = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
    if projection == "simclr":
        width = network.fc.in_features
        network.fc = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, features))
    return network
