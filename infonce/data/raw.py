"""Splits as their source holds them, read in batches so that no whole copy stands in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from tqdm import tqdm

from infonce.data.prepared import Source

_BATCH = 1000
FETCH_AGAIN = "delete it and fetch it again (infonce data fetch)"


@dataclass(frozen=True)
class RawSplit:
    """Labels of a split and a way to read any of its images."""

    labels: np.ndarray
    """int64 (N,), -1 = unlabelled."""
    shape: tuple[int, int, int]
    read: Callable[[np.ndarray], np.ndarray]
    """Sorted row numbers → uint8 (B, C, H, W)."""

    @classmethod
    def of_arrays(cls, images: np.ndarray, labels: np.ndarray) -> "RawSplit":
        """A split whose images (N, C, H, W) are an array, in memory or memory-mapped."""
        channels, height, width = images.shape[1:]
        return cls(labels, (channels, height, width), lambda rows: images[rows])

    def source(self, rows: np.ndarray, side: int | None, progress: str | None) -> Source:
        """The rows as a stream of batches, resized to `side` pixels; `progress` is the title of a bar."""
        channels, height, width = self.shape
        shape = (channels, side or height, side or width)
        return Source(self.labels[rows], shape, np.uint8, self._batches(rows, shape, progress))

    def _batches(self, rows: np.ndarray, shape: tuple[int, int, int], progress: str | None) -> Iterator[np.ndarray]:
        with tqdm(total=len(rows), desc=progress, unit="image", disable=True if progress is None else None) as bar:
            for start in range(0, len(rows), _BATCH):
                images = self.read(rows[start : start + _BATCH])
                yield images if images.shape[1:] == shape else resized(images, shape[1:])
                bar.update(len(images))


def resized(images: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """uint8 images (B, C, H, W) at another size: bilinear with antialiasing, rounded to the nearest level."""
    pixels = torch.from_numpy(np.ascontiguousarray(images)).to(torch.float32)
    scaled = torch.nn.functional.interpolate(pixels, size=size, mode="bilinear", antialias=True, align_corners=False)
    return scaled.round_().clamp_(0, 255).to(torch.uint8).numpy()
