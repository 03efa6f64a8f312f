"""Numbers and names as people read them: one spelling on the page, in figures and in table files."""

import math
from collections.abc import Iterable

MINUS = "−"
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def number(value: float | None, digits: int = 3) -> str:
    """A number to `digits` significant digits; with a power of ten where very large or small; "–" where absent."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if -4 <= exponent < 6:
        return fixed(value, max(0, digits - 1 - exponent))
    return f"{fixed(value / 10.0**exponent, 1) if abs(exponent) < 300 else '1'}·{power_of_ten(exponent)}"


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals, thousands separated, and a true minus sign."""
    text = f"{value:,.{decimals}f}"
    return text.replace("-", MINUS) if float(text.replace(",", "")) != 0 else text.lstrip("-")


def power_of_ten(exponent: int) -> str:
    """10 with a raised exponent."""
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def from_logarithm(log_value: float) -> str:
    """exp(log_value) as text, also where the value itself overflows."""
    if math.isnan(log_value) or abs(log_value) < 600:
        return number(math.exp(log_value))
    return power_of_ten(math.floor(log_value / math.log(10))) if math.isfinite(log_value) else number(log_value)


def integer(value: float) -> str:
    """A whole number with its thousands separated."""
    return f"{round(value):,}".replace("-", MINUS)


def temperature(value: float) -> str:
    """A temperature in its one spelling: 0.1, 1."""
    return f"{value:.10g}"


def plus_minus(mean: float, half_width: float | None) -> str:
    """A mean with its half-width, to the half-width's leading digit; alone where there is none: never ±nan or ±0."""
    if half_width is None or not math.isfinite(half_width) or half_width <= 0:
        return number(mean)
    decimals = -math.floor(math.log10(half_width)) + (1 if _leading_digit(half_width) < 3 else 0)
    if decimals > 8 or abs(mean) >= 1e6 or half_width >= 1e4:
        return f"{number(mean)} ± {number(half_width, 2)}"
    decimals = max(2 if abs(mean) < 100 and half_width < 1 else 0, decimals)
    return f"{fixed(mean, decimals)} ± {fixed(half_width, decimals)}"


def _leading_digit(value: float) -> int:
    return int(value / 10.0 ** math.floor(math.log10(value)))


def span(values: Iterable[float], digits: int = 3) -> str:
    """ "a to b", or the one value where all print alike."""
    present = [value for value in values if value is not None and not math.isnan(value)]
    if not present:
        return "–"
    low, high = number(min(present), digits), number(max(present), digits)
    return low if low == high else f"{low} to {high}"


def share(count: int, total: int) -> str:
    """ "all 12", "none of 12" or "5 of 12"."""
    if total > 1 and count == total:
        return f"all {integer(total)}"
    return f"none of {integer(total)}" if count == 0 < total else f"{integer(count)} of {integer(total)}"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """ "1 run", "12 runs"."""
    return f"{integer(count)} {noun if count == 1 else many or noun + 's'}"


def listing(values: Iterable[str]) -> str:
    """ "a, b and c"."""
    texts = list(values)
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else "none"
