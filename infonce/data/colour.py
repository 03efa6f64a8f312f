"""Changes of colour for a whole batch of images (B, 3, H, W) in [0, 1], with a parameter for each image.

They work in place, as torch's own operations with an underscore do, and agree with torchvision's
brightness, contrast, saturation, hue and grey, image by image.
"""

import torch

_GREY_WEIGHTS = (0.2989, 0.587, 0.114)
_HUES = (0.0, 2.0, 4.0)  # of red, green and blue, in sixths of the circle

BLACK, MEAN, GREY = 0, 1, 2
"""What `stretch_` stretches about; brightness, contrast and saturation are the same change about another point."""


def stretch_(images: torch.Tensor, factor: torch.Tensor, about: torch.Tensor) -> None:
    """Move away from (factor > 1) or towards (factor < 1) a point of reference; clipped to [0, 1].

    `about` (B,) chooses it for each image: BLACK changes the brightness; MEAN, the mean grey of the image,
    the contrast; GREY, each pixel's own grey, the saturation. Also for images of one channel, whose
    saturation is fixed.
    """
    own = grey(images)
    rest = 1 - factor
    mean = own.flatten(1).mean(dim=1)
    reference = (own * _per_image(rest * (about == GREY))).add_(_per_image(mean * rest * (about == MEAN)))
    torch.addcmul(reference, images, _per_image(factor), out=images).clamp_(0, 1)


def hue_(images: torch.Tensor, factor: torch.Tensor) -> None:
    """Turn the hue by the parts `factor` (B,) of the full circle, keeping value and saturation.

    Let the chroma C be the largest channel less the smallest. In sixths of the circle, with red at 0, green at 2 and
    blue at 4, the hue is 3 ± (2 + (red - green - blue + smallest) / C), with + where blue ≥ green. The other way
    round, a channel at the distance a from the hue holds largest + C - C·min(max(3 - a, 1), 2).
    """
    red, green, blue = images.unbind(dim=1)
    largest, smallest = images.amax(dim=1), images.amin(dim=1)
    opposite = (red - green).sub_(blue).add_(smallest)
    chroma = torch.sub(largest, smallest, out=smallest).clamp_min_(1e-12)  # grey has no hue, and any serves
    opposite.div_(chroma).add_(2).copysign_(blue.sub_(green))
    # From here on hues count from cyan, which is opposite to red: -3 to 3. With a channel's turn added a hue comes to
    # stand as far from 0 as the turned hue stands from the channel's opposite, up to whole circles.
    turn = 6 * factor[:, None] - torch.tensor(_HUES, device=images.device)
    turn = (turn - 6 * torch.round(turn / 6))[:, :, None, None]
    torch.add(opposite[:, None], turn, out=images).abs_().sub_(3).abs_().clamp_(1, 2)
    torch.addcmul(largest.add_(chroma)[:, None], images, chroma[:, None], value=-1, out=images)


def grey(images: torch.Tensor) -> torch.Tensor:
    """Luma (B, 1, H, W); an image of one channel is its own."""
    if images.shape[1] == 1:
        return images
    weights = torch.tensor([_GREY_WEIGHTS], device=images.device)
    return torch.matmul(weights, images.flatten(2)).unflatten(2, images.shape[2:])


def _per_image(parameter: torch.Tensor) -> torch.Tensor:
    return parameter[:, None, None, None]
