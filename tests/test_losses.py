"""The two losses against a naive loop, closed forms, the exact expectations, and in every precision."""

import itertools
import json
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infonce.losses import LOSSES, dcl_loss, infonce_loss

GOLDEN = json.loads((Path(__file__).parent / "golden" / "finite_k.json").read_text())
BOTH = pytest.mark.parametrize("name", sorted(LOSSES))
similarities = st.floats(-1, 1, allow_nan=False)
temperatures = st.sampled_from([0.05, 0.1, 0.5, 1.0, 5.0])


def naive(positive, negatives, temperature, name):
    """The definition for one tuple, by Python's floats; only where nothing overflows."""
    total = sum(math.exp((negative - positive) / temperature) for negative in negatives) / len(negatives)
    return math.log(total + (1 / len(negatives) if name == "infonce" else 0))


def tuples(batch, negatives, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    values = 2 * torch.rand(batch, negatives + 1, generator=generator, dtype=dtype) - 1
    return values[:, 0], values[:, 1:]


@BOTH
@given(positive=similarities, negatives=st.lists(similarities, min_size=1, max_size=6), temperature=temperatures)
def test_equals_the_definition(name, positive, negatives, temperature):
    value = LOSSES[name](
        torch.tensor([positive], dtype=torch.float64), torch.tensor([negatives], dtype=torch.float64), temperature
    )
    assert value.item() == pytest.approx(naive(positive, negatives, temperature, name), abs=1e-12, rel=1e-12)


@given(negatives=st.lists(similarities, min_size=1, max_size=6), positive=similarities, temperature=temperatures)
def test_dcl_lies_below_infonce_and_both_within_their_range(positive, negatives, temperature):
    arguments = (torch.tensor([positive]).double(), torch.tensor([negatives]).double(), temperature)
    infonce, dcl = infonce_loss(*arguments).item(), dcl_loss(*arguments).item()
    k, reach = len(negatives), 2 / temperature
    assert dcl <= infonce  # equal where 1/k is below the resolution of float64
    assert -reach - 1e-12 <= dcl <= reach + 1e-12
    assert math.log(1 / k + math.exp(-reach)) - 1e-12 <= infonce <= math.log(1 / k + math.exp(reach)) + 1e-12


@BOTH
@given(st.permutations(range(5)), st.integers(1, 4), temperatures)
def test_ignores_the_order_and_a_common_multiplicity_of_negatives(name, order, copies, temperature):
    positive, negatives = tuples(3, 5)
    value = LOSSES["dcl"](positive, negatives, temperature)
    assert torch.allclose(LOSSES["dcl"](positive, negatives.repeat(1, copies), temperature), value, atol=1e-12)
    value = LOSSES[name](positive, negatives, temperature)
    assert torch.allclose(LOSSES[name](positive, negatives[:, order], temperature), value, atol=1e-12)


@pytest.mark.parametrize("setting", GOLDEN["by_tau"], ids=lambda setting: f"tau{setting['tau']}")
@pytest.mark.parametrize("k", [1, 2, 4])
@BOTH
def test_mean_over_all_draws_is_the_exact_risk(setting, k, name):
    rows = {
        part: torch.nn.functional.normalize(torch.tensor(GOLDEN[part], dtype=torch.float64), dim=1)
        for part in ("anchors", "positives", "pool")
    }
    draws = torch.tensor(list(itertools.product(range(len(rows["pool"])), repeat=k)))
    means = []
    for anchor, positive in zip(rows["anchors"], rows["positives"], strict=True):
        to_pool = rows["pool"] @ anchor
        means.append(LOSSES[name]((anchor @ positive).expand(len(draws)), to_pool[draws], setting["tau"]).mean())
    expected = next(risk[name] for risk in setting["risks"] if risk["k"] == k)
    assert torch.stack(means).mean().item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("k", "before_normalisation"), [(1, 0.693), (4, 1.609), (255, 5.545), (4096, 8.318)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_constant_encoder(k, before_normalisation, dtype):
    positive, negatives = torch.ones(2, dtype=dtype), torch.ones(2, k, dtype=dtype)
    value = infonce_loss(positive, negatives, 0.1)
    tolerance = 1e-12 if dtype == torch.float64 else 2e-6
    assert value == pytest.approx([math.log1p(1 / k)] * 2, abs=tolerance)
    assert value + math.log(k) == pytest.approx([before_normalisation] * 2, abs=5e-4)
    assert dcl_loss(positive, negatives, 0.1) == pytest.approx([0.0] * 2, abs=tolerance)


@pytest.mark.parametrize(("temperature", "expected"), [(0.01, 10.0), (0.001, 100.0)])
@BOTH
def test_float32_at_a_small_temperature(name, temperature, expected):
    positive = torch.tensor([0.9], requires_grad=True)
    negatives = torch.tensor([[1.0]], requires_grad=True)
    value = LOSSES[name](positive, negatives, temperature)
    value.backward()
    assert value.item() == pytest.approx(expected, rel=1e-5, abs=5e-5)
    assert negatives.grad.item() == pytest.approx(1 / temperature, rel=1e-4)
    assert positive.grad.item() == pytest.approx(-1 / temperature, rel=1e-4)


@pytest.mark.parametrize("temperature", [1e-3, 1e-2, 0.1, 1.0, 1e3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@BOTH
def test_narrow_types_agree_with_float64(name, temperature, dtype):
    """Half precision is widened before anything is computed, so only the inputs' own rounding is seen."""
    positive, negatives = (part.to(dtype) for part in tuples(16, 33))
    extreme = torch.tensor([[-1.0] * 33, [1.0] * 33], dtype=dtype)
    positive, negatives = torch.cat([positive, extreme[:, 0].flip(0)]), torch.cat([negatives, extreme])
    value = LOSSES[name](positive, negatives, temperature)
    exact = LOSSES[name](positive.double(), negatives.double(), temperature)
    assert value.dtype == torch.float32
    assert torch.allclose(value.double(), exact, rtol=2e-6, atol=2e-6)


@BOTH
def test_gradients_are_those_of_finite_differences(name):
    positive, negatives = tuples(3, 4)
    mask = torch.tensor([[False] * 4, [True, False, True, False], [False, False, False, True]])
    inputs = (positive.requires_grad_(), negatives.requires_grad_())
    assert torch.autograd.gradcheck(lambda p, n: LOSSES[name](p, n, 0.3, mask), inputs)


@pytest.mark.parametrize("temperature", [1e-3, 0.1, 1.0])
@BOTH
def test_a_masked_negative_is_absent_in_value_and_gradient(name, temperature):
    """The anchor among its own negatives, s = 1, is the largest of all; masked it leaves no trace, k included."""
    positive, negatives = tuples(4, 5)
    with_own = torch.cat([negatives, torch.ones(4, 1, dtype=torch.float64)], dim=1).requires_grad_()
    mask = torch.zeros(4, 6, dtype=torch.bool)
    mask[:, 5] = True
    value = LOSSES[name](positive, with_own, temperature, mask)
    assert torch.equal(value, LOSSES[name](positive, negatives, temperature))
    value.sum().backward()
    assert torch.equal(with_own.grad[:, 5], torch.zeros(4, dtype=torch.float64))
    assert with_own.grad[:, :5].abs().sum() > 0
    moved = with_own.detach().clone()
    moved[:, 5] -= 1e-3
    assert torch.equal(LOSSES[name](positive, moved, temperature, mask), value)


@BOTH
def test_rows_may_keep_different_numbers_of_negatives(name):
    positive, negatives = tuples(2, 3)
    mask = torch.tensor([[False, True, True], [False, False, True]])
    value = LOSSES[name](positive, negatives, 0.5, mask)
    for row, kept in enumerate((1, 2)):
        alone = LOSSES[name](positive[row : row + 1], negatives[row : row + 1, :kept], 0.5)
        assert value[row].item() == pytest.approx(alone.item(), abs=1e-12)


@pytest.mark.parametrize("temperature", [0.0, -0.1, math.nan, math.inf])
@BOTH
def test_refuses_a_temperature_that_is_none(name, temperature):
    with pytest.raises(ValueError, match=f"temperature.*{temperature}"):
        LOSSES[name](*tuples(2, 3), temperature)


@BOTH
def test_refuses_what_does_not_fit(name):
    positive, negatives = tuples(2, 3)
    with pytest.raises(ValueError, match=r"\(B, k\)"):
        LOSSES[name](positive, negatives[:1], 1.0)
    with pytest.raises(ValueError, match="at least one negative"):
        LOSSES[name](positive, negatives[:, :0], 1.0)
    with pytest.raises(ValueError, match="must be floats"):
        LOSSES[name](positive.long(), negatives, 1.0)
    with pytest.raises(ValueError, match="tuple 1 without a negative"):
        LOSSES[name](positive, negatives, 1.0, torch.tensor([[False] * 3, [True] * 3]))
    with pytest.raises(ValueError, match="mask must be boolean"):
        LOSSES[name](positive, negatives, 1.0, torch.ones(2, 3))
