"""Prop 4 and Eq 18 against losses of moved embeddings, and where their constants are reached."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infonce.losses import LOSSES
from infonce.theory import stability
from tests.theory.conftest import unit


def loss(a, p, b, tau, name):
    """Of one tuple."""
    return float(LOSSES[name](torch.tensor([a @ p]), torch.tensor((b @ a)[None]), tau)[0])


def displacements(before, after):
    return [np.linalg.norm(y - x, axis=-1) for x, y in zip(before, after, strict=True)]


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    tau=st.floats(0.02, 5),
    k=st.integers(1, 50),
    size=st.floats(1e-3, 3),
    beta=st.floats(1, 200),
    name=st.sampled_from(["infonce", "dcl"]),
)
def test_no_loss_moves_further_than_the_bounds(seed, tau, k, size, beta, name):
    generator = np.random.default_rng(seed)
    before = [unit(generator.normal(size=shape)) for shape in (3, 3, (k, 3))]
    scales = size * generator.uniform(size=3)  # sometimes one moves and the others hardly
    after = [unit(x + scale * generator.normal(size=x.shape)) for x, scale in zip(before, scales, strict=True)]
    change = abs(loss(*after, tau, name) - loss(*before, tau, name))
    moved = displacements(before, after)
    assert change <= stability.prop4(*moved, tau, beta) + 1e-9
    assert change <= stability.tight_prop4(*moved, tau) + 1e-9
    assert change <= stability.eq18(*moved, tau) + 1e-9
    assert stability.tight_prop4(*moved, tau) <= stability.prop4(*moved, tau, beta)


def turned(angle):
    return np.array([math.cos(angle), math.sin(angle)])


@pytest.mark.parametrize("name", ["infonce", "dcl"])
def test_the_constants_2_1_1_are_reached(name):
    """Each constant alone: only the anchor moves, only the positive, only the negatives; β = ∞ when all move alike."""
    step, tau, k = 1e-4, 0.05, 3
    a, p, b = turned(0.0), turned(math.pi / 2), np.tile(turned(-math.pi / 2), (k, 1))
    base = loss(a, p, b, tau, name)
    # the anchor moves away from the positive and towards all negatives
    small = 0.25 if name == "infonce" else 0.0  # the weight of the 1/k summand
    zero, still = 0.0, np.zeros(k)
    change = loss(turned(-step), p, b, tau, name) - base
    assert change == pytest.approx((1 - small) * stability.tight_prop4(step, zero, still, tau), rel=0.02)
    a, p, b = turned(0.0), turned(math.pi / 2 - step), np.tile(turned(-math.pi / 2 + step), (k, 1))
    change = loss(a, turned(math.pi / 2), b, tau, name) - loss(a, p, b, tau, name)
    assert change == pytest.approx((1 - small) * stability.tight_prop4(zero, step, still, tau), rel=0.02)
    base = loss(a, turned(math.pi / 2), np.tile(turned(-math.pi / 2), (k, 1)), tau, name)
    change = loss(a, turned(math.pi / 2), b, tau, name) - base
    assert change == pytest.approx((1 - small) * stability.tight_prop4(zero, zero, still + step, tau), rel=0.02)


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.floats(0, 2), min_size=1, max_size=30).map(np.array),
    tau=st.floats(1e-3, 10),
)
def test_the_best_beta_is_no_worse_than_any_on_a_grid(values, tau):
    best = float(stability.log_best_power_mean(values, tau))
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    grid = [float(stability.log_weighted_power_mean(logs, tau, np.float64(x))) for x in np.linspace(0, 1, 401)]
    if values.max() == 0:
        assert best == -math.inf
    else:
        assert best <= min(grid) + 1e-9
        assert best >= min(grid) - 0.05 * (1 + 2 / tau) / 20  # no lower than the grid's neighbourhood allows
        assert best <= math.log(values.max()) + 1e-12


def test_power_means_by_hand():
    values = np.array([1.0, 2.0, 0.0, 4.0])
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    for beta in (1.0, 2.0, 7.5):
        expected = math.exp(2 / (beta * 0.3)) * (values**beta).mean() ** (1 / beta)
        got = math.exp(stability.log_weighted_power_mean(logs, 0.3, np.float64(1 / beta)))
        assert got == pytest.approx(expected, rel=1e-12)
    assert math.exp(stability.log_weighted_power_mean(logs, 0.3, np.float64(0.0))) == pytest.approx(4)


def test_many_tuples_at_once():
    generator = np.random.default_rng(0)
    a, p, b = generator.uniform(size=(5, 2)), generator.uniform(size=(5, 2)), generator.uniform(size=(5, 2, 9))
    for function in (stability.tight_prop4, stability.eq18):
        together = function(a, p, b, 0.2)
        assert together.shape == (5, 2)
        assert together[3, 1] == pytest.approx(function(a[3, 1], p[3, 1], b[3, 1], 0.2), rel=1e-9)


def test_small_temperatures_have_logarithms():
    moved = (0.1, 0.1, [0.1, 0.2])
    assert stability.prop4(*moved, 1e-3, 1.0) == math.inf
    expected = math.log(3 * 0.15) + 2000 + math.log(1000)
    assert stability.log_prop4(*moved, 1e-3, 1.0) == pytest.approx(expected, rel=1e-12)
    assert math.isfinite(stability.tight_prop4(*moved, 1e-3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stability.prop4(0.1, 0.1, [0.1], 0.1, 0.5), "beta: expected a number of at least 1, got 0.5"),
        (lambda: stability.prop4(0.1, 0.1, [], 0.1, 1), "displacement_negatives: expected at least one"),
        (lambda: stability.prop4(-0.1, 0.1, [0.1], 0.1, 1), "displacement_anchor: expected finite lengths"),
        (lambda: stability.eq18(0.1, math.nan, [0.1], 0.1), "displacement_positive: expected finite lengths"),
        (lambda: stability.eq18([0.1, 0.2], [0.1, 0.2], [0.1, 0.2], 0.1), "displacement_negatives: expected shape"),
        (lambda: stability.eq18(0.1, 0.1, [0.1], 0.0), "temperature: "),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
