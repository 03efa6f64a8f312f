"""Cropping, resizing and blurring of a whole batch, each image in its own way."""

import torch
from torch.nn import functional


def resampling_matrix(start: torch.Tensor, length: torch.Tensor, size: int, out: int) -> torch.Tensor:
    """Weights (B, out, size) that resample [start, start + length) of a line of `size` pixels to `out`.

    Bilinear with antialiasing: pixel i of the result is a weighted mean around start + (i + 1/2)·length/out, with
    triangular weights of half-width max(1, length/out).
    """
    start, length = start.to(torch.float32)[:, None, None], length.to(torch.float32)[:, None, None]
    scale = length / out
    middle = torch.arange(size, device=start.device) + 0.5 - start
    centre = (torch.arange(out, device=start.device)[:, None] + 0.5) * scale
    weights = (middle - centre).abs_().div_(scale.clamp_min(1)).neg_().add_(1).clamp_(min=0)
    return weights.div_(weights.sum(dim=2, keepdim=True))


def resample(images: torch.Tensor, down: torch.Tensor, across: torch.Tensor) -> torch.Tensor:
    """Apply (B, out_h, H) and (B, out_w, W) weights to images (B, C, H, W) → (B, C, out_h, out_w)."""
    batch, channels, height, width = images.shape
    narrowed = torch.bmm(images.reshape(batch, channels * height, width), across.transpose(1, 2))
    return torch.matmul(down[:, None], narrowed.reshape(batch, channels, height, -1))


def crop_and_enlarge(
    images: torch.Tensor,
    top: torch.Tensor,
    left: torch.Tensor,
    height: torch.Tensor,
    width: torch.Tensor,
    flip: torch.Tensor,
) -> torch.Tensor:
    """Cut a box of whole pixels out of each image (B, C, H, W), enlarge it to H×W, and mirror it where `flip`.

    Bilinear; a box is never larger than its image, so antialiasing would change nothing. Pixels outside the box have
    no influence, as positions are held between the centres of its outermost pixels.
    """
    rows = _positions(top, height, images.shape[2])
    columns = _positions(left, width, images.shape[3])
    columns = torch.where(flip[:, None], columns.flip(1), columns)
    grid = torch.view_as_real(columns[:, None, :] + 1j * rows[:, :, None])
    return functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def _positions(start: torch.Tensor, length: torch.Tensor, size: int) -> torch.Tensor:
    """Where the pixels of the enlarged line stand in the old one: float32 (B, size) from -1 to 1, end to end."""
    start, length = start.to(torch.float64)[:, None], length.to(torch.float64)[:, None]
    inside = (torch.arange(size, device=start.device) + 0.5) * length / size
    inside = inside.clamp_(min=0.5).minimum(length - 0.5)
    return ((start + inside) * (2 / size) - 1).to(torch.float32)


def blur(images: torch.Tensor, sigma: torch.Tensor, kernel: int) -> torch.Tensor:
    """Gaussian blur of images (B, C, H, W) with deviations (B,), `kernel` pixels wide, reflected at the edges."""
    return resample(images, *(gaussian_matrix(sigma, kernel, size) for size in images.shape[2:]))


def gaussian_matrix(sigma: torch.Tensor, kernel: int, size: int) -> torch.Tensor:
    """Weights (B, size, size) that blur a line of pixels with deviations (B,), reflected at its ends.

    Though mostly zeros, its products take half the time of a sum over the `kernel` neighbours, weight by weight.
    """
    offsets = torch.arange(kernel, device=sigma.device) - kernel // 2
    taps = torch.softmax(-(offsets**2) / (2 * sigma.to(torch.float32)[:, None] ** 2), dim=1)
    taps = functional.threshold(taps, 1e-12, 0)  # what is too small to count would be slow: numbers below 1e-38 are
    source = (torch.arange(size, device=sigma.device)[:, None] + offsets).abs_()
    source = (size - 1) - (size - 1 - source).abs_()
    shape = (len(sigma), size, kernel)
    weights = torch.zeros(len(sigma), size, size, device=sigma.device)
    return weights.scatter_add_(2, source.expand(shape), taps[:, None, :].expand(shape))
