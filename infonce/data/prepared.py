"""The one on-disk form of every data set: four memory-mapped arrays and a manifest in a folder.

    train_images.npy     uint8 N×C×H×W, or float32 N×D      held_out_images.npy   the same
    train_labels.npy     int64 N, -1 = unlabelled           held_out_labels.npy   the same, all labelled
    manifest.json        counts, shapes, classes, channel mean and deviation, digests, source, options

A folder is written beside its place and renamed into it, so it is there as a whole or not at all.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infonce.data.folders import file_digest, replacing_folder
from infonce.data.registry import relevant_options
from infonce.errors import DataError
from infonce.files import json_digest, write_json
from infonce.spec.run import DatasetOptions

FORMAT_VERSION = 2
MANIFEST = "manifest.json"
_ARRAYS = ("train_images", "train_labels", "held_out_images", "held_out_labels")


@dataclass(frozen=True)
class Split:
    """Images and their labels, paired by row."""

    images: np.ndarray
    """uint8 (N, C, H, W), or float32 (N, D)."""
    labels: np.ndarray
    """int64 (N,); -1 = unlabelled."""

    def __len__(self) -> int:
        """Number of images."""
        return len(self.labels)


@dataclass(frozen=True)
class Prepared:
    """A data set as runs use it."""

    name: str
    classes: tuple[str, ...]
    train: Split
    held_out: Split
    mean: tuple[float, ...]
    """Channel means of the training images, scaled to [0, 1]; empty for vectors."""
    std: tuple[float, ...]
    """Channel standard deviations, likewise."""
    digest: str
    """SHA-256 over name, classes and every array's bytes."""
    manifest: dict[str, Any]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """(C, H, W), or (D,)."""
        return self.train.images.shape[1:]


@dataclass(frozen=True)
class Source:
    """A split on its way to the disk: labels, and images in batches so that no copy stands in memory."""

    labels: np.ndarray
    shape: tuple[int, ...]
    dtype: type
    batches: Iterable[np.ndarray]

    @classmethod
    def of_arrays(cls, images: np.ndarray, labels: np.ndarray) -> "Source":
        """A split that is in memory already."""
        return cls(labels, images.shape[1:], images.dtype.type, [images])


def write(
    folder: Path,
    name: str,
    classes: tuple[str, ...],
    train: Source,
    held_out: Source,
    source: dict[str, Any],
    options: dict[str, Any],
    code: str | None = None,
) -> Prepared:
    """Write a prepared data set, everything or nothing, and return it as `load` does.

    `code` is the digest of the code that prepared it, where that is known.
    """
    with replacing_folder(folder) as staging:
        mean, std = _write_split(staging, "train", train)
        _write_split(staging, "held_out", held_out)
        arrays = {array: _describe(staging / f"{array}.npy") for array in _ARRAYS}
        manifest = {
            "format_version": FORMAT_VERSION,
            "name": name,
            "classes": list(classes),
            "options": options,
            "source": source,
            "code": code,
            "arrays": arrays,
            "mean": mean,
            "std": std,
            "digest": _overall_digest(name, classes, arrays),
        }
        write_json(staging / MANIFEST, manifest | {"manifest_digest": json_digest(manifest)})
        load(staging)
    return load(folder)


def load(folder: Path, verify: bool = False) -> Prepared:
    """Open a prepared folder; the arrays stay on disk.

    Always checked: the manifest, every file's size, every array's shape and type. With `verify` every byte is
    read and compared with its digest. Raises DataError naming the file, what was expected and what was found.
    """
    folder = Path(folder)
    manifest = _read_manifest(folder)
    arrays = {array: _open_array(folder, array, manifest["arrays"][array], verify) for array in _ARRAYS}
    splits = {}
    for split in ("train", "held_out"):
        images, labels = arrays[f"{split}_images"], arrays[f"{split}_labels"]
        _check_labels(folder / f"{split}_labels.npy", images, labels, len(manifest["classes"]), split)
        splits[split] = Split(images, labels)
    return Prepared(
        name=manifest["name"],
        classes=tuple(manifest["classes"]),
        train=splits["train"],
        held_out=splits["held_out"],
        mean=tuple(manifest["mean"]),
        std=tuple(manifest["std"]),
        digest=manifest["digest"],
        manifest=manifest,
    )


def is_complete(folder: Path) -> bool:
    """Whether `load` would accept the folder."""
    try:
        load(folder)
    except DataError:
        return False
    return True


