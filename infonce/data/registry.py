"""The data sets that a run can name: what they are, what can be asked of them and how many images they offer.

Nothing here reads a file or imports torch, so a configuration is checked before any job starts.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from infonce.data import sources
from infonce.data.allocation import allocate
from infonce.data.sources import SourceFile
from infonce.errors import ConfigError
from infonce.spec.run import DatasetOptions, Positives, TupleDesign
from infonce.spec.source import unknown


@dataclass(frozen=True)
class DatasetInfo:
    """A data set: counts are those of the source, before limits."""

    name: str
    title: str
    class_names: tuple[str, ...]
    image_shape: tuple[int, int, int] | None
    """Channels, height and width; None where the points are vectors."""
    train_images: int
    """Labelled and unlabelled training images; for one pool without a test split, all images."""
    held_out_images: int
    """Images of the source's test split; 0 where the split is made here."""
    unlabelled_images: int
    """How many of the training images carry no label."""
    positives: tuple[Positives, ...]
    """Positive generators that the data set allows."""
    recipe: str | None
    """Version of the views that suit the images."""
    options: tuple[str, ...]
    """Names of the DatasetOptions that the prepared bytes depend on."""
    files: tuple[SourceFile, ...]
    licence: str
    citation: str
    homepage: str

    @property
    def downloaded(self) -> bool:
        """Whether files have to be fetched; the others are embedded or generated."""
        return bool(self.files)


_IMAGES = ("split_seed", "train_limit", "held_out_limit", "resize")
_DIGITS_HELD_OUT = 500

DATASETS: dict[str, DatasetInfo] = {
    info.name: info
    for info in (
        DatasetInfo(
            name="digits",
            title="Optical recognition of handwritten digits, the 1,797 images that scikit-learn embeds",
            class_names=tuple("0123456789"),
            image_shape=(1, 8, 8),
            train_images=1797,
            held_out_images=0,
            unlabelled_images=0,
            positives=("augment", "class"),
            recipe="small-1",
            options=("held_out", *_IMAGES),
            files=(),
            licence="CC BY 4.0",
            citation="Alpaydin, E. and Kaynak, C. (1998). Optical Recognition of Handwritten Digits. UCI.",
            homepage="https://archive.ics.uci.edu/dataset/80",
        ),
        DatasetInfo(
            name="sphere",
            title="Points uniform on a sphere, by choice with log-normal norms (synthetic)",
            class_names=(),
            image_shape=None,
            train_images=0,
            held_out_images=0,
            unlabelled_images=0,
            positives=("sphere",),
            recipe=None,
            options=("split_seed", "points", "held_out", "ambient_dimension", "norm_sigma"),
            files=(),
            licence="generated, no licence needed",
            citation="Mardia, K. V. and Jupp, P. E. (2000). Directional Statistics. Wiley.",
            homepage="",
        ),
        DatasetInfo(
            name="cifar10",
            title="CIFAR-10, 60,000 colour photographs of 32×32 pixels in 10 classes",
            class_names=sources.CIFAR10_CLASSES,
            image_shape=(3, 32, 32),
            train_images=50_000,
            held_out_images=10_000,
            unlabelled_images=0,
            positives=("augment", "class"),
            recipe="natural-1",
            options=_IMAGES,
            files=sources.CIFAR10_FILES,
            licence="none stated by the authors; asks for the citation",
            citation="Krizhevsky, A. (2009). Learning Multiple Layers of Features from Tiny Images.",
            homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
        ),
        DatasetInfo(
            name="cifar100",
            title="CIFAR-100, 60,000 colour photographs of 32×32 pixels in 100 fine or 20 coarse classes",
            class_names=sources.CIFAR100_FINE_CLASSES,
            image_shape=(3, 32, 32),
            train_images=50_000,
            held_out_images=10_000,
            unlabelled_images=0,
            positives=("augment", "class"),
            recipe="natural-1",
            options=("labels", *_IMAGES),
            files=sources.CIFAR100_FILES,
            licence="none stated by the authors; asks for the citation",
            citation="Krizhevsky, A. (2009). Learning Multiple Layers of Features from Tiny Images.",
            homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
        ),
        DatasetInfo(
            name="stl10",
            title="STL-10, 113,000 colour photographs of 96×96 pixels, 13,000 of them in 10 classes",
            class_names=sources.STL10_CLASSES,
            image_shape=(3, 96, 96),
            train_images=105_000,
            held_out_images=8_000,
            unlabelled_images=100_000,
            positives=("augment", "class"),
            recipe="natural-1",
            options=_IMAGES,
            files=sources.STL10_FILES,
            licence="none stated by the authors; the images come from ImageNet",
            citation="Coates, A., Lee, H. and Ng, A. Y. (2011). An Analysis of Single-Layer Networks in "
            "Unsupervised Feature Learning. AISTATS.",
            homepage="https://cs.stanford.edu/~acoates/stl10/",
        ),
        DatasetInfo(
            name="fashion_mnist",
            title="Fashion-MNIST, 70,000 grey images of 28×28 pixels in 10 classes",
            class_names=sources.FASHION_MNIST_CLASSES,
            image_shape=(1, 28, 28),
            train_images=60_000,
            held_out_images=10_000,
            unlabelled_images=0,
            positives=("augment", "class"),
            recipe="small-1",
            options=_IMAGES,
            files=sources.FASHION_MNIST_FILES,
            licence="MIT",
            citation="Xiao, H., Rasul, K. and Vollgraf, R. (2017). Fashion-MNIST. arXiv 1708.07747.",
            homepage="https://github.com/zalandoresearch/fashion-mnist",
        ),
    )
}


