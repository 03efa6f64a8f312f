"""Cropping and resizing of a whole batch, each sample with a box of its own, as two matrix products."""

import torch


def resampling_matrix(
    start: torch.Tensor, length: torch.Tensor, size: int, out: int, inside_only: bool = False
) -> torch.Tensor:
    """Weights (B, out, size) that resample [start, start + length) of a line of `size` pixels to `out`.

    Bilinear with antialiasing: pixel i of the result is a weighted mean around start + (i +
    1/2)·length/out, with triangular weights of half-width max(1, length/out). With `inside_only` pixels
    outside the box weigh nothing, as if the box had been cut out first (its ends must be whole numbers).
    """
    start, length = start.to(torch.float64)[:, None, None], length.to(torch.float64)[:, None, None]
    scale = length / out
    middle = torch.arange(size, device=start.device, dtype=torch.float64) + 0.5 - start
    centre = (torch.arange(out, device=start.device, dtype=torch.float64)[:, None] + 0.5) * scale
    weights = torch.clamp(1 - (middle - centre).abs() / scale.clamp_min(1), min=0)
    if inside_only:
        weights = weights * ((middle > 0) & (middle < length))
    return (weights / weights.sum(dim=2, keepdim=True)).to(torch.float32)


def resample(images: torch.Tensor, down: torch.Tensor, across: torch.Tensor) -> torch.Tensor:
    """Apply (B, out_h, H) and (B, out_w, W) weights to images (B, C, H, W) → (B, C, out_h, out_w)."""
    batch, channels, height, width = images.shape
    narrowed = torch.bmm(images.reshape(batch, channels * height, width), across.transpose(1, 2))
    return torch.matmul(down[:, None], narrowed.reshape(batch, channels, height, -1))
