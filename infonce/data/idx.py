"""Files in IDX format, as MNIST and its followers use it: a header of sizes, then bytes."""

import struct
from pathlib import Path

import numpy as np

from infonce.data.raw import FETCH_AGAIN, RawSplit
from infonce.errors import DataError
from infonce.spec.run import DatasetOptions

_UNSIGNED_BYTE = 0x08
_CLASSES = 10


def read_fashion_mnist(folder: Path, options: DatasetOptions) -> tuple[RawSplit, RawSplit]:
    """Training and test split from the four files in `folder`."""
    return _split(folder, "train"), _split(folder, "t10k")


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """Memory-mapped uint8 array of an IDX file; DataError where type, dimensions or length are not as announced."""
    if not path.is_file():
        raise DataError(f"{path} is missing; fetch the data set (infonce data fetch), or put the file there")
    header = 4 + 4 * dimensions
    with path.open("rb") as file:
        start = file.read(header)
    if len(start) < header or start[:4] != bytes([0, 0, _UNSIGNED_BYTE, dimensions]):
        raise DataError(
            f"{path} is no IDX file of bytes in {dimensions} dimensions: it starts with {start[:4]!r}; {FETCH_AGAIN}"
        )
    shape = struct.unpack(f">{dimensions}I", start[4:])
    expected, found = int(np.prod(shape)), path.stat().st_size - header
    if found != expected or expected == 0:
        raise DataError(f"{path} announces {shape}, {expected} bytes, and holds {found}; {FETCH_AGAIN}")
    return np.memmap(path, dtype=np.uint8, mode="r", offset=header, shape=shape)


def _split(folder: Path, prefix: str) -> RawSplit:
    images = read_idx(folder / f"{prefix}-images-idx3-ubyte", 3)
    path = folder / f"{prefix}-labels-idx1-ubyte"
    labels = read_idx(path, 1).astype(np.int64)
    if len(labels) != len(images) or labels.max() >= _CLASSES:
        raise DataError(
            f"{path} has {len(labels)} labels up to {labels.max()}, expected {len(images)} up to {_CLASSES - 1}; "
            f"{FETCH_AGAIN}"
        )
    return RawSplit.of_arrays(images[:, None], labels)
