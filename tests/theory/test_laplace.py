import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infonce.theory import laplace
from infonce.theory.laplace import BIN_WIDTH, BINS_PER_NODE, BinnedPool


def binned(x: torch.Tensor, span: float, pairs: torch.Tensor | None = None) -> BinnedPool:
    pool = BinnedPool(len(x), span, x.device)
    none = torch.empty((2, 0), dtype=torch.int64)
    middle = x.shape[1] // 2
    pool.add(x[:, :middle].clone(), none if pairs is None else pairs)
    pool.add(x[:, middle:].clone(), none)
    return pool


def exact(x: torch.Tensor, first: int, nodes: int) -> torch.Tensor:
    v = torch.arange(first, first + nodes).double() * BINS_PER_NODE * BIN_WIDTH
    return -torch.expm1(-(x[:, :, None] + v).exp()).mean(1)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), span=st.floats(0.1, 300), count=st.integers(2, 200), first=st.integers(-120, 700))
def test_the_transform_is_that_of_the_weights_relative_to_itself(seed, span, count, first):
    """Also where 1 - L is tiny, for log L^k at k = 10^6; and where bins far below or above are left out."""
    generator = torch.Generator().manual_seed(seed)
    x = -span * torch.rand(3, count, generator=generator, dtype=torch.float64) ** 2
    x[:, 0] = 0.0
    first = min(first, int((span + 6) / 0.375))
    got = binned(x, span).complement(first, 32)
    torch.testing.assert_close(got, exact(x, first, 32), rtol=1e-8, atol=1e-300)


def test_the_mean_and_the_size():
    x = torch.tensor([[-0.3, -2.0, -9.0, -0.001], [0.0, -1.0, -5.0, -10.0]], dtype=torch.float64)
    pool = binned(x, 10.0)
    torch.testing.assert_close(pool.log_mean(), x.exp().mean(1).log(), rtol=0, atol=1e-8)
    assert pool.size.flatten().tolist() == [4, 4]
    low, high = pool.log_range()
    assert low <= -10.0 <= low + BIN_WIDTH
    assert high == 0.0


def test_left_out_pairs_do_not_count_even_if_they_would_outweigh_all_others():
    x = torch.tensor([[0.0, -300.0, -301.0, -300.5]], dtype=torch.float64)
    pool = binned(x, 400.0, torch.tensor([[0], [0]]))
    assert pool.size.item() == 3
    expected = x[:, 1:].exp().mean(1).log()
    torch.testing.assert_close(pool.log_mean(), expected, rtol=0, atol=1e-8)


def test_a_rounding_error_above_zero_lands_in_the_last_bin():
    x = torch.full((1, 4), 1e-13, dtype=torch.float64)
    torch.testing.assert_close(binned(x, 3.0).log_mean(), torch.zeros(1, dtype=torch.float64), rtol=0, atol=1e-8)


@pytest.mark.parametrize("edge", [laplace.BELOW, laplace.ABOVE])
def test_what_is_left_out_of_the_curve_is_negligible(edge):
    ends = {laplace.BELOW: np.exp(-laplace.BELOW), laplace.ABOVE: np.exp(-np.exp(laplace.ABOVE))}
    assert ends[edge] < 1e-19
