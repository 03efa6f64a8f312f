"""STL-10 in its binary version: images channel by channel and column by column, labels from 1 to 10."""

from pathlib import Path

import numpy as np

from infonce.data.raw import FETCH_AGAIN, RawSplit
from infonce.errors import DataError
from infonce.spec.run import DatasetOptions

_SHAPE = (3, 96, 96)
_BYTES = 3 * 96 * 96
_CLASSES = 10


def read_stl10(folder: Path, options: DatasetOptions) -> tuple[RawSplit, RawSplit]:
    """Training split (labelled images, then unlabelled ones with label -1) and test split."""
    below = folder / "stl10_binary"
    labelled, unlabelled = _ImageFile(below / "train_X.bin"), _ImageFile(below / "unlabeled_X.bin")
    train_labels = _labels(below / "train_y.bin", labelled.count)
    labels = np.concatenate([train_labels, np.full(unlabelled.count, -1, dtype=np.int64)])

    def read(rows: np.ndarray) -> np.ndarray:
        of_labelled = rows < labelled.count
        first, rest = rows[of_labelled], rows[~of_labelled] - labelled.count
        return np.concatenate([labelled.read(first), unlabelled.read(rest)])

    held_out = _ImageFile(below / "test_X.bin")
    held_out_labels = _labels(below / "test_y.bin", held_out.count)
    return RawSplit(labels, _SHAPE, read), RawSplit(held_out_labels, _SHAPE, held_out.read)


class _ImageFile:
    """A file of images, opened anew for every batch so that what was read does not stay mapped."""

    def __init__(self, path: Path) -> None:
        """Check that the file holds whole images."""
        size = _size(path)
        if size == 0 or size % _BYTES:
            raise DataError(f"{path} has {size} bytes, expected a multiple of {_BYTES}; it is cut: {FETCH_AGAIN}")
        self.path, self.count = path, size // _BYTES

    def read(self, rows: np.ndarray) -> np.ndarray:
        """uint8 (B, 3, 96, 96), row by row: the file holds each channel column by column."""
        images = np.memmap(self.path, dtype=np.uint8, mode="r").reshape(-1, *_SHAPE)[rows]
        return images.transpose(0, 1, 3, 2)


def _labels(path: Path, count: int) -> np.ndarray:
    if (size := _size(path)) != count:
        raise DataError(f"{path} has {size} labels for {count} images; {FETCH_AGAIN}")
    labels = np.fromfile(path, dtype=np.uint8).astype(np.int64)
    if labels.min() < 1 or labels.max() > _CLASSES:
        raise DataError(
            f"{path} has labels from {labels.min()} to {labels.max()}, expected 1 to {_CLASSES}; {FETCH_AGAIN}"
        )
    return labels - 1


def _size(path: Path) -> int:
    if not path.is_file():
        raise DataError(f"{path} is missing; fetch the data set (infonce data fetch), or put the file there")
    return path.stat().st_size
