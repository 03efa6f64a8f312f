import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from infonce.theory import kernels
from infonce.theory.kernels import cross_entropy, kernel_statistics, standard_error
from tests.theory.conftest import random_embeddings, unit


def naive(a, p, b, tau, left_out=-1):
    """One anchor, plain Python."""
    weights = [math.exp(float(a @ x) / tau) for j, x in enumerate(b) if j != left_out]
    z = sum(weights) / len(weights)
    q = [w / z for w in weights]
    count = len(q)
    return {
        "cross_entropy": -float(a @ p) / tau + math.log(z),
        "q_positive": math.exp(float(a @ p) / tau) / z,
        "chi2": sum((x - 1) ** 2 for x in q) / count,
        "third_moment": sum((x - 1) ** 3 for x in q) / count,
        "kl": sum(x * math.log(x) for x in q) / count,
        "q_min": min(q),
        "q_max": max(q),
        "effective_neighbours": math.exp(-sum(x / count * math.log(x / count) for x in q)),
        "pool_size": count,
    }


@pytest.mark.parametrize("tau", [0.1, 1.0, 5.0])
def test_statistics_equal_a_naive_loop_with_and_without_exclusion(monkeypatch, tau):
    monkeypatch.setattr(kernels, "ANCHOR_BLOCK", 4)
    monkeypatch.setattr(kernels, "POOL_BLOCK", 5)
    a, p, b = random_embeddings(0, 11, 23, 4)
    exclude = np.array([3, -1, 22, 0, 5, -1, 7, 20, 1, 2, 4])
    statistics = kernel_statistics(a, p, b, tau, exclude)
    for row in range(11):
        for name, value in naive(a[row], p[row], b, tau, exclude[row]).items():
            assert getattr(statistics, name)[row] == pytest.approx(value, rel=1e-11, abs=1e-13), name
    assert cross_entropy(a, p, b, tau) == pytest.approx(
        np.mean([naive(a[i], p[i], b, tau)["cross_entropy"] for i in range(11)]), rel=1e-13
    )


def test_golden_values(golden_finite_k):
    g = golden_finite_k
    for row in g["by_tau"]:
        statistics = kernel_statistics(g["anchors"], g["positives"], g["pool"], row["tau"])
        got = {
            "ce_limit": statistics.cross_entropy.mean(),
            "q_positive": statistics.q_positive.mean(),
            "chi2": statistics.chi2.mean(),
            "kl": statistics.kl.mean(),
            "q_min": statistics.q_min.min(),
            "q_max": statistics.q_max.max(),
        }
        for name, value in got.items():
            assert value == pytest.approx(row[name], rel=1e-9), (row["tau"], name)


def test_a_constant_encoder_searches_uniformly():
    rows = np.tile(unit([[1.0, 2.0]]), (7, 1))
    statistics = kernel_statistics(rows, rows, rows, 0.07)
    np.testing.assert_allclose(statistics.cross_entropy, 0, atol=1e-12)
    np.testing.assert_allclose(statistics.kl, 0, atol=1e-12)
    np.testing.assert_allclose(statistics.effective_neighbours, 7)
    np.testing.assert_allclose(statistics.pool_influence, 0, atol=1e-12)


def test_the_smallest_temperature_stays_finite():
    a, p, b = random_embeddings(1, 3, 50, 3)
    statistics = kernel_statistics(a, p, b, 1e-3)
    for name in ("cross_entropy", "chi2", "third_moment", "kl", "log_q_min", "log_q_max"):
        assert np.isfinite(getattr(statistics, name)).all(), name
    expected = -(a * p).sum(1) / 1e-3 + logsumexp(a @ b.T / 1e-3, axis=1) - np.log(50)
    np.testing.assert_allclose(statistics.cross_entropy, expected, rtol=1e-11)
    assert not kernel_statistics(-p, p, p, 1e-3).q_positive.any()


def test_float32_tensors_are_read_as_they_are():
    a, p, b = (torch.tensor(x, dtype=torch.float32) for x in random_embeddings(2, 5, 40, 8))
    wide = [x.double().numpy() / np.linalg.norm(x.double().numpy(), axis=1, keepdims=True) for x in (a, p, b)]
    np.testing.assert_allclose(
        kernel_statistics(a, p, b, 0.1).cross_entropy, kernel_statistics(*wide, 0.1).cross_entropy, rtol=1e-13
    )


def test_the_influence_is_the_derivative_in_the_weight_of_a_pool_member():
    a, p, b = random_embeddings(3, 6, 9, 3)
    base = cross_entropy(a, p, b, 0.4)
    copies = 2000
    for member in (0, 5):
        heavier = np.concatenate([np.repeat(b, copies, axis=0), b[member : member + 1]])
        slope = (cross_entropy(a, p, heavier, 0.4) - base) * (copies * 9 + 1)
        assert slope == pytest.approx(kernel_statistics(a, p, b, 0.4).pool_influence[member], rel=2e-3, abs=1e-3)


