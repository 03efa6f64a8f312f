"""Value types of the configuration: YAML's text, octal and integral floats become one number or a clear refusal."""

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def to_number(value: Any) -> Any:
    """`"1e-3"` (text to YAML) → 0.001; anything that is no finite number is refused."""
    if isinstance(value, bool):
        raise ValueError("is true/false where a number is expected")
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value.strip()):
            raise ValueError("is text that is no number")
        value = float(value)
    if isinstance(value, int | float) and not math.isfinite(value):
        raise ValueError("is not finite")
    return value


def to_whole(value: Any) -> Any:
    """`"8"`, 8 and 8.0 → 8; 2.5 is refused, never rounded."""
    value = to_number(value)
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError("is not a whole number")
        value = int(value)
    return value


def to_list(value: Any) -> Any:
    """A single value stands for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


Number = Annotated[float, BeforeValidator(to_number)]
Positive = Annotated[Number, Field(gt=0)]
NonNegative = Annotated[Number, Field(ge=0)]
Count = Annotated[int, BeforeValidator(to_whole), Field(ge=1)]
Whole = Annotated[int, BeforeValidator(to_whole), Field(ge=0)]
Seed = Annotated[Whole, Field(lt=2**63)]
Temperature = Annotated[Number, Field(ge=1e-3, le=1e3)]
