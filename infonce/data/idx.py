"""Files in IDX format, as MNIST and its followers use it: a header of sizes, then bytes."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np

from infonce.data.raw import RawSplit
from infonce.errors import DataError
from infonce.spec.run import DatasetOptions

_UNSIGNED_BYTE = 0x08


def read_fashion_mnist(folder: Path, options: DatasetOptions) -> tuple[RawSplit, RawSplit]:
    """Training and test split from the four gzipped files in `folder`."""
    return _split(folder, "train"), _split(folder, "t10k")


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """uint8 array of a gzipped IDX file; DataError where type, dimensions or length are not as announced."""
    if not path.is_file():
        raise DataError(f"{path} is missing; fetch the data set (infonce data fetch), or put the file there")
    try:
        with gzip.open(path) as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be unpacked ({error}); fetch it again") from error
    header = 4 + 4 * dimensions
    if len(content) < header or content[:4] != bytes([0, 0, _UNSIGNED_BYTE, dimensions]):
        raise DataError(f"{path} is no IDX file of bytes in {dimensions} dimensions: {content[:4]!r}")
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    values = np.frombuffer(content, dtype=np.uint8, offset=header)
    if len(values) != np.prod(shape):
        raise DataError(f"{path} announces {shape} and holds {len(values)} bytes; fetch it again")
    return values.reshape(shape)


def _split(folder: Path, prefix: str) -> RawSplit:
    images = read_idx(folder / f"{prefix}-images-idx3-ubyte.gz", 3)
    path = folder / f"{prefix}-labels-idx1-ubyte.gz"
    labels = read_idx(path, 1).astype(np.int64)
    if len(labels) != len(images) or labels.max() > 9:
        raise DataError(f"{path}: {len(labels)} labels up to {labels.max()}, expected {len(images)} up to 9")
    return RawSplit.of_arrays(images[:, None], labels)
