import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infonce.report import format as fmt


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.83, "1.83"),
        (-0.5, "−0.500"),
        (12345.6, "12,346"),
        (0.000123456, "0.000123"),
        (1.2e9, "1.2·10⁹"),
        (-3.4e-12, "−3.4·10⁻¹²"),
        (math.nan, "–"),
        (None, "–"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert fmt.number(value) == text


@pytest.mark.parametrize(
    ("mean", "half_width", "text"),
    [
        (-1.0, 0.01, "−1.000 ± 0.010"),
        (-0.9967, 0.004, "−0.997 ± 0.004"),
        (312.3, 32.0, "312 ± 32"),
        (1.0, None, "1.00"),
        (1.0, 0.0, "1.00"),
        (1.0, math.nan, "1.00"),
        (1.0, math.inf, "1.00"),
    ],
)
def test_means_with_their_half_width(mean: float, half_width: float | None, text: str) -> None:
    assert fmt.plus_minus(mean, half_width) == text


@given(st.floats(-1e8, 1e8), st.floats(1e-12, 1e8))
def test_an_interval_is_never_printed_as_nothing(mean: float, half_width: float) -> None:
    text = fmt.plus_minus(mean, half_width)
    assert "nan" not in text
    half = text.split("±")[1]
    assert any(sign in "123456789" for sign in half)


def test_values_beyond_floats_are_told_by_their_logarithm() -> None:
    assert fmt.from_logarithm(1000 * math.log(10) + 0.1) == "10¹⁰⁰⁰"
    assert fmt.from_logarithm(math.log(42)) == "42.0"
    assert fmt.from_logarithm(math.inf) == "∞"
    assert fmt.from_logarithm(math.nan) == "–"


def test_shares_and_lists() -> None:
    assert fmt.share(3, 3) == "all 3"
    assert fmt.share(0, 3) == "none of 3"
    assert fmt.share(1, 3) == "1 of 3"
    assert fmt.listing(["a", "b", "c"]) == "a, b and c"
    assert fmt.plural(1, "run") == "1 run"
    assert fmt.plural(2000, "run") == "2,000 runs"
    assert fmt.span([2.0, 1.0]) == "1.00 to 2.00"
    assert fmt.span([1.0, 1.0]) == "1.00"
