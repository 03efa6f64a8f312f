"""Validation that speaks to people: each problem with its file, key, value and what is expected."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from infonce.errors import ConfigError
from infonce.spec.source import NO_SOURCES, Key, Sources, dotted, nearest

Model = TypeVar("Model", bound=BaseModel)


def validate(model: type[Model], values: Mapping[str, Any], sources: Sources = NO_SOURCES) -> Model:
    """`values` as a `model`, or a ConfigError with a line for each problem."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        lines = dict.fromkeys(_describe(model, detail, values, sources) for detail in error.errors())
        raise ConfigError("\n".join(lines)) from None


def parse_json(text: str) -> dict[str, Any]:
    """A JSON object given on the command line, or a ConfigError."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"command line: {text!r} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"command line: {text!r} is no JSON object")
    return value


def validate_json(model: type[Model], text: str) -> Model:
    """JSON text as a `model`, or a ConfigError."""
    return validate(model, parse_json(text))


def _describe(model: type[BaseModel], detail: ErrorDetails, values: Mapping[str, Any], sources: Sources) -> str:
    key = _key_of(detail["loc"], values)
    where = f"{sources.locate(key)}: {dotted(key)}"
    if detail["type"] == "extra_forbidden":
        return f"{where}: unknown key; {nearest(str(key[-1]), _known_keys(model, key[:-1]))}"
    if detail["type"] == "missing":
        return f"{where}: is missing; give it a value"
    reason = detail["msg"].removeprefix("Value error, ")
    return f"{where}: {detail['input']!r} is refused: {reason[0].lower()}{reason[1:]}"


def _key_of(location: tuple[int | str, ...], values: Any) -> Key:
    """The part of pydantic's location that names keys of the configuration, without its names of union members."""
    key: list[str | int] = []
    for position, part in enumerate(location):
        last = position == len(location) - 1
        if isinstance(values, Mapping) and (part in values or last):
            key.append(part)
            values = values.get(part)
        elif isinstance(values, list | tuple) and isinstance(part, int) and part < len(values):
            key.append(part)
            values = values[part]
    return tuple(key)


def _known_keys(model: type[BaseModel], key: Key) -> list[str]:
    """The keys that the model at `key` has; found by walking the types along it."""
    for part in key:
        if not (isinstance(part, str) and part in model.model_fields):
            continue
        inner = model_in(model.model_fields[part].annotation)
        if inner is not None:
            model = inner
    return list(model.model_fields)


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a type is, or that it lists or maps to."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := model_in(part))), None)
