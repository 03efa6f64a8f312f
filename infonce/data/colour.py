"""Changes of colour for a whole batch of images (B, 3, H, W) in [0, 1], with a parameter for each image.

They work in place, as torch's own operations with an underscore do, and agree with torchvision's
brightness, contrast, saturation, hue and grey, image by image.
"""

import torch

_GREY_WEIGHTS = (0.2989, 0.587, 0.114)
_OPPOSITE_HUES = (3.0, 5.0, 1.0)  # of red, green and blue, in sixths of the circle

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
    images.mul_(_per_image(factor)).add_(reference).clamp_(0, 1)


def hue_(images: torch.Tensor, factor: torch.Tensor) -> None:
    """Turn the hue by the parts `factor` (B,) of the full circle, keeping value and saturation."""
    red, green, blue = images.unbind(dim=1)
    value = torch.maximum(torch.maximum(red, green), blue)
    chroma = value - torch.minimum(torch.minimum(red, green), blue)
    # Weights of 0 and 1 select exactly and faster than a comparison: is the largest channel another one than …?
    not_red, not_green = (value - red).sign_(), (value - green).sign_()
    difference = torch.lerp(green - blue, torch.lerp(blue - red, red - green, not_green), not_red)
    # The hue in sixths of the circle: red is 0, green 2, blue 4. Grey pixels have none, and any serves.
    sixths = difference.div_(chroma.clamp_min(1e-12)).add_(not_green.add_(1).mul_(not_red), alpha=2)
    circle = sixths.div_(6).add_(factor[:, None, None])
    sixths = circle.sub_(circle.floor()).mul_(6)
    # Up to one sixth from its own hue a channel stands at the value, from two on it is lowest: value - chroma.
    highest = value.add_(chroma)
    opposite = torch.tensor(_OPPOSITE_HUES, device=images.device)[:, None, None]
    torch.sub(sixths[:, None], opposite, out=images).abs_().sub_(3).abs_().clamp_(1, 2)
    torch.addcmul(highest[:, None], images, chroma[:, None], value=-1, out=images)


def grey(images: torch.Tensor) -> torch.Tensor:
    """Luma (B, 1, H, W); an image of one channel is its own."""
    if images.shape[1] == 1:
        return images
    red, green, blue = images.split(1, dim=1)
    weight_red, weight_green, weight_blue = _GREY_WEIGHTS
    return (red * weight_red).add_(green, alpha=weight_green).add_(blue, alpha=weight_blue)


def _per_image(parameter: torch.Tensor) -> torch.Tensor:
    return parameter[:, None, None, None]
