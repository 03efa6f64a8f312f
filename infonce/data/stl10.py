"""STL-10 in its binary version: images channel by channel and column by column, labels from 1 to 10."""

from pathlib import Path

import numpy as np

from infonce.data.raw import RawSplit
from infonce.errors import DataError
from infonce.spec.run import DatasetOptions

_SHAPE = (3, 96, 96)
_BYTES = 3 * 96 * 96
_CLASSES = 10


def read_stl10(folder: Path, options: DatasetOptions) -> tuple[RawSplit, RawSplit]:
    """Training split (labelled images, then unlabelled ones with label -1) and test split."""
    below = folder / "stl10_binary"
    labelled, unlabelled = _images(below / "train_X.bin"), _images(below / "unlabeled_X.bin")
    train_labels = _labels(below / "train_y.bin", len(labelled))
    labels = np.concatenate([train_labels, np.full(len(unlabelled), -1, dtype=np.int64)])

    def read(rows: np.ndarray) -> np.ndarray:
        first = rows[rows < len(labelled)]
        rest = rows[rows >= len(labelled)] - len(labelled)
        return _row_major(np.concatenate([labelled[first], unlabelled[rest]]))

    held_out = _images(below / "test_X.bin")
    held_out_labels = _labels(below / "test_y.bin", len(held_out))
    return (
        RawSplit(labels, _SHAPE, read),
        RawSplit(held_out_labels, _SHAPE, lambda rows: _row_major(held_out[rows])),
    )


def _row_major(images: np.ndarray) -> np.ndarray:
    """The files hold each channel column by column: the transpose of what everything else expects."""
    return images.transpose(0, 1, 3, 2)


def _images(path: Path) -> np.ndarray:
    size = _size(path)
    if size == 0 or size % _BYTES:
        raise DataError(f"{path} has {size} bytes, expected a multiple of {_BYTES}; it is cut: fetch it again")
    return np.memmap(path, dtype=np.uint8, mode="r").reshape(-1, *_SHAPE)


def _labels(path: Path, count: int) -> np.ndarray:
    if (size := _size(path)) != count:
        raise DataError(f"{path} has {size} labels for {count} images; fetch it again")
    labels = np.fromfile(path, dtype=np.uint8).astype(np.int64)
    if labels.min() < 1 or labels.max() > _CLASSES:
        raise DataError(f"{path} has labels from {labels.min()} to {labels.max()}, expected 1 to {_CLASSES}")
    return labels - 1


def _size(path: Path) -> int:
    if not path.is_file():
        raise DataError(f"{path} is missing; fetch the data set (infonce data fetch), or put the file there")
    return path.stat().st_size