def test_the_standard_error_adds_the_influences_of_one_image_before_it_squares_them():
    values, influence, own = np.array([1.0, 4.0, 2.0]), np.array([0.5, -1.0, 3.0, 0.25]), np.array([0, 2, -1])
    of_anchor = [(value - 7 / 3) / math.sqrt(3 * 2) for value in values]
    images = [of_anchor[2]]  # the anchor whose image is no member, then the members, two of them also anchors
    images += [x / 4 + (of_anchor[{0: 0, 2: 1}[i]] if i in (0, 2) else 0) for i, x in enumerate(influence)]
    assert standard_error(values, influence, own) == pytest.approx(math.sqrt(sum(x * x for x in images)))


def test_the_standard_error_covers_the_sampling_of_the_held_out_images():
    """Anchors are the pool's own members, as in an evaluation: the spread of CE over fresh samples is the target."""
    tau, size, values, errors, naive_errors = 0.3, 60, [], [], []
    for seed in range(300):
        generator = np.random.default_rng(seed)
        images = unit(generator.normal(size=(size, 3)) + np.array([1.0, 0, 0]))
        views = unit(images + 0.2 * generator.normal(size=images.shape))
        own = np.arange(size)
        statistics = kernel_statistics(images, views, images, tau, own)
        values.append(statistics.cross_entropy.mean())
        errors.append(standard_error(statistics.cross_entropy, statistics.pool_influence, own))
        naive_errors.append(standard_error(statistics.cross_entropy))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)
    assert standard_error(np.arange(5.0)) == pytest.approx(np.std(np.arange(5.0), ddof=1) / np.sqrt(5))
    assert math.isnan(standard_error(np.ones(1)))


def test_the_standard_error_of_independent_anchors_and_pool():
    values = []
    errors = []
    for seed in range(300):
        a, p, b = random_embeddings(10, 40, 40, 3)  # one population of 40; both samples are drawn from it
        generator = np.random.default_rng(seed)
        rows, columns = generator.integers(40, size=(2, 40))
        statistics = kernel_statistics(a[rows], p[rows], b[columns], 0.5)
        values.append(statistics.cross_entropy.mean())
        errors.append(standard_error(statistics.cross_entropy, statistics.pool_influence))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)


GOOD = random_embeddings(4, 3, 5, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"anchors": GOOD[0] * 1.001}, "anchors: expected rows of unit length"),
        ({"positives": GOOD[1][:, :3]}, "positives: "),
        ({"positives": GOOD[1][:2]}, r"positives: expected the anchors' shape \(3, 4\), got \(2, 4\)"),
        ({"pool": unit(GOOD[2][:, :3])}, "pool: expected the anchors' width 4"),
        ({"pool": np.full((5, 4), np.nan)}, "pool: expected finite numbers, got nan"),
        ({"pool": np.empty((0, 4))}, "pool: expected 2 non-empty"),
        ({"anchors": GOOD[0][0]}, "anchors: expected 2 non-empty"),
        ({"temperature": 0.0}, "temperature: expected a finite number above 0, got 0"),
        ({"temperature": -0.1}, "temperature: "),
        ({"temperature": float("nan")}, "temperature: "),
        ({"temperature": "0.1x"}, "temperature: expected a number"),
        ({"exclude": [0, 1]}, "exclude: expected 3 integers"),
        ({"exclude": [0, 1, 5]}, "exclude: expected -1 or a pool index below 5, got 5"),
        ({"exclude": [0.0, 1.0, 2.0]}, "exclude: expected 3 integers"),
        ({"pool": GOOD[2][:1], "exclude": [0, -1, -1]}, "exclude: leaves an anchor with an empty pool"),
    ],
)
def test_bad_input_is_refused_by_name(change, message):
    arguments = dict(zip(("anchors", "positives", "pool"), GOOD, strict=True)) | {"temperature": 0.1} | change
    with pytest.raises(ValueError, match=message):
        kernel_statistics(**arguments)


def test_memory_does_not_grow_with_the_similarity_matrix():
    """2,000 × 100,000 similarities would take 1.6 GB; the blocks take a few MB."""
    script = """
import resource
from infonce.theory.kernels import kernel_statistics
from tests.theory.conftest import random_embeddings
rows = random_embeddings(5, 2_000, 100_000, 16)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kernel_statistics(*rows, 0.1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    assert int(run.stdout) < 300 * 1024  # KiB
