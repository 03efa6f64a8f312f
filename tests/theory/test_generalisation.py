"""Sampling terms, complexities and the bound of Theorem 1, against losses, closed forms and repeated training sets."""

import functools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from infonce.losses import LOSSES
from infonce.theory import generalisation
from tests.theory.conftest import unit


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    tau=st.floats(0.02, 5),
    k=st.integers(1, 10**4),
    name=st.sampled_from(["infonce", "dcl"]),
)
def test_losses_stay_within_their_range_and_reach_its_ends(seed, tau, k, name):
    generator = np.random.default_rng(seed)
    s = torch.from_numpy(generator.uniform(-1, 1, size=(1, k)))
    positive = torch.from_numpy(generator.uniform(-1, 1, size=1))
    largest = generalisation.largest_loss(k, tau, name)
    smallest = largest - generalisation.loss_range(k, tau, name)
    slack = 1e-9 / tau
    assert smallest - slack <= float(LOSSES[name](positive, s, tau)[0]) <= largest + slack
    one = torch.ones_like(s)
    assert float(LOSSES[name](-one[:, 0], one, tau)[0]) == pytest.approx(largest, abs=slack)
    assert float(LOSSES[name](one[:, 0], -one, tau)[0]) == pytest.approx(smallest, abs=slack)


def test_the_range_lies_between_2_and_4_over_tau():
    assert generalisation.loss_range(1, 0.1) == pytest.approx(20.0)
    assert generalisation.loss_range(10**30, 0.1) == pytest.approx(40.0)
    assert generalisation.loss_range(1, 0.1, "dcl") == pytest.approx(40.0)
    ranges = [generalisation.loss_range(k, 1e-3) for k in (1, 10, 10**3, 10**6)]
    assert ranges == sorted(ranges)


def test_sample_terms_by_hand():
    root = math.sqrt(math.log(2 / 0.05) / (2 * 1000))
    assert generalisation.prop3_sample(1000, 0.2, 0.05) == pytest.approx(60 * root, rel=1e-14)
    spread = generalisation.loss_range(7, 0.2)
    assert generalisation.tight_sample(1000, 7, 0.2, 0.05) == pytest.approx(3 * spread * root, rel=1e-14)
    assert generalisation.tight_sample(1000, 7, 0.2, 0.05) < generalisation.prop3_sample(1000, 0.2, 0.05)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.05, 5))
def test_b_tau_is_the_power_mean_and_lies_below_the_largest_norms(seed, tau):
    generator = np.random.default_rng(seed)
    a, p, b = generator.lognormal(size=7), generator.lognormal(size=7), generator.lognormal(size=(7, 11))
    power = 2 / min(1.0, tau)
    expected = math.sqrt((a**2).mean()) + math.sqrt((p**2).mean()) + (b**power).mean() ** (1 / power)
    got = generalisation.b_tau(a, p, b, tau)
    assert got == pytest.approx(expected, rel=1e-10)
    assert got <= a.max() + p.max() + b.max()


def test_b_tau_at_the_smallest_temperature_is_the_largest_negative_norm():
    """Powers of 2,000 overflow, and a norm of zero has no logarithm."""
    b = np.array([[0.0, 3.0], [1e5, 2.0]])
    assert generalisation.b_tau([1.0], [2.0], b, 1e-3) == pytest.approx(3 + 1e5, rel=1e-3)
    assert generalisation.b_tau([0.0], [0.0], [0.0], 0.5) == 0


def test_proposition_5_by_hand():
    size = math.e * 0.3 * 4.0 * 1.5
    expected = (
        96 / 0.5 * math.sqrt(20 / 900) * min(size * math.sqrt(math.log(3) + 1), math.sqrt(math.log(1 + 2 * size) + 1))
    )
    assert generalisation.prop5_rademacher(900, 0.5, 20, 0.3, 4.0, 1.5) == pytest.approx(expected, rel=1e-13)
    assert generalisation.prop5_rademacher(900, 0.5, 20, 0.0, 4.0, 1.5) == 0


