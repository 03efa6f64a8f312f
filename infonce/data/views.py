"""Random views of images: a whole batch at once on its device, every sample with parameters of its own.

A view is a pure function of image, stream key, epoch and sample number; it does not depend on the batch
that the image stands in, on workers, or on the device.
"""

import math

import torch
from torch.nn import functional

from infonce.data.natural_views import natural_views
from infonce.data.resampling import resample, resampling_matrix
from infonce.random import normals, uniforms
from infonce.spec.run import ViewOptions

SMALL_RECIPE = {"shift": 0.125, "zoom": 0.15, "contrast": 0.4, "noise": 0.05}
"""Recipe `small-1`: shift as a part of the side, zoom and contrast around 1, deviation of the noise."""
_LARGEST_ZOOM = 0.9


def make_views(images: torch.Tensor, key: int, epoch: int, samples: torch.Tensor, options: ViewOptions) -> torch.Tensor:
    """Views of uint8 images (B, C, H, W) by the recipe of `options`: float32 in [0, 1], of the same shape.

    `samples` (B,) number the views within the epoch: equal numbers give equal parameters.
    """
    samples = samples.to(images.device)
    if options.strength == 0:
        return images.to(torch.float32) / 255
    if options.recipe == "small-1":
        return small_views(images, key, epoch, samples, options)
    return natural_views(images, key, epoch, samples, options)


def small_views(
    images: torch.Tensor, key: int, epoch: int, samples: torch.Tensor, options: ViewOptions
) -> torch.Tensor:
    """Shift, zoom about the centre, contrast about the image's mean, and noise, for images of few pixels.

    What comes in from outside the image is black, as the digits' background is.
    """
    strength = {name: options.strength * _strength(options, name) for name in SMALL_RECIPE}
    strength["zoom"] = min(strength["zoom"], _LARGEST_ZOOM)
    pixels = images.to(torch.float32) / 255
    side = pixels.shape[-1]
    symmetric = 2 * uniforms(key, epoch, samples[:, None], torch.arange(4, device=samples.device)) - 1
    length = side / (1 + strength["zoom"] * symmetric[:, 0])
    # Room for the longest box at its furthest shift, so that every box lies inside.
    margin = math.ceil(side * (0.5 / (1 - strength["zoom"]) - 0.5 + strength["shift"]))
    padded = functional.pad(pixels, [margin] * 4)
    start = margin + (side - length) / 2 + strength["shift"] * side * symmetric[:, 1:3].T
    across, down = (resampling_matrix(first, length, side + 2 * margin, side) for first in start)
    views = resample(padded, down, across)
    mean = views.mean(dim=(1, 2, 3), keepdim=True)
    factor = (1 + strength["contrast"] * symmetric[:, 3]).to(torch.float32)[:, None, None, None]
    pixel = torch.arange(views[0].numel(), device=samples.device)
    noise = normals(key, epoch, samples[:, None], 4 + pixel).to(torch.float32).reshape(views.shape)
    return (mean + factor * (views - mean) + strength["noise"] * noise).clamp_(0, 1)


def _strength(options: ViewOptions, name: str) -> float:
    chosen = getattr(options, name)
    return SMALL_RECIPE[name] if chosen is None else chosen
