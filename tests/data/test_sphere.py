import itertools
import math

import pytest
import torch
from scipy import integrate, special, stats

from infonce.data.sphere import angle_quantile, log_normal_norms, von_mises_fisher

CASES = [(2, 0.5), (2, 40.0), (3, 2.0), (8, 20.0), (8, 0.01), (64, 300.0), (3, 1e5), (200, 5000.0)]


def unit_rows(count, dimension):
    generator = torch.Generator().manual_seed(dimension)
    return torch.nn.functional.normalize(torch.randn(count, dimension, generator=generator, dtype=torch.float64), dim=1)


@pytest.mark.parametrize(("dimension", "concentration"), CASES)
def test_the_angle_quantile_inverts_the_distribution_function(dimension, concentration):
    u = torch.tensor([1e-6, 0.01, 0.2, 0.5, 0.77, 0.99, 1 - 1e-9], dtype=torch.float64)
    angles = angle_quantile(u, dimension, concentration)
    assert (angles.diff() > 0).all()

    def log_density(angle):
        return -2 * concentration * math.sin(angle / 2) ** 2 + (dimension - 2) * math.log(math.sin(angle))

    peak = max(log_density(angle) for angle in torch.linspace(1e-3, 3.14, 4000).tolist())
    edges = [1e-300, *angles.tolist(), math.pi]
    # The whole is the sum of the parts between the angles, split finely so that no peak is missed.
    parts = []
    for left, right in itertools.pairwise(edges):
        cuts = torch.linspace(left, right, 41, dtype=torch.float64).tolist()
        parts.append(
            sum(
                integrate.quad(lambda t: math.exp(log_density(t) - peak), a, b, epsabs=0, epsrel=1e-11)[0]
                for a, b in itertools.pairwise(cuts)
            )
        )
    distribution = torch.tensor(parts, dtype=torch.float64).cumsum(0) / sum(parts)
    torch.testing.assert_close(distribution[:-1], u, rtol=1e-8, atol=1e-12)


def test_the_angle_quantile_agrees_with_the_closed_form_in_three_dimensions():
    u = torch.linspace(0.0, 0.999, 1001, dtype=torch.float64)
    kappa = 7.0
    cosine = torch.cos(angle_quantile(u, 3, kappa))
    # P(cosine > c) = u  ⇔  c = 1 + log(1 - u(1 - e^{-2κ}))/κ
    torch.testing.assert_close(cosine, 1 + torch.log1p(u * math.expm1(-2 * kappa)) / kappa, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("dimension", "concentration"), [(2, 3.0), (3, 2.0), (8, 20.0), (64, 300.0)])
def test_draws_have_the_mean_and_the_symmetry_of_von_mises_fisher(dimension, concentration):
    count = 20_000
    a = unit_rows(1, dimension).expand(count, -1)
    draws = von_mises_fisher(a, concentration, 5, 0, torch.arange(count))
    torch.testing.assert_close(draws.norm(dim=1), torch.ones(count, dtype=torch.float64), rtol=0, atol=1e-14)
    order = dimension / 2
    mean_cosine = special.ive(order, concentration) / special.ive(order - 1, concentration)
    cosine = (draws * a).sum(1)
    assert float(cosine.mean()) == pytest.approx(mean_cosine, abs=5 * float(cosine.std()) / count**0.5)
    across = draws - cosine[:, None] * a
    assert float((across.mean(0)).norm()) < 5 * (float(across.norm(dim=1).pow(2).mean()) / count) ** 0.5
    if dimension == 3:
        tangent = torch.linalg.svd(a[:1])[2][1:].T
        azimuth = torch.atan2(*(across @ tangent).T) / (2 * math.pi) + 0.5
        assert stats.kstest(azimuth.numpy(), "uniform").pvalue > 1e-4


def test_a_draw_does_not_depend_on_its_batch_repeats_and_differs_by_epoch():
    a = unit_rows(50, 8)
    samples = torch.arange(50)
    whole = von_mises_fisher(a, 20.0, 9, 3, samples)
    rows = torch.tensor([30, 2])
    torch.testing.assert_close(
        von_mises_fisher(a[rows], 20.0, 9, 3, samples[rows]), whole[rows], rtol=1e-14, atol=1e-14
    )
    assert torch.equal(von_mises_fisher(a, 20.0, 9, 3, samples), whole)
    assert not torch.isclose(von_mises_fisher(a, 20.0, 9, 4, samples), whole).all(dim=1).any()


def test_norms_are_log_normal_and_one_without_spread():
    norms = log_normal_norms(0.7, 3, 0, torch.arange(20_000))
    assert stats.kstest(norms.log().numpy() / 0.7, "norm").pvalue > 1e-4
    assert torch.equal(log_normal_norms(0.0, 3, 0, torch.arange(5)), torch.ones(5, dtype=torch.float64))