def dataset(name: str) -> DatasetInfo:
    """The entry of `name`; ConfigError with the nearest known name where there is none."""
    if name in DATASETS:
        return DATASETS[name]
    raise ConfigError(unknown("data set", name, DATASETS))


def check_options(name: str, options: DatasetOptions) -> None:
    """Refuse options that the data set cannot have; ConfigError names key, value and what is possible."""
    info = dataset(name)
    defaults = DatasetOptions()
    for key in DatasetOptions.model_fields:
        applies = key in info.options or (key == "concentration" and name == "sphere")
        value = getattr(options, key)
        if not applies and value != getattr(defaults, key):
            known = ", ".join((*info.options, "concentration") if name == "sphere" else info.options)
            raise ConfigError(f"{key}: {value!r} does not apply to data set {name!r}, which knows: {known}")
    _check_counts(info, options)


def _check_counts(info: DatasetInfo, options: DatasetOptions) -> None:
    classes = len(class_names(info.name, options))
    if info.held_out_images == 0 and info.image_shape is not None:
        held_out, largest = options.held_out or _DIGITS_HELD_OUT, info.train_images - 2 * classes
        if not classes <= held_out <= largest:
            raise ConfigError(
                f"held_out: {held_out} of the {info.train_images} images of {info.name!r} is out of range; "
                f"expected {classes} to {largest}, so that both splits show every class"
            )
    for key in ("train_limit", "held_out_limit"):
        limit, available = getattr(options, key), _available(info, options)[key]
        if limit is not None and not 2 * classes <= limit <= available:
            raise ConfigError(f"{key}: {limit} of {info.name!r} is out of range; expected {2 * classes} to {available}")


def training_images(name: str, options: DatasetOptions) -> int:
    """N, the images a prepared training split holds (unlabelled ones too)."""
    return options.train_limit or _available(dataset(name), options)["train_limit"]


def held_out_images(name: str, options: DatasetOptions) -> int:
    """Images in the prepared held-out split."""
    return options.held_out_limit or _available(dataset(name), options)["held_out_limit"]


def _available(info: DatasetInfo, options: DatasetOptions) -> dict[str, int]:
    """Images of each split before the limit that carries the key's name is applied."""
    if info.image_shape is None:
        return {"train_limit": options.points, "held_out_limit": options.held_out or options.points}
    if info.held_out_images == 0:
        held_out = options.held_out or _DIGITS_HELD_OUT
        return {"train_limit": info.train_images - held_out, "held_out_limit": held_out}
    return {"train_limit": info.train_images, "held_out_limit": info.held_out_images}


def class_names(name: str, options: DatasetOptions) -> tuple[str, ...]:
    """Names of the classes, in the order of their labels; empty for `sphere`."""
    if name == "cifar100" and options.labels == "coarse":
        return sources.CIFAR100_COARSE_CLASSES
    return dataset(name).class_names


def input_shape(name: str, options: DatasetOptions) -> tuple[int, ...]:
    """What an encoder is given for one image: (C, H, W), or (D,) for `sphere`."""
    info = dataset(name)
    if info.image_shape is None:
        return (options.ambient_dimension,)
    channels, height, width = info.image_shape
    side = options.resize
    return (channels, side or height, side or width)


def eligible_images(name: str, options: DatasetOptions, positives: Positives) -> int:
    """Training images that make up π: all, or for `class` the labelled ones."""
    info = dataset(name)
    total = training_images(name, options)
    if positives != "class" or info.unlabelled_images == 0:
        return total
    per_class = (info.train_images - info.unlabelled_images) // len(info.class_names)
    return sum(allocate([per_class] * len(info.class_names) + [info.unlabelled_images], total)[:-1])


def largest_tuples(
    name: str, options: DatasetOptions, positives: Positives, tuple_design: TupleDesign, negatives: int
) -> int:
    """The largest number n of training tuples that the data allow; 0 where not even one fits.

    `shared`: each tuple has an anchor of its own, so n ≤ N. `disjoint`: each tuple has all its images to
    itself, so n·(k+2) ≤ N, or n·(k+1) ≤ N where the positive is no other image. For `disjoint` with `class`
    this is necessary; how the classes fall can allow a few tuples fewer, which `TupleSampler` says.
    """
    images = eligible_images(name, options, positives)
    return images if tuple_design == "shared" else images // (negatives + (2 if positives == "class" else 1))


def relevant_options(name: str, options: DatasetOptions) -> dict[str, Any]:
    """The options that the prepared bytes depend on, defaults filled in."""
    return {key: getattr(options, key) for key in dataset(name).options}


def prepared_name(name: str, options: DatasetOptions) -> str:
    """A folder name of its own for every prepared form, e.g. `digits-9c1f2a3b`."""
    text = json.dumps(relevant_options(name, options), sort_keys=True)
    return f"{name}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
