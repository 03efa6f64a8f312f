import itertools

import numpy as np
import pytest

from infonce.theory.finite_search import empty_support_frequency, finite_search_difference
from infonce.theory.gap import eq12
from tests.theory.conftest import random_embeddings


def test_the_difference_equals_the_enumeration():
    a, _, b = random_embeddings(8, 2, 5, 3)
    density = np.array([[1e-3, 1, 2, 30, 5], [0, 2, 0, 0, 1]])
    found = finite_search_difference(a, b, density, 0.2, [1, 2, 3])
    for row in range(2):
        s, r = b @ a[row], density[row]
        under_m = (r * s).sum() / r.sum()
        for i, k in enumerate((1, 2, 3)):
            draws = [list(draw) for draw in itertools.product(range(5), repeat=k)]
            searched = [(r[d] * s[d]).sum() / r[d].sum() if r[d].any() else under_m for d in draws]
            assert found[i, row] == pytest.approx((under_m - np.mean(searched)) / 0.2, abs=1e-11)


def test_it_vanishes_as_k_grows_beyond_the_pool_and_obeys_eq_12_throughout():
    a, _, b = random_embeddings(3, 6, 40, 4)
    density = np.exp(6 * a @ b.T)  # far from constant
    second_moment = float((len(b[:]) * (density**2).sum(1) / density.sum(1) ** 2).mean())
    ks = [1, 10, 100, 10_000, 1_000_000]
    found = finite_search_difference(a, b, density, 0.1, ks).mean(1)
    for k, difference in zip(ks, found, strict=True):
        assert abs(difference) <= eq12(k, 0.1, second_moment)
    assert abs(found[0]) > 0.1
    assert abs(found[-1]) < 1e-4


def test_empty_support():
    np.testing.assert_allclose(empty_support_frequency(0.1, [1, 2, 100]), [0.9, 0.81, 0.9**100])
    np.testing.assert_array_equal(empty_support_frequency(1.0, [1, 2]), [0, 0])
    np.testing.assert_array_equal(empty_support_frequency(0.0, 5), [1])
    with pytest.raises(ValueError, match="support"):
        empty_support_frequency(1.1, 5)
