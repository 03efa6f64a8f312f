"""Readers of the downloaded data sets, by name."""

from collections.abc import Callable
from pathlib import Path

from infonce.data.cifar import read_cifar10, read_cifar100
from infonce.data.idx import read_fashion_mnist
from infonce.data.raw import RawSplit
from infonce.data.stl10 import read_stl10
from infonce.spec.run import DatasetOptions

READERS: dict[str, Callable[[Path, DatasetOptions], tuple[RawSplit, RawSplit]]] = {
    "cifar10": read_cifar10,
    "cifar100": read_cifar100,
    "stl10": read_stl10,
    "fashion_mnist": read_fashion_mnist,
}
