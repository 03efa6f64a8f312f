"""CIFAR-10 and CIFAR-100 in their binary version: records of label bytes and 3×32×32 pixels, no pickle."""

from pathlib import Path

import numpy as np

from infonce.data.raw import FETCH_AGAIN, RawSplit
from infonce.errors import DataError
from infonce.spec.run import DatasetOptions

_SHAPE = (3, 32, 32)
_PIXELS = 3 * 32 * 32


def read_cifar10(folder: Path, options: DatasetOptions) -> tuple[RawSplit, RawSplit]:
    """Training and test split from `cifar-10-batches-bin` below `folder`."""
    below = folder / "cifar-10-batches-bin"
    train = [below / f"data_batch_{batch}.bin" for batch in range(1, 6)]
    return _read(train, 0, 1, 10), _read([below / "test_batch.bin"], 0, 1, 10)


def read_cifar100(folder: Path, options: DatasetOptions) -> tuple[RawSplit, RawSplit]:
    """Training and test split from `cifar-100-binary`; each record has a coarse label and then a fine one."""
    below = folder / "cifar-100-binary"
    column, classes = (0, 20) if options.labels == "coarse" else (1, 100)
    return _read([below / "train.bin"], column, 2, classes), _read([below / "test.bin"], column, 2, classes)


def _read(paths: list[Path], column: int, label_bytes: int, classes: int) -> RawSplit:
    parts = [_records(path, label_bytes) for path in paths]
    labels = np.concatenate([part[:, column] for part in parts]).astype(np.int64)
    for path, part in zip(paths, parts, strict=True):
        if (largest := int(part[:, column].max())) >= classes:
            raise DataError(f"{path} has a label {largest}, expected 0 to {classes - 1}; {FETCH_AGAIN}")
    first = np.cumsum([0] + [len(part) for part in parts])

    def read(rows: np.ndarray) -> np.ndarray:
        images = np.empty((len(rows), *_SHAPE), dtype=np.uint8)
        for part, start, end in zip(parts, first[:-1], first[1:], strict=True):
            here = (rows >= start) & (rows < end)
            images[here] = part[rows[here] - start, label_bytes:].reshape(-1, *_SHAPE)
        return images

    return RawSplit(labels, _SHAPE, read)


def _records(path: Path, label_bytes: int) -> np.ndarray:
    record = label_bytes + _PIXELS
    if not path.is_file():
        raise DataError(f"{path} is missing; fetch the data set (infonce data fetch), or put the file there")
    size = path.stat().st_size
    if size == 0 or size % record:
        raise DataError(f"{path} has {size} bytes, expected a multiple of {record}; it is cut: {FETCH_AGAIN}")
    return np.memmap(path, dtype=np.uint8, mode="r").reshape(-1, record)
