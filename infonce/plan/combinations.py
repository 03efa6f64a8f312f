"""What a data set, an encoder, a head and a number of tuples cannot do together, found before any job starts.

Each kind of combination is looked at once in each part of the grid, however many runs share it, and told at the value
that the part itself names: one of a slice is not looked for in the grid.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from infonce.data import registry as data_registry
from infonce.encoders import registry as encoder_registry
from infonce.errors import ConfigError
from infonce.plan.parts import Part, parts
from infonce.spec.config import Config
from infonce.spec.run import DatasetOptions
from infonce.spec.source import Sources, dotted

Point = Any  # one value of each axis that a rule looks at, by the axis's name


@dataclass(frozen=True)
class Rule:
    """A check of the values of some axes; the refusal is told at the first of them that a part names."""

    axes: tuple[str, ...]
    problem: Callable[[Point, DatasetOptions], str | None]
    """Why the values do not go together, or None; the options are those of the point's data set."""


def check_combinations(config: Config, sources: Sources) -> None:
    """Refuse the first combination that every job of it would refuse, by file, line, key and value.

    Names are known and options checked already.
    """
    for part in parts(config):
        for rule in RULES:
            for values in itertools.product(*(part.axes[axis] for axis in rule.axes)):
                point = SimpleNamespace(**dict(zip(rule.axes, values, strict=True)))
                options = config.dataset_options.get(getattr(point, "dataset", ""), DatasetOptions())
                if problem := rule.problem(point, options):
                    raise ConfigError(_located(part, rule, point, problem, sources))


def _located(part: Part, rule: Rule, point: Point, problem: str, sources: Sources) -> str:
    # A part that names none of the axes has the grid's combinations, which were checked before it.
    axis = next(axis for axis in rule.axes if axis in part.named)
    value = getattr(point, axis)
    key = part.key_of(axis, value)
    return f"{sources.locate(key)}: {dotted(key)}: {value!r} is refused: {problem}"


def _head(point: Point, options: DatasetOptions) -> str | None:
    return encoder_registry.head_problem(point.encoder, point.head)


def _dimension(point: Point, options: DatasetOptions) -> str | None:
    return encoder_registry.dimension_problem(point.head, point.dimension)


def _input(point: Point, options: DatasetOptions) -> str | None:
    shape = data_registry.input_shape(point.dataset, options)
    problem = encoder_registry.input_problem(point.encoder, shape)
    return problem and f"{problem}, as {point.dataset!r} has"


def _positives(point: Point, options: DatasetOptions) -> str | None:
    allowed = data_registry.dataset(point.dataset).positives
    if point.positives not in allowed:
        return (
            f"the data set {point.dataset!r} cannot have positives {point.positives!r}; it allows {', '.join(allowed)}"
        )
    if point.positives == "class":
        return _two_of_each_class(point.dataset, options)
    return None


def _two_of_each_class(name: str, options: DatasetOptions) -> str | None:
    """A positive is another image of its class, so a class with a single image has none.

    Splits and limits keep the shares of the classes, so that two for each class on average are two of each.
    """
    needed = 2 * len(data_registry.class_names(name, options))
    labelled = {
        "train_limit": data_registry.eligible_images(name, options, "class"),
        "held_out": data_registry.held_out_images(name, options),
    }
    for key, images in labelled.items():
        if images < needed:
            return (
                f"positives of the same class need two labelled images of each, {needed} in all, and "
                f"dataset_options.{name}.{key} leaves {images}; raise it"
            )
    return None


def _tuples(point: Point, options: DatasetOptions) -> str | None:
    largest = data_registry.largest_tuples(point.dataset, options, point.positives, point.tuple_design, point.negatives)
    if point.tuples <= largest:
        return None
    return (
        f"{point.dataset} with positives {point.positives!r}, tuple design {point.tuple_design!r} and "
        f"{point.negatives} negatives allows at most {largest} tuples, not {point.tuples}"
    )


RULES = (
    Rule(("head", "encoder"), _head),
    Rule(("dimension", "head"), _dimension),
    Rule(("encoder", "dataset"), _input),
    Rule(("positives", "dataset"), _positives),
    Rule(("tuples", "negatives", "tuple_design", "positives", "dataset"), _tuples),
)