@pytest.mark.parametrize("tau", [0.1, 1.0])
@pytest.mark.parametrize("radius", [1e-3, 0.5, 30.0])
@pytest.mark.parametrize("loss", ["infonce", "dcl"])
def test_the_tight_complexity_is_dudleys_integral(tau, radius, loss):
    generator = np.random.default_rng(0)
    a, p, b = generator.uniform(1, 3, size=(3, 40)), None, None
    a, p, b = a[0], a[1], generator.uniform(1, 3, size=(40, 12))
    sensitivity = generalisation.log_tuple_sensitivity(a, p, b, tau)
    diameter = 1.7 / tau * math.sqrt(np.mean(np.exp(sensitivity) ** 2)) * radius
    upper = min(diameter, generalisation.loss_range(16, tau, loss))
    integral, _ = integrate.quad(lambda e: math.sqrt(math.log(1 + 2 * diameter / e)), 0, upper, epsabs=0, epsrel=1e-10)
    got = generalisation.tight_rademacher(500, 16, tau, 9, radius, sensitivity, 1.7, loss)
    assert got == pytest.approx(12 * math.sqrt(9 / 500) * integral, rel=1e-8)
    size = generalisation.b_tau(a, p, b, tau)
    assert got < generalisation.prop5_rademacher(500, tau, 9, radius, size, 1.7)


def test_the_tuple_sensitivity_by_hand():
    """Equal norms: every power mean is the norm, so β = ∞ is best."""
    got = np.exp(generalisation.log_tuple_sensitivity([1.0], [2.0], [[3.0, 3.0]], 0.1))
    np.testing.assert_allclose(got, [2 * 1 + 2 + 3])
    assert generalisation.tight_rademacher(10, 1, 0.1, 1, 0.0, [0.0], 1.0) == 0
    assert math.isfinite(generalisation.tight_rademacher(10, 1, 1e-3, 1, 1e200, [700.0], 1e100))
    assert generalisation.tight_rademacher(10, 1, 0.5, 1, 1.0, [-math.inf], 1.0) == 0  # nothing depends on θ


def test_the_dyadic_grid():
    assert generalisation.dyadic_radius(0.0, 0.25) == (0.25, 0)
    assert generalisation.dyadic_radius(0.25, 0.25) == (0.25, 0)
    assert generalisation.dyadic_radius(0.2500001, 0.25) == (0.5, 1)
    assert generalisation.dyadic_radius(5.0, 0.25) == (8.0, 5)
    spent = sum(generalisation.dyadic_confidence(0.05, j) for j in range(100_000))
    assert spent == pytest.approx(0.05, rel=1e-4)
    assert spent < 0.05


# Coverage: an encoder on the circle with one parameter, z -> lift(θ z), over a grid of θ in a ball.

TAU, K, TUPLES, RADIUS, DELTA = 0.5, 4, 40, 1.0, 0.1


def lifted(z, thetas):
    """Embeddings (θ, ..., 3) of points z (..., 2) by every θ."""
    f = thetas.reshape(-1, *[1] * z.ndim) * z
    return unit(np.concatenate([f, np.ones_like(f[..., :1])], axis=-1))


def class_losses(seed, tuples, thetas):
    """Losses (θ, tuples) of every encoder of the class on fresh independent tuples."""
    generator = np.random.default_rng(seed)
    angle = generator.uniform(0, 2 * np.pi, size=(tuples, 1 + K))
    positive = angle[:, :1] + generator.vonmises(0, 4, size=(tuples, 1))
    z = np.stack([np.cos(np.hstack([angle, positive])), np.sin(np.hstack([angle, positive]))], axis=-1)
    e = lifted(z, thetas)
    similarity = np.einsum("tnd,tnkd->tnk", e[:, :, 0], e[:, :, 1:])
    logits = (similarity[..., :-1] - similarity[..., -1:]) / TAU
    return np.log(1 / K + np.exp(logits).mean(-1))


