"""Recipe `natural-1`: SimCLR's views of photographs (Chen et al. 2020, appendix A), for a whole batch at once.

In this order: a random resized crop, a mirror image, colour jitter in random order, grey, and blur. From 64 pixels on
the strengths are those of ImageNet; smaller images get half the jitter and no blur, as for CIFAR-10.
"""

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch

from infonce.data import colour
from infonce.data.resampling import blur, crop_and_enlarge
from infonce.random import uniforms
from infonce.spec.run import ViewOptions

_LARGE_SIDE = 64
_CROP_ATTEMPTS = 10
_ASPECT = (3 / 4, 4 / 3)
_BLUR_SIGMA = (0.1, 2.0)
_HUE, _NO_JITTER = 3, 4
_JITTER_ORDERS = list(itertools.permutations((colour.BLACK, colour.MEAN, colour.GREY, _HUE)))
_HUE_PLACES = torch.tensor([order.index(_HUE) for order in _JITTER_ORDERS])
_BLOCK = 1 << 20
"""Numbers in a block on a processor: 4 MiB of float32, which stay in its caches."""


class NaturalStrengths(NamedTuple):
    """What the recipe does to images of one size."""

    smallest_crop: float
    """Smallest part of the area that a crop keeps."""
    flip: float
    jitter: float
    brightness: float
    contrast: float
    saturation: float
    hue: float
    grey: float
    blur: float
    """`flip`, `jitter`, `grey` and `blur` are probabilities; the other four are half-widths of a uniform range."""


def natural_strengths(side: int, options: ViewOptions) -> NaturalStrengths:
    """The recipe's strengths for images of `side` pixels, with those that the options set, times their factor."""
    colours, blur = (1.0, 0.5) if side >= _LARGE_SIDE else (0.5, 0.0)
    recipe = NaturalStrengths(0.08, 0.5, 0.8, 0.8 * colours, 0.8 * colours, 0.8 * colours, 0.2 * colours, 0.2, blur)
    chosen = {name: getattr(options, name) for name in NaturalStrengths._fields}
    given = recipe._replace(**{name: value for name, value in chosen.items() if value is not None})
    factor = options.strength
    scaled = {name: factor * getattr(given, name) for name in ("brightness", "contrast", "saturation")}
    shares = {name: min(1, factor) * getattr(given, name) for name in ("flip", "jitter", "grey", "blur")}
    smallest = given.smallest_crop
    crop = max(smallest + (1 - factor) * (1 - smallest), min(smallest, 0.01))
    return NaturalStrengths(smallest_crop=crop, hue=min(0.5, factor * given.hue), **scaled, **shares)


class NaturalParameters(NamedTuple):
    """One view of each image (B,): the crop's box in whole pixels, and what is done to its colours."""

    top: torch.Tensor
    left: torch.Tensor
    height: torch.Tensor
    width: torch.Tensor
    flip: torch.Tensor
    jitter: torch.Tensor
    order: torch.Tensor
    """Number of the order of the four changes of colour."""
    brightness: torch.Tensor
    contrast: torch.Tensor
    saturation: torch.Tensor
    hue: torch.Tensor
    grey: torch.Tensor
    blur: torch.Tensor
    sigma: torch.Tensor


def natural_parameters(
    height: int, width: int, key: int, epoch: int, samples: torch.Tensor, strengths: NaturalStrengths
) -> NaturalParameters:
    """Draw the parameters of the samples (B,), each from its own counters."""
    slots = torch.arange(14 + 2 * _CROP_ATTEMPTS, device=samples.device)
    drawn = uniforms(key, epoch, samples[:, None], slots)
    u = drawn.T
    box_height, box_width = _crop_size(height, width, strengths.smallest_crop, drawn[:, 14:])
    brightness, contrast, saturation = (
        (max(0.0, 1 - half) + (1 + half - max(0.0, 1 - half)) * u[slot]).to(torch.float32)
        for slot, half in ((5, strengths.brightness), (6, strengths.contrast), (7, strengths.saturation))
    )
    low, high = _BLUR_SIGMA
    return NaturalParameters(
        top=torch.floor(u[0] * (height - box_height + 1)),
        left=torch.floor(u[1] * (width - box_width + 1)),
        height=box_height,
        width=box_width,
        flip=u[2] < strengths.flip,
        jitter=u[3] < strengths.jitter,
        order=(u[4] * len(_JITTER_ORDERS)).to(torch.int64),
        brightness=brightness,
        contrast=contrast,
        saturation=saturation,
        hue=(strengths.hue * (2 * u[8] - 1)).to(torch.float32),
        grey=u[9] < strengths.grey,
        blur=u[10] < strengths.blur,
        sigma=(low + (high - low) * u[11]).to(torch.float32),
    )


