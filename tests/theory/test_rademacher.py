import math

import numpy as np
import pytest
import torch

from infonce.encoders.encoder import build_encoder
from infonce.losses import infonce_loss
from infonce.theory.bounds import log_tuple_sensitivity, loss_range, tight_rademacher
from infonce.theory.rademacher import rademacher_lower


class Shift(torch.nn.Module):
    """θ in R^n; its 'losses' are θ itself, so that the supremum over the ball is known: R‖σ‖/n = R/√n."""

    def __init__(self, size):
        super().__init__()
        self.theta = torch.nn.Parameter(torch.full((size,), 0.7, dtype=torch.float64))


def test_a_linear_class_has_its_complexity_found_exactly():
    module = Shift(25)
    estimate = rademacher_lower(module, lambda m: m.theta, radius=2.0, seed=0, draws=5, steps=4)
    np.testing.assert_allclose(estimate.draws, 2 / math.sqrt(25), rtol=1e-12)
    assert estimate.value == pytest.approx(0.4)
    assert estimate.standard_error < 1e-12
    assert (module.theta == 0.7).all()


def tuples_of(k, n=60, tau=0.5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z = torch.nn.functional.normalize(torch.randn(n, k + 2, 4, generator=generator, dtype=torch.float64), dim=2)
    z[:, 1] = torch.nn.functional.normalize(z[:, 0] + 0.3 * z[:, 1], dim=1)

    def losses(encoder):
        e = encoder(z.flatten(0, 1)).unflatten(0, (n, k + 2))
        similarity = (e[:, :1] * e[:, 1:]).sum(2)
        return infonce_loss(similarity[:, 0], similarity[:, 1:], tau)

    return z.norm(dim=2).numpy(), losses


@pytest.mark.parametrize("k", [1, 8, 64])
def test_the_lower_estimate_lies_below_the_upper_bound_and_above_zero(k):
    norms, losses = tuples_of(k)
    encoder = build_encoder("linear", (4,), 3, "lift", {}, 0).double()
    estimate = rademacher_lower(encoder, losses, radius=0.5, seed=1, draws=6, steps=25)
    sensitivity = log_tuple_sensitivity(norms[:, 0], norms[:, 1], norms[:, 2:], 0.5)
    upper = tight_rademacher(60, k, 0.5, 8, 0.5, sensitivity, 1.0)
    assert 0 < estimate.value < min(upper, loss_range(k, 0.5) / 2)
    assert (estimate.draws >= 0).all()


def test_a_larger_ball_and_a_longer_ascent_find_no_less():
    _, losses = tuples_of(4)
    encoder = build_encoder("mlp", (4,), 3, "lift", {"width": 5}, 0).double()
    small = rademacher_lower(encoder, losses, 0.05, 1, draws=4, steps=30)
    large = rademacher_lower(encoder, losses, 1.0, 1, draws=4, steps=30)
    assert (large.draws > small.draws).all()
    # for a small ball the supremum is the gradient's norm times the radius
    values = losses(encoder)
    tiny = rademacher_lower(encoder, losses, 1e-4, 1, draws=4, steps=30)
    from infonce.random import stream_key, uniforms

    for i in range(4):
        signs = torch.where(uniforms(stream_key(1, "rademacher", i), torch.arange(60)) < 0.5, -1.0, 1.0)
        gradient = torch.autograd.grad((signs * values).mean(), list(encoder.parameters()), retain_graph=True)
        norm = math.sqrt(sum(float((g**2).sum()) for g in gradient))
        assert tiny.draws[i] == pytest.approx(1e-4 * norm, rel=1e-2)


def test_value_and_standard_error_are_those_of_a_mean_over_the_draws():
    """Losses (θ, θ) with θ in R: the supremum is R where the two signs agree, and 0 where they do not."""

    def twice(module):
        return torch.stack([module.theta[0], module.theta[0]])

    estimate = rademacher_lower(Shift(1), twice, radius=2.0, seed=0, draws=400, steps=2)
    assert set(np.round(estimate.draws, 9)) == {0.0, 2.0}
    agree = (estimate.draws > 1).mean()
    assert estimate.value == pytest.approx(2 * agree)
    assert estimate.standard_error == pytest.approx(2 * math.sqrt(agree * (1 - agree) / 399))
    assert abs(estimate.value - 1.0) < 4 * estimate.standard_error


def test_the_same_seed_gives_the_same_bits():
    _, losses = tuples_of(4)
    encoder = build_encoder("linear", (4,), 3, "lift", {}, 0).double()
    first, second, other = (rademacher_lower(encoder, losses, 0.5, seed, draws=3, steps=5) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.draws, second.draws)
    assert not np.array_equal(first.draws, other.draws)


def test_bad_input_is_refused():
    _, losses = tuples_of(4)
    encoder = build_encoder("linear", (4,), 3, "lift", {}, 0).double()
    with pytest.raises(ValueError, match="radius"):
        rademacher_lower(encoder, losses, 0.0, 1)
    with pytest.raises(ValueError, match="draws: expected at least 2, got 1"):
        rademacher_lower(encoder, losses, 1.0, 1, draws=1)
    with pytest.raises(ValueError, match="losses: expected differentiable losses"):
        rademacher_lower(encoder, lambda m: torch.ones(3), 1.0, 1)
