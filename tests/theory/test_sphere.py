import math

import numpy as np
import pytest
import torch
from scipy import integrate

from infonce.data.sphere import uniform_points, von_mises_fisher
from infonce.theory import sphere
from infonce.theory.bounds import prop2_bias, tight_bias
from infonce.theory.finite_k import empirical_kernel_cross_entropy_per_anchor, finite_risks
from infonce.theory.kernels import cross_entropy, kernel_statistics
from tests.theory.conftest import unit


def mean_over_angle(function, dimension):
    """E f(cos θ) for a uniform direction on S^{D-1}."""
    weight = lambda t: math.sin(t) ** (dimension - 2)  # noqa: E731
    total, _ = integrate.quad(lambda t: function(math.cos(t)) * weight(t), 0, math.pi, epsabs=0, epsrel=1e-10)
    return total / integrate.quad(weight, 0, math.pi, epsabs=0, epsrel=1e-10)[0]


@pytest.mark.parametrize("dimension", [2, 3, 8, 31])
@pytest.mark.parametrize("concentration", [1e-3, 0.7, 20.0, 200.0])
def test_closed_forms_equal_the_integral_over_the_angle(dimension, concentration):
    density = lambda c: math.exp(sphere.log_density(c, concentration, dimension))  # noqa: E731
    assert mean_over_angle(density, dimension) == pytest.approx(1, rel=1e-9)
    second = mean_over_angle(lambda c: density(c) ** 2, dimension)
    assert sphere.second_moment(concentration, dimension) == pytest.approx(second, rel=1e-9)
    cosine = mean_over_angle(lambda c: c * density(c), dimension)
    assert sphere.mean_cosine(concentration, dimension) == pytest.approx(cosine, rel=1e-9)


def test_on_the_ordinary_sphere_it_is_sinh():
    assert sphere.log_mean_exp_cosine(3.0, 3) == pytest.approx(math.log(math.sinh(3) / 3), rel=1e-13)
    assert sphere.mean_cosine(3.0, 3) == pytest.approx(1 / math.tanh(3) - 1 / 3, rel=1e-12)


def test_extremes_stay_finite_and_in_order():
    for dimension in (2, 64, 2000):
        values = [sphere.log_mean_exp_cosine(c, dimension) for c in (1e-6, 1.0, 1e3, 1e6)]
        assert all(0 <= v <= c for v, c in zip(values, (1e-6, 1.0, 1e3, 1e6), strict=True))
        assert values == sorted(values)
    assert sphere.mean_cosine(1.0, 2000) == pytest.approx(1 / 2000, rel=1e-3)  # where the Bessel functions underflow
    series = 40**2 / (2 * 2000) - 40**4 / (4 * 2000**2 * 2002)  # up to order κ⁴, where the Bessel function underflows
    assert sphere.log_mean_exp_cosine(40.0, 2000) == pytest.approx(series, rel=1e-6)
    assert sphere.mean_cosine(40.0, 2000) == pytest.approx(40 / 2000, rel=1e-3)
    assert sphere.mean_cosine(1e8, 5) == pytest.approx(1 - 2 / 1e8, rel=1e-12)
    assert sphere.log_mean_exp_cosine(1.0, 2000) == pytest.approx(1 / (2 * 2000), rel=1e-3)


def test_the_cross_entropy_of_the_identity_embedding():
    """Measured on draws, against the closed form; at κ = 1/τ the search kernel is M and no temperature is better."""
    dimension, concentration, tau = 5, 6.0, 0.25
    a = unit(uniform_points(4000, dimension, 0.0, 1))
    p = von_mises_fisher(torch.from_numpy(a), concentration, 2, 0, torch.arange(4000)).numpy()
    b = unit(uniform_points(4000, dimension, 0.0, 3))
    statistics = kernel_statistics(a, p, b, tau)
    error = statistics.cross_entropy.std() / math.sqrt(4000)
    exact = sphere.identity_cross_entropy(concentration, dimension, tau)
    assert abs(cross_entropy(a, p, b, tau) - exact) < 4 * error
    best = sphere.identity_cross_entropy(concentration, dimension, 1 / concentration)
    entropy = sphere.log_mean_exp_cosine(concentration, dimension) - concentration * sphere.mean_cosine(
        concentration, dimension
    )
    assert best == pytest.approx(entropy, rel=1e-12)
    assert all(best < sphere.identity_cross_entropy(concentration, dimension, t) for t in (0.1, 0.15, 0.2, 0.5))


@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_search_bias_stays_below_proposition_2_for_every_k(tau):
    dimension, concentration, ks = 3, 4.0, [1, 4, 32, 256, 4096]
    a = unit(uniform_points(60, dimension, 0.0, 1))
    b = unit(uniform_points(400, dimension, 0.0, 3))
    density = np.exp(sphere.log_density(np.clip(a @ b.T, -1, 1), concentration, dimension))
    pooled = density / density.mean(1, keepdims=True)
    moment = float((pooled**2).mean())
    assert moment == pytest.approx(sphere.second_moment(concentration, dimension), rel=0.1)
    searched = empirical_kernel_cross_entropy_per_anchor(a, b, density, tau, ks).mean(1)
    # the positive is drawn from M over the pool itself, so that the identities hold exactly
    risk, dcl = np.zeros(len(ks)), np.zeros(len(ks))
    for anchor in range(60):
        rows = np.repeat(a[anchor : anchor + 1], 400, axis=0)
        risks = finite_risks(rows, b, b, tau, ks)
        risk += (risks.risk("infonce") * pooled[anchor]).mean(1) / 60
        dcl += (risks.risk("dcl") * pooled[anchor]).mean(1) / 60
    for i, k in enumerate(ks):
        assert abs(searched[i] - risk[i]) <= prop2_bias(k, tau, moment)
        assert abs(searched[i] - dcl[i]) <= tight_bias(k, tau, moment)
        assert searched[i] - risk[i] <= tight_bias(k, tau, moment)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0.0, 3), "concentration"), ((1e10, 3), "concentration: expected at most"), ((1.0, 1), "dimension")],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        sphere.log_mean_exp_cosine(*arguments)
    with pytest.raises(ValueError, match="cosine"):
        sphere.log_density(1.1, 1.0, 3)