def _crop_size(height: int, width: int, smallest: float, drawn: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Whole heights and widths (B,): the first of ten boxes of random area and aspect that fits, else all.

    `drawn` (B, 20) uniform numbers. The whole image is what remains, since its aspect lies within the range.
    """
    area = height * width * (smallest + (1 - smallest) * drawn[:, :_CROP_ATTEMPTS])
    narrow, wide = (math.log(ratio) for ratio in _ASPECT)
    aspect = torch.exp(narrow + (wide - narrow) * drawn[:, _CROP_ATTEMPTS:])
    widths, heights = torch.round(torch.sqrt(area * aspect)), torch.round(torch.sqrt(area / aspect))
    fits = (widths >= 1) & (heights >= 1) & (widths <= width) & (heights <= height)
    first = fits.to(torch.int8).argmax(dim=1, keepdim=True)
    any_fits = fits.any(dim=1)
    return (
        torch.where(any_fits, heights.gather(1, first)[:, 0], height),
        torch.where(any_fits, widths.gather(1, first)[:, 0], width),
    )


def natural_views(
    images: torch.Tensor, key: int, epoch: int, samples: torch.Tensor, options: ViewOptions
) -> torch.Tensor:
    """Views of uint8 images (B, C, H, W): float32 in [0, 1]; grey images keep the colourless part."""
    height, width = images.shape[2:]
    strengths = natural_strengths(min(height, width), options)
    with _threads_for(min(height, width)):
        return apply(images, natural_parameters(height, width, key, epoch, samples, strengths))


def apply(images: torch.Tensor, parameters: NaturalParameters) -> torch.Tensor:
    """The views of uint8 images that the parameters describe.

    Images that are blurred stand behind those that are not meanwhile, and among each those whose hue changes at the
    same place among the four changes are neighbours, since the other three are one operation. On a processor the work
    goes block by block, so that what is made on the way stays in its cache.
    """
    hue_place = _HUE_PLACES.to(images.device)[parameters.order]
    hue_place = torch.where(parameters.jitter, hue_place, _NO_JITTER)
    neighbours = torch.argsort(hue_place + (_NO_JITTER + 1) * parameters.blur, stable=True)
    hue_place = hue_place[neighbours]
    parameters = NaturalParameters(*(values[neighbours] for values in parameters))
    views = torch.empty(images.shape, dtype=torch.float32, device=images.device)
    block = len(images) if images.is_cuda else max(1, _BLOCK // images[0].numel())
    for start in range(0, len(images), block):
        rows = slice(start, start + block)
        pixels = images.index_select(0, neighbours[rows]).to(torch.float32).div_(255)
        part = NaturalParameters(*(values[rows] for values in parameters))
        views.index_copy_(0, neighbours[rows], _block_of_views(pixels, part, hue_place[rows]))
    return views


@contextmanager
def _threads_for(side: int) -> Iterator[None]:
    """One thread for small images: their operations are so short that threads only wait for each other."""
    threads = torch.get_num_threads()
    if side >= _LARGE_SIDE or threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _block_of_views(pixels: torch.Tensor, parameters: NaturalParameters, hue_place: torch.Tensor) -> torch.Tensor:
    views = crop_and_enlarge(pixels, *parameters[:5])
    start = 0
    places, sizes = torch.unique_consecutive(hue_place, return_counts=True)
    for place, size in zip(places.tolist(), sizes.tolist(), strict=True):
        alike = slice(start, start := start + size)
        if place != _NO_JITTER:
            part = NaturalParameters(*(values[alike] for values in parameters))
            _jitter_(views[alike], part, place)
    if views.shape[1] == 3 and len(rows := torch.nonzero(parameters.grey)[:, 0]):
        views.index_copy_(0, rows, colour.grey(views.index_select(0, rows)).expand(-1, 3, -1, -1))
    blurred = slice(len(views) - int(parameters.blur.sum()), len(views))
    if blurred.start < blurred.stop:
        views[blurred] = blur(views[blurred], parameters.sigma[blurred], _blur_kernel(min(views.shape[2:])))
    return views


def _jitter_(views: torch.Tensor, parameters: NaturalParameters, hue_place: int) -> None:
    """The four changes of colour in place, each image's in its own order but for the hue, whose place they share."""
    factors = torch.stack((parameters.brightness, parameters.contrast, parameters.saturation), dim=1)
    changes = torch.tensor(_JITTER_ORDERS, device=views.device)[parameters.order]
    for place in range(4):
        if place != hue_place:
            about = changes[:, place]
            factor = factors.gather(1, about[:, None])[:, 0]
            colour.stretch_(views, factor, about)
        elif views.shape[1] == 3:
            colour.hue_(views, parameters.hue)


def _blur_kernel(side: int) -> int:
    """A tenth of the side, and odd."""
    return max(3, side // 10 | 1)
