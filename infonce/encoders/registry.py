"""What each encoder is called, which heads and options it allows and which assumptions it meets. No torch here."""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infonce.errors import ConfigError
from infonce.spec.source import unknown

if TYPE_CHECKING:
    from torch import nn

HEADS = ("normalize", "lift")

Value = int | float | str | bool
Shape = tuple[int, ...]
Builder = Callable[..., "nn.Module"]


@dataclass(frozen=True)
class Option:
    """One setting of an encoder: its type is its default's; numbers have a least value, text has choices."""

    default: Value
    description: str
    least: float = -math.inf
    choices: tuple[str, ...] = ()

    def problem(self, value: object) -> str | None:
        """Why `value` is refused, or None."""
        expected = type(self.default)
        if expected is float and type(value) is int:
            value = float(value)
        if type(value) is not expected:
            return f"expected {expected.__name__}"
        if isinstance(value, int | float) and not (math.isfinite(value) and value >= self.least):
            return f"expected a finite number of at least {self.least:g}"
        if self.choices and value not in self.choices:
            return f"expected one of {', '.join(self.choices)}"
        return None


@dataclass(frozen=True)
class EncoderInfo:
    """An encoder as the registry knows it; `build(input_shape, features, options)` makes its backbone."""

    name: str
    description: str
    heads: tuple[str, ...]
    lipschitz: bool
    images_only: bool
    options: Mapping[str, Option]
    module: str
    build: Builder = field(repr=False)


_REGISTERED: dict[str, EncoderInfo] = {}


def register(
    name: str,
    *,
    description: str,
    heads: tuple[str, ...],
    lipschitz: bool,
    images_only: bool = False,
    options: Mapping[str, Option] | None = None,
) -> Callable[[Builder], Builder]:
    """Register the decorated builder under `name`.

    Args:
        name: as a configuration spells it.
        description: one line for users.
        heads: of `HEADS`, those that it may have.
        lipschitz: whether the features meet ‖f_θ(z) - f_θ'(z)‖ ≤ C ‖z‖ ‖θ-θ'‖ on every ball of parameters. With it
            and the head `lift` the ledger counts assumption (C) as met (infonce/theory/ledger_entries.py).
        images_only: whether inputs have to be images (C, H, W), not vectors (D,).
        options: its settings.
    """

    def keep(build: Builder) -> Builder:
        if name in _REGISTERED and _REGISTERED[name].module != build.__module__:
            raise ConfigError(f"two encoders are called {name!r}: in {_REGISTERED[name].module} and {build.__module__}")
        _REGISTERED[name] = EncoderInfo(
            name, description, heads, lipschitz, images_only, dict(options or {}), build.__module__, build
        )
        return build

    return keep


def encoders() -> dict[str, EncoderInfo]:
    """Every encoder, sorted by name."""
    _load_all()
    return dict(sorted(_REGISTERED.items()))


def encoder(name: str) -> EncoderInfo:
    """The encoder of that name; ConfigError with the nearest known name where there is none."""
    known = encoders()
    if name not in known:
        raise ConfigError(unknown("encoder", name, known))
    return known[name]


def head_problem(name: str, head: str) -> str | None:
    """Why the encoder cannot have the head, or None."""
    allowed = encoder(name).heads
    if head in allowed:
        return None
    return f"the encoder {name!r} cannot have the head {head!r}; it allows {', '.join(allowed)}"


def dimension_problem(head: str, dimension: int) -> str | None:
    """Why there are no embeddings in R^dimension with the head, or None."""
    if feature_dimension(head, dimension) >= 1:
        return None
    return f"the head {head!r} needs an embedding dimension of at least 2, not {dimension}"


def input_problem(name: str, shape: Shape) -> str | None:
    """Why the encoder cannot be given inputs of that shape, or None."""
    if not encoder(name).images_only or len(shape) == 3:
        return None
    return f"the encoder {name!r} needs images (C, H, W), not inputs of shape {shape}"


def feature_dimension(head: str, dimension: int) -> int:
    """Features that the backbone must give for embeddings in R^dimension: `lift` adds one of its own."""
    return dimension - 1 if head == "lift" else dimension


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """ConfigError for an unknown option, or one whose value has the wrong type or range."""
    allowed = encoder(name).options
    for key, value in options.items():
        if key not in allowed:
            raise ConfigError(unknown(f"option of the encoder {name!r}", key, allowed))
        if problem := allowed[key].problem(value):
            raise ConfigError(f"option {key!r} of the encoder {name!r} is {value!r}; {problem}")


def complete_options(name: str, options: Mapping[str, Any]) -> dict[str, Value]:
    """The options with the defaults filled in, checked."""
    check_options(name, options)
    defaults = {key: option.default for key, option in encoder(name).options.items()}
    return {**defaults, **options}


@functools.cache
def _load_all() -> None:
    """Import each file of this package that may register an encoder; none of them imports torch at its top."""
    package = importlib.import_module(__package__ or "infonce.encoders")
    for found in pkgutil.iter_modules(package.__path__):
        if found.name not in ("registry", "encoder", "heads"):
            importlib.import_module(f"{package.__name__}.{found.name}")
