"""The configuration's JSON schema and its reference in Markdown, generated from the types so that they agree."""

import json
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from infonce.spec.config import Axes, Config, Slice
from infonce.spec.problems import model_in

MARK = "<!-- Below this line: generated from infonce/spec by `make reference`. -->"


def config_schema() -> str:
    """The JSON schema of the configuration, as the text of its file."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def with_reference(text: str) -> str:
    """A Markdown text whose part below the mark is the generated reference."""
    return f"{text.partition(MARK)[0]}{MARK}\n\n{config_reference()}"


def config_reference() -> str:
    """A Markdown table for each group of keys: key, kind of value, default, meaning."""
    parts = [_table("The grid", Axes, ""), _table("Other keys", Config, "", leave_out=tuple(Axes.model_fields))]
    parts += [_table(f"`{path}`", model, path) for path, model in _groups(Config)]
    return "\n".join(parts)


def _groups(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    for name, info in model.model_fields.items():
        inner = model_in(info.annotation)
        if inner is None or inner is Slice:
            continue
        path = f"{prefix}{name}" + (".<name>" if get_origin(info.annotation) is dict else "")
        leaves = [field for field in inner.model_fields.values() if model_in(field.annotation) is None]
        if leaves:
            yield path, inner
        yield from _groups(inner, f"{path}.")


def _table(title: str, model: type[BaseModel], prefix: str, leave_out: tuple[str, ...] = ()) -> str:
    lines = [f"## {title}", "", "| key | value | default | meaning |", "|---|---|---|---|"]
    for name, info in model.model_fields.items():
        if name in leave_out:
            continue
        lines.append(f"| `{name}` | {_kind(info)} | {_default(info)} | {_escape(info.description or '')} |")
    return "\n".join([*lines, ""])


def _kind(info: FieldInfo) -> str:
    limits: dict[str, float] = {}  # a later limit of the same kind is the narrower one
    for constraint in info.metadata:
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            value = getattr(constraint, name, None)
            if value is not None and value < 2**60:
                limits[sign] = value
    bounds = [f"{sign} {value:g}" for sign, value in limits.items()]
    return _escape(", ".join([_type_text(info.annotation), *bounds]))


def _type_text(annotation: Any) -> str:
    arguments = get_args(annotation)
    if get_origin(annotation) is list:
        return f"list of {_type_text(arguments[0])}"
    if get_origin(annotation) is dict:
        return f"mapping: name → {_type_text(arguments[1])}"
    if hasattr(annotation, "__metadata__"):
        return _type_text(arguments[0])
    if arguments and all(isinstance(argument, str) for argument in arguments):
        return " or ".join(f"`{argument}`" for argument in arguments)
    if arguments:
        return " or ".join(_type_text(argument) for argument in arguments)
    names = {int: "whole number", float: "number", str: "text", bool: "true or false", type(None): "null"}
    return names.get(annotation, "the keys of its own table")


def _default(info: FieldInfo) -> str:
    if info.default is PydanticUndefined:
        return "needed"
    if isinstance(info.default, BaseModel):
        return ""
    return f"`{json.dumps(info.default, ensure_ascii=False)}`"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
