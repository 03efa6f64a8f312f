import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infonce.report import fits


def test_the_interval_is_that_of_student() -> None:
    mean = fits.mean_with_interval([1.0, 2.0, 4.0])
    # t(0.975, 2) = 4.302652729749464, standard deviation sqrt(7/3)
    assert mean.value == pytest.approx(7 / 3)
    assert mean.half_width == pytest.approx(4.302652729749464 * math.sqrt(7 / 3) / math.sqrt(3))
    assert mean.n == 3


def test_means_over_seeds_are_over_the_same_cells() -> None:
    cells = pd.DataFrame(
        [{"seed": seed, "negatives": k, "temperature": 1.0, "kl": k + 0.01 * seed} for seed in (1, 2) for k in range(8)]
    )
    whole = fits.mean_over_seeds(cells, "kl")
    of_seeds = fits.mean_with_interval([3.51, 3.52])
    assert (whole.value, whole.half_width) == pytest.approx((of_seeds.value, of_seeds.half_width))
    gaps = cells.drop(cells.index[[12, 13]])  # seed 2 lacks k = 4 and 5
    mean = fits.mean_over_seeds(gaps, "kl")
    assert mean.half_width == pytest.approx(whole.half_width)
    assert (mean.n, mean.cells_left_out) == (2, 2)
    assert mean.over == "95 % interval over 2 seeds, without 2 cells that a seed lacks"
    hardly_begun = fits.mean_over_seeds(cells.drop(cells.index[11:]), "kl")  # three cells of eight
    assert (hardly_begun.value, hardly_begun.n, hardly_begun.cells_left_out) == (pytest.approx(3.51), 1, 0)
    assert hardly_begun.over == "1 seed, no interval, without 1 seed with too few cells"
    apart = cells[(cells["seed"] == 1) == (cells["negatives"] < 4)]
    alone = fits.mean_over_seeds(apart, "kl")
    assert (alone.value, alone.n, alone.cells_left_out, alone.seeds_left_out) == (pytest.approx(1.51), 1, 0, 1)
    assert fits.mean_over_seeds(cells[["seed", "kl"]], "kl").half_width == pytest.approx(whole.half_width)


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0], [1.0, math.nan]])
def test_no_interval_without_spread(values: list[float]) -> None:
    assert fits.mean_with_interval(values).half_width is None


def test_a_seed_is_one_replicate() -> None:
    runs = pd.DataFrame({"seed": [0, 0, 0, 1], "x": [1.0, 2.0, 3.0, 4.0]})
    mean = fits.mean_over_seeds(runs, "x")
    assert (mean.value, mean.n) == (3.0, 2)


@given(st.floats(-3, 3), st.floats(0.01, 100), st.booleans())
def test_a_power_law_has_its_exponent(exponent: float, factor: float, negative: bool) -> None:
    k = np.array([4.0, 16, 64, 1024])
    y = (-factor if negative else factor) * k**exponent
    assert fits.slope(k, y) == pytest.approx(exponent, abs=1e-9)


def test_points_without_logarithm_are_left_out() -> None:
    k, y = np.array([1.0, 2, 4, 8]), np.array([0.0, 1 / 2, 1 / 4, 1 / 8])
    assert fits.slope(k, y) == pytest.approx(-1)
    assert math.isnan(fits.slope(k[:3], y[:3]))


def test_the_first_order_rules_by_the_coefficients_alone() -> None:
    curves = pd.DataFrame(
        {"first_order": [1.0, 1.0, 0.0, np.nan, -1.0], "second_order": [0.05, 0.051, 0.0, 0.1, -0.01]}
    )
    assert fits.first_order_rules(curves).tolist() == [True, False, False, False, True]


def test_rank_correlation() -> None:
    rising = pd.Series([1.0, 2.0, 3.0])
    assert fits.rank_correlation(rising, rising**3) == pytest.approx(1)
    assert math.isnan(fits.rank_correlation(rising, pd.Series([1.0, 1.0, 1.0])))
    assert math.isnan(fits.rank_correlation(rising[:2], rising[:2]))