@functools.cache
def class_and_risk():
    thetas = np.linspace(-RADIUS, RADIUS, 9)
    return thetas, class_losses(0, 200_000, thetas).mean(1)


@functools.cache
def trials(sets=300):
    """For each independent training set: the largest R - R̂_n over the class, and its empirical complexity."""
    thetas, risk = class_and_risk()
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(200, TUPLES))
    worst, complexity = [], []
    for seed in range(sets):
        losses = class_losses(1000 + seed, TUPLES, thetas)
        worst.append((risk - losses.mean(1)).max())
        complexity.append((signs @ losses.T / TUPLES).max(1).mean())
    return np.array(worst), np.array(complexity)


def test_the_high_probability_bound_holds_at_its_level_over_independent_training_sets():
    worst, complexity = trials()
    excess = worst - 2 * complexity
    literal = generalisation.prop3_sample(TUPLES, TAU, DELTA)
    tight = generalisation.tight_sample(TUPLES, K, TAU, DELTA)
    assert (excess > literal).mean() <= DELTA
    assert (excess > tight).mean() <= DELTA
    # The test has teeth: without its sample term the bound fails more often than δ allows.
    assert (worst > complexity).mean() > DELTA


def test_the_range_in_the_sample_term_is_needed_by_losses_at_its_ends():
    """One embedding, each loss at an end of the range: Hoeffding's third of the term covers, a ninth does not."""
    generator = np.random.default_rng(0)
    ends = generator.choice([-0.5, 0.5], size=(2000, TUPLES)) * generalisation.loss_range(K, TAU)
    deviations, term = -ends.mean(1), generalisation.tight_sample(TUPLES, K, TAU, DELTA)
    assert (deviations > term / 3).mean() <= DELTA
    assert (deviations > term / 9).mean() > DELTA


def test_symmetrisation_holds_and_is_needed():
    """E sup (R - R̂_n) ≤ 2 E Rad; the factor 2 covers what 1/2 would not."""
    worst, complexity = trials()
    error = worst.std() / math.sqrt(len(worst))
    assert worst.mean() <= 2 * complexity.mean() + 3 * error
    assert worst.mean() > 0.5 * complexity.mean() - 3 * error


def test_the_complexities_of_the_ball_cover_the_class_and_so_does_theorem_1():
    _, complexity = trials()
    worst, _ = trials()
    ones = np.ones(TUPLES)
    sensitivity = generalisation.log_tuple_sensitivity(ones, ones, np.ones((TUPLES, K)), TAU)
    tight = generalisation.tight_rademacher(TUPLES, K, TAU, 1, RADIUS, sensitivity, 1.0)
    size = generalisation.b_tau(ones, ones, np.ones((TUPLES, K)), TAU)
    literal = generalisation.prop5_rademacher(TUPLES, TAU, 1, RADIUS, size, 1.0)
    assert complexity.max() <= tight <= literal
    bound = 2 * tight + generalisation.tight_sample(TUPLES, K, TAU, DELTA)
    assert (worst > bound).mean() <= DELTA


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generalisation.prop3_sample(0, 0.1, 0.1), "n: expected a whole number of at least 1, got 0"),
        (lambda: generalisation.prop3_sample(10, 0.1, 1.0), "delta: expected a number strictly between 0 and 1, got 1"),
        (lambda: generalisation.tight_sample(10, 1, -1, 0.1), "temperature: "),
        (lambda: generalisation.b_tau([], [1], [1], 0.1), "anchor_norms: expected at least one norm"),
        (lambda: generalisation.b_tau([1], [-1], [1], 0.1), "positive_norms: expected finite lengths"),
        (lambda: generalisation.log_tuple_sensitivity([1, 1], [1], [[1]], 0.1), "negative_norms: expected shapes"),
        (lambda: generalisation.prop5_rademacher(10, 0.1, 0, 1, 1, 1), "parameters: "),
        (lambda: generalisation.prop5_rademacher(10, 0.1, 1, -1, 1, 1), "radius: "),
        (lambda: generalisation.dyadic_radius(1, 0), "smallest: "),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
