"""Every inequality of Sec. 5 and 6 between R, R̃, CE, CE_k and q, on random and on extremal embeddings."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infonce.theory import gap
from infonce.theory.finite_k import empirical_kernel_cross_entropy_per_anchor, finite_risks
from infonce.theory.kernels import kernel_statistics
from tests.theory.conftest import random_embeddings, unit

SLACK = 1e-9


def embeddings(kind, seed, pool, dimension):
    generator = np.random.default_rng(seed)
    a, p, b = random_embeddings(seed, 4, pool, dimension)
    if kind == "antipodal":  # two-point laws of the similarity: what the extremes of Sec. 6 are made of
        b = a[:1] * generator.choice([-1.0, 1.0], size=(pool, 1))
        p = a * generator.choice([-1.0, 1.0], size=(4, 1))
    if kind == "outlier":
        b = np.repeat(a[:1], pool, axis=0)
        b[0] = -a[0]
    if kind == "uniform":
        b = unit(generator.normal(size=(pool, dimension)))
    return a, p, b


cases = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["clustered", "antipodal", "outlier", "uniform"]),
        "seed": st.integers(0, 10**6),
        "pool": st.integers(1, 40),
        "dimension": st.integers(2, 6),
    }
)


@settings(max_examples=150, deadline=None)
@given(case=cases, tau=st.floats(0.02, 5), k=st.integers(1, 10**4))
def test_risks_and_cross_entropy_obey_every_bound(case, tau, k):
    a, p, b = embeddings(**case)
    statistics = kernel_statistics(a, p, b, tau)
    risks = finite_risks(a, p, b, tau, k, method="direct")
    infonce, dcl = risks.infonce_difference[0], risks.dcl_difference[0]  # R - CE and R̃ - CE of each anchor

    lower, upper = gap.prop1(k, tau)
    assert (-infonce >= lower - SLACK).all()
    assert (-infonce <= upper + SLACK).all()
    lower, upper = gap.eq11(k, tau)
    assert (-dcl >= lower - SLACK).all()
    assert (-dcl <= min(upper, gap.lemma4(tau)) + SLACK).all()
    assert (np.abs(infonce) <= gap.gap_limit(k, tau) + SLACK).all()
    lower, upper = gap.eq8(tau)
    assert statistics.q_min.min() >= lower * (1 - SLACK)
    assert statistics.q_max.max() <= upper * (1 + SLACK)
    assert statistics.kl.max() <= gap.kl_ceiling(tau) + SLACK

    for rows in (slice(0, 1), slice(0, 4)):  # each anchor is a law of its own, and so are their means
        told = [float(x[rows].mean()) for x in (statistics.cross_entropy, statistics.q_positive, statistics.chi2)]
        for loss, difference in (("infonce", infonce), ("dcl", dcl)):
            for log_minimum in (None, float(statistics.log_q_min[rows].min())):
                lower, upper = gap.gap_bracket(*told, k, tau, loss, log_minimum)
                scale = SLACK * max(1.0, told[1] / k)
                assert lower - scale <= difference[rows].mean() <= upper + scale


@settings(max_examples=60, deadline=None)
@given(case=cases, tau=st.floats(0.02, 5), k=st.integers(1, 10**4), spread=st.floats(0, 3), zeros=st.booleans())
def test_the_finite_search_obeys_its_bounds(case, tau, k, spread, zeros):
    a, _, b = embeddings(**case)
    generator = np.random.default_rng(case["seed"])
    density = np.exp(spread * generator.normal(size=(4, len(b))))
    if zeros:
        density[:, 1:] *= generator.integers(2, size=(4, len(b) - 1))
    density /= density.mean(1, keepdims=True)
    search = empirical_kernel_cross_entropy_per_anchor(a, b, density, tau, k)[0]
    for row in range(4):  # the positive's law is M over the pool
        rows = np.repeat(a[row : row + 1], len(b), axis=0)
        risks = finite_risks(rows, b, b, tau, k, method="direct")
        infonce, dcl = (float((risks.risk(loss)[0] * density[row]).mean()) for loss in ("infonce", "dcl"))
        moment = float((density[row] ** 2).mean())
        assert abs(search[row] - infonce) <= gap.prop2_bias(k, tau, moment) + SLACK
        assert abs(search[row] - dcl) <= gap.eq12(k, tau, moment) + SLACK
        assert abs(search[row] - dcl) <= gap.tight_bias(k, tau, moment) + SLACK
        assert search[row] - infonce <= gap.tight_bias(k, tau, moment) + SLACK


@pytest.mark.parametrize("tau", [0.1, 0.5, 2.0])
def test_c_tau_cannot_be_smaller(tau):
    """One point opposite to the anchor in a large pool: E log Ȳ → -c_τ χ² as it gets rarer."""
    b = np.repeat([[1.0, 0.0]], 5_000, axis=0)
    b[0] = [-1.0, 0.0]
    a = b[1:2]
    chi2 = kernel_statistics(a, a, b, tau).chi2[0]
    reached = -finite_risks(a, a, b, tau, 1, method="direct").dcl_difference[0, 0] / chi2
    assert 0.999 * gap.c_tau(tau) < reached <= gap.c_tau(tau)


@pytest.mark.parametrize("tau", [0.1, 0.5, 2.0])
def test_the_kl_ceiling_is_reached_by_a_two_point_law(tau):
    shares = np.logspace(-12, -0.1, 20_000)
    z = shares + (1 - shares) * math.exp(-2 / tau)
    q = shares / z
    kl = q * np.log(1 / z) + (1 - q) * (-2 / tau - np.log(z))
    assert kl.max() == pytest.approx(gap.kl_ceiling(tau), rel=1e-4)
    assert kl.max() <= gap.kl_ceiling(tau)


@pytest.mark.parametrize("tau", [1e-3, 0.02, 0.3, 1.0, 7.0, 1e3])
def test_the_kl_ceiling_is_below_both_simple_bounds(tau):
    assert 0 < gap.kl_ceiling(tau) <= min(2 / tau, 1 / (2 * tau**2))


def test_the_kl_ceiling_keeps_its_digits_at_large_temperatures():
    assert gap.kl_ceiling(1e6) == pytest.approx(0.5e-12, rel=1e-5)
    below, above = gap.kl_ceiling(100.4), gap.kl_ceiling(99.6)  # either side of the switch to the series
    assert below * 100.4**2 == pytest.approx(above * 99.6**2, rel=1e-6)


def test_the_curvature_is_that_of_the_logarithm():
    assert gap.curvature(0.0) == 0.5
    for log_minimum in (-1e-6, -0.99e-4, -1.01e-4, -0.3, -40.0):
        y = np.exp(np.linspace(log_minimum, 5, 2001))
        c = gap.curvature(log_minimum)
        assert (np.log(y) >= y - 1 - c * (y - 1) ** 2 - 1e-13).all()
        m = math.exp(log_minimum)
        if log_minimum < -0.1:
            assert math.log(m) == pytest.approx(m - 1 - c * (m - 1) ** 2, rel=1e-12)
    # On either side of the switch to the series: ½ - l/3 + l²/12 + O(l³) at l = log m
    assert gap.curvature(-0.99e-4) == pytest.approx(0.5 + 0.33e-4 + 0.9801e-8 / 12, abs=1e-12)
    assert gap.curvature(-1.01e-4) == pytest.approx(0.5 + 1.01e-4 / 3 + 1.0201e-8 / 12, abs=1e-10)
    with pytest.raises(ValueError, match="log_minimum"):
        gap.curvature(0.1)


def test_equation_11_is_sharp_at_large_temperatures():
    """Half the pool at each pole: E log Ȳ ≈ -χ²/(2k), and χ² ≈ (1/2)²(e^{2/τ} - 1)²."""
    b = np.array([[1.0, 0.0], [-1.0, 0.0]])
    for k in (10, 1000):
        reached = -finite_risks(b[:1], b[:1], b, 50.0, k).dcl_difference[0, 0]
        assert 0.95 < reached / gap.eq11(k, 50.0)[1] < 1


def test_the_bracket_closes_on_a_constant_encoder():
    for k in (1, 7, 4096):
        lower, upper = gap.gap_bracket(0.0, 1.0, 0.0, k, 0.1)
        assert lower == upper == math.log1p(1 / k)


def test_simple_bounds_by_hand():
    assert gap.eq8(0.5) == (pytest.approx(math.exp(-4)), pytest.approx(math.exp(4)))
    assert gap.lemma4(0.5) == 4
    assert gap.eq12(2, 0.5, 1.0) == 4
    assert gap.gap_limit(4, 0.5) == pytest.approx(4 + math.log(1.25))


def test_the_bracket_by_hand():
    c = gap.c_tau(0.5)
    expected = (math.log(1.25) - (-2.0 + c * 3.0) / 5, math.log(1.25) + (7.0 - 1) / 5)
    np.testing.assert_allclose(gap.gap_bracket(-2.0, 7.0, 3.0, 4, 0.5), expected, rtol=1e-14)
    np.testing.assert_allclose(gap.gap_bracket(-2.0, 7.0, 3.0, 4, 0.5, "dcl"), (-c * 3 / 4, 0), rtol=1e-14)
    sharper = gap.gap_bracket(-2.0, 7.0, 3.0, 4, 0.5, "dcl", -0.3)
    np.testing.assert_allclose(sharper, (-gap.curvature(-0.3) * 3 / 4, 0), rtol=1e-14)


def test_equation_8_is_reached_by_a_rare_point():
    b = np.repeat([[1.0, 0.0]], 5_000, axis=0)
    b[0] = [-1.0, 0.0]
    for a, reached, bound in ((b[1:2], "log_q_min", -4), (b[:1], "log_q_max", 4)):
        assert getattr(kernel_statistics(a, a, b, 0.5), reached)[0] == pytest.approx(bound, abs=0.02)


def test_small_temperatures_have_logarithms():
    lower, upper = gap.prop1(64, 1e-3)
    assert lower == pytest.approx(-(2000 - math.log(64)))
    assert upper == math.inf
    assert gap.log_prop1_upper(64, 1e-3) == pytest.approx(4000 - math.log(512))
    assert gap.eq8(1e-3) == (0.0, math.inf)
    assert gap.prop2_bias(64, 1e-3, 10) == pytest.approx(4000 * 10 / 64 + 2000 - math.log(64))
    assert gap.c_tau(1e-3) == pytest.approx(1999)


def test_an_indicator_density_has_no_search_bias():
    assert gap.tight_bias(10, 0.5, 100.0, indicator=True) == 0
    assert gap.tight_bias(10, 0.5, 2.0) == pytest.approx(6 / 5)
    assert gap.tight_bias(10, 0.5, 100.0) == 4.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gap.prop1(0, 1), "k: expected a whole number of at least 1, got 0"),
        (lambda: gap.prop1(2.5, 1), "k: "),
        (lambda: gap.prop1(1, 0), "temperature: "),
        (lambda: gap.eq12(1, 1, 0.5), "second_moment: expected at least 1"),
        (lambda: gap.eq12(1, 1, math.nan), "second_moment: "),
        (lambda: gap.kl_ceiling(-1), "temperature: "),
        (lambda: gap.gap_bracket(0, 1, 0, 1, 1, "triplet"), "loss: "),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
