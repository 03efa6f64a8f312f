"""The parts of a grid: the product of the configuration's lists, then each slice laid over it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infonce.spec.config import Config
from infonce.spec.source import Key

# The configuration lists values, a run has one of each: `temperatures` → `temperature`.
AXIS_KEYS = {
    "dataset": "datasets",
    "positives": "positives",
    "encoder": "encoders",
    "head": "heads",
    "dimension": "dimensions",
    "loss": "losses",
    "tuples": "tuples",
    "tuple_design": "tuple_designs",
    "negatives": "negatives",
    "temperature": "temperatures",
    "seed": "seeds",
}


@dataclass(frozen=True)
class Part:
    """The values of each axis in one part, and which of them the part names itself."""

    key: Key
    """Where the part stands in the configuration: `()` is the grid, `("slices", 0)` the first slice."""
    axes: Mapping[str, Sequence[Any]]
    named: frozenset[str]
    """The axes that stand in the part; a slice takes the others from the grid."""

    def key_of(self, axis: str, value: Any) -> Key:
        """Where a value stands that the part names."""
        return (*self.key, AXIS_KEYS[axis], self.axes[axis].index(value))


def parts(config: Config) -> Iterator[Part]:
    """The grid, then its slices in their order."""
    grid = {axis: getattr(config, key) for axis, key in AXIS_KEYS.items()}
    yield Part((), grid, frozenset(grid))
    for position, slice_ in enumerate(config.slices):
        own = {axis: values for axis, key in AXIS_KEYS.items() if (values := getattr(slice_, key)) is not None}
        yield Part(("slices", position), grid | own, frozenset(own))
