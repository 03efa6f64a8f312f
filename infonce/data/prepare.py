"""From raw files (or none) to the prepared form of a data set."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from infonce.data.download import require_complete, verify
from infonce.data.folders import alone
from infonce.data.prepared import Prepared, Source, check_matches, load, write
from infonce.data.raw import RawSplit
from infonce.data.readers import READERS
from infonce.data.registry import (
    check_options,
    class_names,
    dataset,
    held_out_images,
    relevant_options,
    training_images,
)
from infonce.data.sphere import uniform_points
from infonce.data.splits import stratified_choice
from infonce.errors import DataError
from infonce.random import stream_key
from infonce.spec.run import DatasetOptions

Sources = tuple[Source, Source, dict[str, Any]]


def prepare(
    name: str,
    options: DatasetOptions,
    raw_folder: Path,
    out_folder: Path,
    progress: bool = True,
    code: str | None = None,
) -> Prepared:
    """Prepare a data set into `out_folder`, and open it.

    A folder that is complete and was prepared from the same options, and by the code with the digest `code` if that
    is given, is used as it is: nothing is written, so it may be read-only. `raw_folder` holds the files that
    `infonce.data.download.fetch` puts there; `digits` and `sphere` need none. Raises ConfigError for options that do
    not fit, DataError for raw files that are not as they should be, naming the file.
    """
    check_options(name, options)
    out_folder = Path(out_folder)
    present = _present(name, options, out_folder, code)
    if isinstance(present, Prepared):
        return present
    try:
        out_folder.parent.mkdir(parents=True, exist_ok=True)
        with alone(out_folder.parent / f".{out_folder.name}.lock"):
            # Another workflow may have prepared it while this one waited.
            now = _present(name, options, out_folder, code)
            if isinstance(now, Prepared):
                return now
            return _prepared_anew(name, options, raw_folder, out_folder, progress, code)
    except OSError as error:
        raise DataError(
            f"{out_folder} cannot be written ({error}), and has to be prepared anew: {present}. Make it writable, or "
            "name another data_folder"
        ) from error


def _present(name: str, options: DatasetOptions, folder: Path, code: str | None) -> Prepared | str:
    """The prepared data set in `folder`, or why it is not the one that these options and this code prepare."""
    if not folder.exists():
        return "it is not there"
    try:
        found = load(folder)
    except DataError as error:
        return str(error)
    if code is not None and found.manifest.get("code") != code:
        return "it was prepared by another version of this program"
    if (found.name, found.manifest["options"]) != (name, relevant_options(name, options)):
        return f"it holds {found.name} prepared with {found.manifest['options']}"
    return found


def _prepared_anew(
    name: str, options: DatasetOptions, raw: Path, folder: Path, progress: bool, code: str | None
) -> Prepared:
    train, held_out, source = _SPECIAL.get(name, _downloaded)(name, options, Path(raw), progress)
    classes = class_names(name, options)
    prepared = write(folder, name, classes, train, held_out, source, relevant_options(name, options), code)
    check_matches(prepared, name, options)
    return prepared


def _digits(name: str, options: DatasetOptions, raw_folder: Path, progress: bool) -> Sources:
    import sklearn
    from sklearn.datasets import load_digits

    bunch = load_digits()
    # Grey levels are whole numbers from 0 to 16.
    images = np.rint(bunch.images * 255 / 16).astype(np.uint8)[:, None]
    labels = bunch.target.astype(np.int64)
    size = held_out_images(name, options.model_copy(update={"held_out_limit": None}))
    held_out = stratified_choice(labels, size, stream_key(options.split_seed, name, "held out"))
    train = np.setdiff1d(np.arange(len(labels)), held_out)
    splits = [RawSplit.of_arrays(images[rows], labels[rows]) for rows in (train, held_out)]
    train_source, held_out_source = _limited(name, options, splits[0], splits[1], progress)
    return train_source, held_out_source, {"package": "scikit-learn", "version": sklearn.__version__}


def _sphere(name: str, options: DatasetOptions, raw_folder: Path, progress: bool) -> Sources:
    sources = []
    for split, count in (("train", training_images), ("held_out", held_out_images)):
        key = stream_key(options.split_seed, name, split)
        points = uniform_points(count(name, options), options.ambient_dimension, options.norm_sigma, key)
        sources.append(Source.of_arrays(points, np.full(len(points), -1, dtype=np.int64)))
    return sources[0], sources[1], {"generated": "uniform directions, log-normal norms"}


def _downloaded(name: str, options: DatasetOptions, raw_folder: Path, progress: bool) -> Sources:
    folder = require_complete(name, raw_folder)
    verify(name, raw_folder)  # a right size is no right content, and everything is read here anyway
    train, held_out = READERS[name](folder, options)
    files = dataset(name).files
    source = {"files": {file.name: {"digest": file.digest, "addresses": file.addresses} for file in files}}
    return *_limited(name, options, train, held_out, progress), source


def _limited(
    name: str, options: DatasetOptions, train: RawSplit, held_out: RawSplit, progress: bool
) -> tuple[Source, Source]:
    """Both splits, cut to their limits class by class and resized, ready to be streamed."""
    sources = []
    for split, raw, count in (
        ("train", train, training_images(name, options)),
        ("held_out", held_out, held_out_images(name, options)),
    ):
        rows = np.arange(len(raw.labels))
        if count < len(rows):
            rows = stratified_choice(raw.labels, count, stream_key(options.split_seed, name, split, "limit"))
        sources.append(raw.source(rows, options.resize, f"{name}: {split}" if progress else None))
    return sources[0], sources[1]


_SPECIAL: dict[str, Callable[[str, DatasetOptions, Path, bool], Sources]] = {
    "digits": _digits,
    "sphere": _sphere,
}
