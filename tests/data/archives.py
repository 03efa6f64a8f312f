"""Archives in the true formats of the data sets, small, made from the real images of scikit-learn's digits."""

import dataclasses
import gzip
import hashlib
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from infonce.data.registry import DATASETS, DatasetInfo
from infonce.data.sources import Member, SourceFile


def digit_images(count: int, side: int, channels: int, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """uint8 (count, channels, side, side) enlarged digits whose channels differ, and labels, as many of each class."""
    bunch = load_digits()
    order = np.argsort(bunch.target, kind="stable").reshape(-1)
    by_class = [order[bunch.target[order] == c] for c in range(10)]
    rows = np.array([by_class[i % 10][(first + i) // 10 % 170] for i in range(count)])
    grown = np.kron(bunch.images[rows], np.ones((side // 8, side // 8)))
    tints = np.array([15.9, 10.0, 5.0])[:channels]
    return (grown[:, None] * tints[:, None, None]).astype(np.uint8), bunch.target[rows].astype(np.int64)


def tar_gz(entries: dict[str, bytes], extra: tuple[tarfile.TarInfo, ...] = ()) -> bytes:
    """A .tar.gz of regular files, and of `extra` entries as they are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
        for path, content in entries.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for info in extra:
            tar.addfile(info, io.BytesIO(b"x" * info.size))
    return buffer.getvalue()


def cifar10_entries(train: int = 100, test: int = 40) -> dict[str, bytes]:
    entries = {}
    for batch in range(5):
        entries[f"data_batch_{batch + 1}.bin"] = _cifar_records(train // 5, batch * train // 5)
    entries["test_batch.bin"] = _cifar_records(test, train)
    entries["batches.meta.txt"] = b"airplane\n"
    return {f"cifar-10-batches-bin/{name}": content for name, content in entries.items()}


def _cifar_records(count: int, first: int) -> bytes:
    images, labels = digit_images(count, 32, 3, first)
    return np.concatenate([labels[:, None].astype(np.uint8), images.reshape(count, -1)], axis=1).tobytes()


def cifar100_entries(train: int = 200, test: int = 200) -> dict[str, bytes]:
    entries = {}
    for name, count in (("train", train), ("test", test)):
        images, _ = digit_images(count, 32, 3)
        fine = np.arange(count) % 100
        labels = np.stack([fine // 5, fine], axis=1).astype(np.uint8)
        entries[f"cifar-100-binary/{name}.bin"] = np.concatenate([labels, images.reshape(count, -1)], axis=1).tobytes()
    return entries


def stl10_entries(train: int = 40, unlabelled: int = 60, test: int = 30) -> dict[str, bytes]:
    entries = {}
    for name, count, first in (("train", train, 0), ("unlabeled", unlabelled, 300), ("test", test, 600)):
        images, labels = digit_images(count, 96, 3, first)
        entries[f"stl10_binary/{name}_X.bin"] = images.transpose(0, 1, 3, 2).tobytes()
        if name != "unlabeled":
            entries[f"stl10_binary/{name}_y.bin"] = (labels + 1).astype(np.uint8).tobytes()
    entries["stl10_binary/class_names.txt"] = b"airplane\n"
    return entries


def idx(array: np.ndarray) -> bytes:
    """An IDX file of unsigned bytes."""
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(np.uint8).tobytes()


def source_file(name: str, content: bytes, members: dict[str, bytes], base: str) -> SourceFile:
    """The manifest of an archive, as the registry would hold it."""
    return SourceFile(
        name=name,
        addresses=(f"{base}/{name}",),
        size=len(content),
        digest=f"sha256:{hashlib.sha256(content).hexdigest()}",
        members=tuple(Member(path, len(data)) for path, data in members.items()),
    )


@dataclasses.dataclass(frozen=True)
class Fake:
    """A registry entry of a small data set, and the archives that its addresses should give."""

    info: DatasetInfo
    archives: dict[str, bytes]

    def put(self, folder: Path) -> None:
        """Lay the archives down, as someone does by hand."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.archives.items():
            (folder / name).write_bytes(content)


def fake(name: str, base: str = "http://127.0.0.1:9") -> Fake:
    """A small `name` whose files lie at `base`."""
    if name == "fashion_mnist":
        archives, sources = {}, []
        for prefix, count, first in (("train", 60, 0), ("t10k", 30, 100)):
            images, labels = digit_images(count, 24, 1, first)
            images = np.pad(images[:, 0], [(0, 0), (2, 2), (2, 2)])
            for kind, content in (("images-idx3", idx(images)), ("labels-idx1", idx(labels))):
                path = f"{prefix}-{kind}-ubyte"
                archives[f"{path}.gz"] = gzip.compress(content, mtime=0)
                digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
                made = source_file(f"{path}.gz", archives[f"{path}.gz"], {path: content}, base)
                sources.append(dataclasses.replace(made, members=(Member(path, len(content), digest),)))
        counts = {"train_images": 60, "held_out_images": 30}
        return Fake(dataclasses.replace(DATASETS[name], files=tuple(sources), **counts), archives)
    entries = {"cifar10": cifar10_entries, "cifar100": cifar100_entries, "stl10": stl10_entries}[name]()
    counts = {
        "cifar10": {"train_images": 100, "held_out_images": 40},
        "cifar100": {"train_images": 200, "held_out_images": 200},
        "stl10": {"train_images": 100, "held_out_images": 30, "unlabelled_images": 60},
    }[name]
    archive = DATASETS[name].files[0].name
    content = tar_gz(entries)
    members = {path: data for path, data in entries.items() if path.endswith(".bin")}
    files = (source_file(archive, content, members, base),)
    return Fake(dataclasses.replace(DATASETS[name], files=files, **counts), {archive: content})