def check_matches(prepared: Prepared, name: str, options: DatasetOptions) -> None:
    """DataError unless the folder was prepared from this data set with these options."""
    expected = (name, relevant_options(name, options))
    found = (prepared.name, prepared.manifest["options"])
    if expected != found:
        raise DataError(
            f"the prepared folder holds {found[0]!r} with options {found[1]}, expected {expected[0]!r} with "
            f"{expected[1]}; prepare it again, or name the folder that belongs to these options"
        )


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{folder} is no prepared data set, or an incomplete one: {MANIFEST} is missing; prepare it again"
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); prepare the data set again") from error
    if not isinstance(manifest, dict) or manifest.get("format_version") != FORMAT_VERSION:
        found = manifest.get("format_version") if isinstance(manifest, dict) else type(manifest).__name__
        raise DataError(
            f"{path}: format version {found!r}, expected {FORMAT_VERSION}; the folder is foreign or was "
            "prepared by another version of this project: prepare it again"
        )
    content = {key: value for key, value in manifest.items() if key != "manifest_digest"}
    if manifest.get("manifest_digest") != json_digest(content):
        raise DataError(f"{path} was edited or damaged: its digest is another one; prepare the data set again")
    return manifest


def _open_array(folder: Path, array: str, described: dict[str, Any], verify: bool) -> np.ndarray:
    path = folder / f"{array}.npy"
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise DataError(f"{path} is missing; prepare the data set again") from None
    if size != described["bytes"]:
        raise DataError(f"{path} has {size} bytes, expected {described['bytes']}; prepare the data set again")
    try:
        # Copy-on-write, so that torch can share the pages; the file itself is never written.
        opened = np.load(path, mmap_mode="c", allow_pickle=False)
    except (ValueError, OSError) as error:
        raise DataError(f"{path} is no array file ({error}); prepare the data set again") from error
    found = {"shape": list(opened.shape), "dtype": opened.dtype.name}
    expected = {key: described[key] for key in found}
    if found != expected:
        raise DataError(f"{path} holds {found}, expected {expected}; prepare the data set again")
    if verify and (digest := file_digest(path, "sha256")) != described["sha256"]:
        raise DataError(f"{path} has SHA-256 {digest}, expected {described['sha256']}; prepare the data set again")
    return opened


def _check_labels(path: Path, images: np.ndarray, labels: np.ndarray, classes: int, split: str) -> None:
    if labels.shape != images.shape[:1]:
        raise DataError(f"{path} holds {labels.shape} labels for {len(images)} images")
    smallest = 0 if split == "held_out" and classes else -1
    low, high = (int(labels.min()), int(labels.max())) if len(labels) else (0, 0)
    if len(labels) == 0 or low < smallest or high >= max(classes, 0):
        raise DataError(f"{path}: {len(labels)} labels from {low} to {high}, expected {smallest} to {classes - 1}")


def _write_split(folder: Path, name: str, split: Source) -> tuple[list[float], list[float]]:
    """Stream the images into their file; returns exact channel means and deviations, scaled to [0, 1]."""
    count = len(split.labels)
    pixels = len(split.shape) == 3
    histogram = np.zeros((split.shape[0], 256), dtype=np.int64)
    written = 0
    with (folder / f"{name}_images.npy").open("wb") as file:
        description = np.lib.format.dtype_to_descr(np.dtype(split.dtype))
        header = {"descr": description, "fortran_order": False, "shape": (count, *split.shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for batch in split.batches:
            file.write(np.ascontiguousarray(batch, dtype=split.dtype).data)
            written += len(batch)
            if pixels:
                histogram += [np.bincount(channel.reshape(-1), minlength=256) for channel in batch.swapaxes(0, 1)]
    if written != count:
        raise DataError(f"{name}: {written} images came for {count} labels")
    np.save(folder / f"{name}_labels.npy", np.asarray(split.labels, dtype=np.int64))
    return _moments(histogram) if pixels else ([], [])


def _moments(histogram: np.ndarray) -> tuple[list[float], list[float]]:
    """Channel mean and standard deviation from counts of the 256 values; integers keep the sums exact."""
    values = np.arange(256)
    total = histogram.sum(axis=1)
    mean = (histogram @ values) / total
    variance = (histogram @ values**2) / total - mean**2
    return (mean / 255).tolist(), np.sqrt(np.maximum(variance, 0) / 255**2).tolist()


def _describe(path: Path) -> dict[str, Any]:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    description = {"shape": list(array.shape), "dtype": array.dtype.name, "bytes": path.stat().st_size}
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return description | {"sha256": file_digest(path, "sha256")}


def _overall_digest(name: str, classes: Iterable[str], arrays: dict[str, dict[str, Any]]) -> str:
    content = [name, list(classes), {array: arrays[array]["sha256"] for array in sorted(arrays)}]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
