"""The two heads: onto the sphere, finite everywhere, and one of them 1-Lipschitz."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infonce.encoders.heads import HEAD_FUNCTIONS, lift, normalize

BOTH = pytest.mark.parametrize("name", sorted(HEAD_FUNCTIONS))
rows = st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3)


@BOTH
@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1.0, 1e10, 1e30])
def test_rows_are_unit_at_any_scale(name, scale):
    features = torch.randn(50, 7, generator=torch.Generator().manual_seed(1)) * scale
    embeddings = HEAD_FUNCTIONS[name](features)
    assert embeddings.dtype == torch.float32
    assert torch.allclose(embeddings.norm(dim=1), torch.ones(50), atol=1e-6)


def test_definitions():
    features = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    assert torch.allclose(normalize(features), torch.tensor([[0.6, 0.8]], dtype=torch.float64))
    assert torch.allclose(lift(features), torch.tensor([[3.0, 4.0, 1.0]], dtype=torch.float64) / 26**0.5)


@BOTH
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_an_all_zero_row_has_a_finite_value_and_gradient(name, dtype):
    features = torch.tensor([[0.0, 0.0], [1.0, 2.0]], dtype=dtype, requires_grad=True)
    embeddings = HEAD_FUNCTIONS[name](features)
    assert embeddings.dtype == torch.promote_types(dtype, torch.float32)
    assert torch.allclose(embeddings.norm(dim=1), torch.ones(2, dtype=embeddings.dtype))
    (embeddings * torch.arange(embeddings.shape[1])).sum().backward()
    assert torch.isfinite(features.grad).all()
    assert features.grad[1].abs().sum() > 0


@BOTH
def test_gradients_are_those_of_finite_differences(name):
    features = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    assert torch.autograd.gradcheck(HEAD_FUNCTIONS[name], (features.requires_grad_(),))


@BOTH
def test_what_is_not_finite_stays_so(name):
    embeddings = HEAD_FUNCTIONS[name](torch.tensor([[float("nan"), 1.0], [float("inf"), 1.0], [1.0, 1.0]]))
    assert torch.isfinite(embeddings).all(1).tolist() == [False, False, True]


@given(rows, rows)
def test_lift_is_1_lipschitz(first, second):
    one, two = torch.tensor([first]).double(), torch.tensor([second]).double()
    assert (lift(one) - lift(two)).norm() <= (one - two).norm() * (1 + 1e-9) + 1e-12


def test_normalize_is_not_lipschitz_at_zero():
    one, two = torch.tensor([[1e-6, 0.0]]), torch.tensor([[-1e-6, 0.0]])
    assert (normalize(one) - normalize(two)).norm() > 1e5 * (one - two).norm()
