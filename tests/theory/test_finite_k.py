import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infonce.theory.finite_k import (
    accuracy,
    empirical_kernel_cross_entropy,
    empirical_kernel_cross_entropy_per_anchor,
    expected_risk,
    finite_risks,
    first_order_coefficient,
    risk_per_anchor,
    second_order_coefficient,
)
from infonce.theory.kernels import kernel_statistics
from tests.theory.conftest import random_embeddings, unit

LOSSES = ("infonce", "dcl")


def enumerated_risk(a, p, b, tau, k, loss):
    """One anchor: the mean over all m^k draws, in plain Python."""
    total, draws = 0.0, list(itertools.product(range(len(b)), repeat=k))
    for draw in draws:
        total += math.log(
            sum(math.exp(float(a @ b[j] - a @ p) / tau) for j in draw) / k + (1 / k if loss == "infonce" else 0)
        )
    return total / len(draws)


@pytest.mark.parametrize("method", ["direct", "binned"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tau", [0.05, 0.7])
def test_risk_equals_the_enumeration_of_all_draws(method, loss, tau):
    a, p, b = random_embeddings(0, 2, 4, 3)
    risks = risk_per_anchor(a, p, b, tau, [1, 2, 5], loss, method=method)
    for i, k in enumerate((1, 2, 5)):
        for row in range(2):
            expected = enumerated_risk(a[row], p[row], b, tau, k, loss)
            assert risks[i, row] == pytest.approx(expected, abs=1e-12 if method == "direct" else 1e-8)


def test_golden_risks(golden_finite_k):
    g = golden_finite_k
    for row in g["by_tau"]:
        ks = [entry["k"] for entry in row["risks"]]
        for loss in LOSSES:
            got = expected_risk(g["anchors"], g["positives"], g["pool"], row["tau"], ks, loss)
            assert got.dtype == np.float64
            np.testing.assert_allclose(got, [entry[loss] for entry in row["risks"]], rtol=0, atol=1e-9)
            fast = risk_per_anchor(g["anchors"], g["positives"], g["pool"], row["tau"], ks, loss)
            np.testing.assert_allclose(fast.mean(1), [entry[loss] for entry in row["risks"]], rtol=0, atol=1e-8)


def test_golden_empirical_kernel_cross_entropy(golden_finite_k):
    g = golden_finite_k
    for row in g["by_tau"]:
        ks = [entry["k"] for entry in row["risks"]]
        got = empirical_kernel_cross_entropy(g["anchors"], g["pool"], g["density_unnormalised"], row["tau"], ks)
        np.testing.assert_allclose(got, [entry["empirical_kernel_ce"] for entry in row["risks"]], rtol=0, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    tau=st.floats(0.01, 5),
    pool=st.integers(1, 300),
    dimension=st.integers(2, 20),
    spread=st.floats(-18, 5).map(math.exp),
)
def test_the_binned_method_is_within_its_accuracy_of_the_quadrature(seed, tau, pool, dimension, spread):
    """Also near a collapse, where all weights come to lie in one bin."""
    shift = np.eye(dimension)[0] / spread
    a, p, b = (unit(rows + shift) for rows in random_embeddings(seed, 5, pool, dimension))
    ks = [1, 2, 3, 17, 400, 10**4, 10**6]
    fast, reference = (finite_risks(a, p, b, tau, ks, method=method) for method in ("binned", "direct"))
    kernel = kernel_statistics(a, p, b, tau)
    for loss in LOSSES:
        np.testing.assert_allclose(fast.risk(loss), reference.risk(loss), rtol=0, atol=1e-8)
        for k, of_bins, of_pool in zip(ks, fast.difference(loss), reference.difference(loss), strict=True):
            for found, expected, q, chi2 in zip(of_bins, of_pool, kernel.q_positive, kernel.chi2, strict=True):
                assert abs(found - expected) <= accuracy(q, chi2, k) + 1e-10  # the quadrature's own error


@pytest.mark.parametrize("tau", [1e-3, 3e-3, 1e3])
def test_extreme_temperatures(tau):
    """At k = 1 the risks are plain means, in log space."""
    a, p, b = random_embeddings(7, 4, 60, 3)
    logits = (a @ b.T - (a * p).sum(1)[:, None]) / tau
    for method in ("binned", "direct"):
        risks = finite_risks(a, p, b, tau, [1, 10**6], method=method)
        np.testing.assert_allclose(risks.risk("dcl")[0], logits.mean(1), rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(risks.risk("infonce")[0], np.logaddexp(0, logits).mean(1), rtol=1e-9, atol=1e-7)
        assert np.isfinite(risks.risk("infonce")).all()


@pytest.mark.parametrize("method", ["direct", "binned"])
def test_an_excluded_member_is_as_if_absent(method):
    """Also at a small temperature, where the anchor's own image would outweigh all others by e^20 and more."""
    _, _, b = random_embeddings(3, 1, 40, 8)
    p = unit(b + 0.3 * np.random.default_rng(0).normal(size=b.shape))
    order = np.random.default_rng(1).permutation(40)
    pool, own = b[order], np.argsort(order)  # the anchor's own place in the pool
    got = finite_risks(b, p, pool, 0.03, [1, 50, 10**5], own, method)
    for row in (0, 13, 39):
        alone = finite_risks(
            b[row : row + 1], p[row : row + 1], np.delete(b, row, 0), 0.03, [1, 50, 10**5], None, "direct"
        )
        for loss in LOSSES:
            np.testing.assert_allclose(got.risk(loss)[:, row], alone.risk(loss)[:, 0], rtol=0, atol=1e-8)
    statistics = kernel_statistics(b, p, pool, 0.03, own)
    np.testing.assert_allclose(got.cross_entropy, statistics.cross_entropy, atol=1e-8)


@pytest.mark.parametrize("k", [1, 4, 255, 4096])
def test_a_constant_encoder_has_the_risk_of_chance(k):
    rows = np.tile(unit([[1.0, -2.0, 0.5]]), (6, 1))
    risks = finite_risks(rows[:2], rows[:2], rows, 0.1, k)
    np.testing.assert_allclose(risks.risk("infonce"), math.log(1 + 1 / k), atol=1e-8)
    np.testing.assert_allclose(risks.risk("infonce") + math.log(k), math.log(1 + k), atol=1e-8)
    np.testing.assert_allclose(risks.risk("dcl"), 0, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_coefficients_are_those_of_the_expansion_in_one_over_k(loss):
    a, p, b = random_embeddings(5, 6, 200, 4)
    statistics = kernel_statistics(a, p, b, 0.5)
    first, second = first_order_coefficient(statistics, loss), second_order_coefficient(statistics, loss)
    ks = np.array([1000, 4000])
    difference = finite_risks(a, p, b, 0.5, ks.tolist(), method="direct").difference(loss)
    rest = difference * ks[:, None] - first
    np.testing.assert_allclose(rest[0] * 1000, second, rtol=0.1, atol=0.02)
    np.testing.assert_allclose(rest[1] * 4000, second, rtol=0.03, atol=0.005)
    # Richardson: what is left after the second order falls four times as fast again
    left = rest * ks[:, None] - second
    np.testing.assert_allclose(left[1], left[0] / 4, rtol=0.05, atol=1e-4)
    for method in ("direct", "binned"):  # where R - CE is 1e-6, its own digits are kept
        far = finite_risks(a, p, b, 0.5, 10**6, method=method).difference(loss)[0]
        np.testing.assert_allclose(far * 10**6, first + second / 10**6, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_monte_carlo_with_independent_negatives_and_a_control_variate_agrees(loss):
    """Negatives of their own for every anchor; the control variate -(μ̂/μ - 1) has mean zero."""
    a, p, b = random_embeddings(6, 30, 80, 5)
    tau, k, draws = 0.3, 8, 3000
    generator = np.random.default_rng(0)
    r = np.exp((a @ b.T - (a * p).sum(1)[:, None]) / tau)
    picked = np.take_along_axis(r[:, None, :], generator.integers(80, size=(30, draws, k)), axis=2)
    values = np.log(picked.mean(2) + (1 / k if loss == "infonce" else 0)) - (picked.mean(2) / r.mean(1)[:, None] - 1)
    errors = values.std(1) / math.sqrt(draws)
    exact = risk_per_anchor(a, p, b, tau, k, loss)[0]
    z = (values.mean(1) - exact) / errors
    assert np.abs(z).max() < 4.5
    assert (z**2).mean() == pytest.approx(1, abs=0.8)


def enumerated_search(a, b, density, tau, k):
    """One anchor: CE_k over all draws, with M itself where the search finds no support."""
    of_m = float((density * (b @ a)).sum() / density.sum())
    total, draws = 0.0, list(itertools.product(range(len(b)), repeat=k))
    for draw in draws:
        index = list(draw)
        s, w = b[index] @ a, density[index]
        found = float((w * s).sum() / w.sum()) if w.sum() > 0 else of_m
        total += -found / tau + math.log(np.exp(s / tau).mean())
    return total / len(draws)


def test_search_cross_entropy_equals_the_enumeration():
    a, _, b = random_embeddings(8, 3, 5, 3)
    density = np.array([[1e-3, 1, 2, 30, 5], [0, 2, 0, 0, 1], [0, 0, 0, 7, 0.0]])
    got = empirical_kernel_cross_entropy_per_anchor(a, b, density, 0.2, [1, 2, 4])
    for i, k in enumerate((1, 2, 4)):
        for row in range(3):
            assert got[i, row] == pytest.approx(enumerated_search(a[row], b, density[row], 0.2, k), abs=1e-11)


def test_for_an_indicator_density_the_search_is_the_dcl_risk():
    a, _, b = random_embeddings(9, 2, 12, 4)
    density = (np.arange(12) % 3 == 0).astype(float)[None].repeat(2, 0)
    ks = [1, 3, 40, 1000]
    got = empirical_kernel_cross_entropy(a, b, density, 0.2, ks)
    positives = [np.tile(b[j], (2, 1)) for j in range(0, 12, 3)]
    np.testing.assert_allclose(got, np.mean([expected_risk(a, p, b, 0.2, ks, "dcl") for p in positives], 0), atol=1e-11)


def test_search_with_an_excluded_member_is_as_if_it_were_absent():
    a, _, b = random_embeddings(10, 2, 7, 4)
    density = np.random.default_rng(0).uniform(0.1, 3, size=(2, 7))
    got = empirical_kernel_cross_entropy_per_anchor(a, b, density, 0.2, [1, 9], exclude=[4, -1])
    alone = empirical_kernel_cross_entropy(a[:1], np.delete(b, 4, 0), np.delete(density[:1], 4, 1), 0.2, [1, 9])
    np.testing.assert_allclose(got[:, 0], alone, atol=1e-11)


GOOD = random_embeddings(4, 3, 5, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"negatives": [0]}, "negatives: expected a whole number of at least 1, got 0"),
        ({"negatives": [2.5]}, "negatives: expected a whole number of at least 1, got 2.5"),
        ({"negatives": "four"}, "negatives: "),
        ({"negatives": []}, "negatives: expected at least one"),
        ({"negatives": [True]}, "negatives: "),
        ({"temperature": 0}, "temperature: "),
        ({"loss": "triplet"}, "loss: expected one of infonce, dcl, got 'triplet'"),
        ({"pool": GOOD[2] * 2}, "pool: expected rows of unit length"),
    ],
)
def test_bad_input_is_refused_by_name(change, message):
    arguments = dict(zip(("anchors", "positives", "pool"), GOOD, strict=True)) | {"temperature": 0.1, "negatives": [2]}
    with pytest.raises(ValueError, match=message):
        expected_risk(**(arguments | change))


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (np.ones((3, 4)), r"density: expected shape \(3, 5\), got \(3, 4\)"),
        (-np.ones((3, 5)), "density: expected numbers of at least 0, got -1"),
        (np.zeros((3, 5)), "density: expected a number above 0 in every row, row 0 is all zero"),
        (np.full((3, 5), np.inf), "density: expected finite numbers, got inf"),
    ],
)
def test_a_bad_density_is_refused(density, message):
    with pytest.raises(ValueError, match=message):
        empirical_kernel_cross_entropy(GOOD[0], GOOD[2], density, 0.1, [2])
    with pytest.raises(ValueError, match="method"):
        finite_risks(*GOOD, 0.1, [2], method="fast")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same_numbers():
    rows = random_embeddings(3, 20, 3000, 8)
    on_gpu = [torch.from_numpy(x).cuda() for x in rows]
    exclude = np.arange(20)
    here, there = (finite_risks(*x, 0.1, [1, 64, 10**6], exclude) for x in (rows, on_gpu))
    of_search, of_gpu = (kernel_statistics(*x, 0.1, exclude) for x in (rows, on_gpu))
    np.testing.assert_allclose(there.infonce_difference, here.infonce_difference, rtol=1e-9)
    np.testing.assert_allclose(of_gpu.chi2, of_search.chi2, rtol=1e-12)
    np.testing.assert_allclose(of_gpu.pool_influence, of_search.pool_influence, rtol=1e-9, atol=1e-12)
