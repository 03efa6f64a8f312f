import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infonce.encoders.encoder import build_encoder
from infonce.theory.lipschitz import lipschitz_constant


def matrix_norms(encoder):
    layers = encoder.layers()
    return [float(torch.linalg.matrix_norm(w.detach(), 2)) for w, _ in layers], [factor for _, factor in layers]


def moved_in_ball(encoder, start, direction, length):
    torch.nn.utils.vector_to_parameters(start + direction * (length / direction.norm()), encoder.parameters())


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(["linear", "mlp", "convnet"]),
    radius=st.floats(1e-3, 5),
    near=st.booleans(),
)
def test_no_pair_of_parameters_in_the_ball_violates_assumption_c(seed, name, radius, near):
    shape = (1, 4, 4) if name == "convnet" else (5,)
    options = {"linear": {}, "mlp": {"width": 6}, "convnet": {"width": 2, "layers": 2}}[name]
    encoder = build_encoder(name, shape, 4, "lift", options, seed).double()
    norms, factors = matrix_norms(encoder)
    constant = lipschitz_constant(norms, radius, "lift", factors)
    generator = torch.Generator().manual_seed(seed)
    start = torch.nn.utils.parameters_to_vector(encoder.parameters()).detach().clone()
    first, second = torch.randn(2, len(start), generator=generator, dtype=torch.float64)
    if near:
        second = first + 1e-3 * second
    inputs = torch.randn(20, *shape, generator=generator, dtype=torch.float64) * 10 ** torch.randn(
        1, generator=generator
    )
    embedded, points = [], []
    for direction, length in (
        (first, radius),
        (second, radius if near else radius * float(torch.rand(1, generator=generator))),
    ):
        moved_in_ball(encoder, start, direction, length)
        points.append(torch.nn.utils.parameters_to_vector(encoder.parameters()).detach())
        embedded.append(encoder(inputs).detach())
    moved = (embedded[0] - embedded[1]).norm(dim=1)
    allowed = constant * inputs.flatten(1).norm(dim=1) * (points[0] - points[1]).norm()
    assert (moved <= allowed * (1 + 1e-9)).all()


def test_the_constant_of_a_linear_encoder_is_reached():
    """Near f = 0 the head `lift` is an isometry, and a change of W along z moves f by all of ‖ΔW‖‖z‖."""
    assert lipschitz_constant([3.0], 0.5) == 1.0
    encoder = build_encoder("linear", (3,), 3, "lift", {}, 0).double()
    z = torch.tensor([[2.0, 0.0, 0.0]], dtype=torch.float64)
    with torch.no_grad():
        weight = next(encoder.parameters())
        weight.zero_()
        before = encoder(z)
        weight[0, 0] = 1e-4
        after = encoder(z)
    assert float((after - before).norm()) == pytest.approx(1.0 * 2.0 * 1e-4, rel=1e-6)


def test_the_constant_of_two_layers_is_reached():
    """Scalar layers with S_1 = S_2 = s: moving both by δ changes the product by 2sδ = sqrt(2)·s·‖(δ, δ)‖."""
    s, step = 1e-3, 1e-9
    change = (s + step) ** 2 - s**2
    assert change == pytest.approx(lipschitz_constant([s, s], 0.0) * math.sqrt(2) * step, rel=1e-5)


def test_deep_networks_by_hand():
    norms, radius = [1.0, 2.0, 0.5], 0.25
    s = [1.25, 2.25, 0.75]
    expected = math.sqrt((s[1] * s[2]) ** 2 + (s[0] * s[2]) ** 2 + (s[0] * s[1]) ** 2)
    assert lipschitz_constant(norms, radius) == pytest.approx(expected, rel=1e-14)
    assert lipschitz_constant(norms, radius, "lift", [3.0, 1.0, 2.0]) == pytest.approx(6 * expected, rel=1e-14)


def test_the_head_normalize_has_no_constant():
    """f and -f near 0 are far apart on the sphere."""
    assert lipschitz_constant([1.0], 1.0, "normalize") == math.inf
    encoder = build_encoder("linear", (2,), 2, "normalize", {}, 0).double()
    z = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    moved = []
    for value in (1e-9, -1e-9):
        with torch.no_grad():
            next(encoder.parameters()).zero_()[0, 0] = value
            moved.append(encoder(z))
    assert float((moved[0] - moved[1]).norm()) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 1.0), "operator_norms: expected one norm for each layer"),
        (([1.0, -1.0], 1.0), r"operator_norms\[1\]: "),
        (([1.0], np.nan), "radius: "),
        (([1.0], 1.0, "other"), "head: "),
        (([1.0], 1.0, "lift", [1.0, 1.0]), "factors: expected one for each of the 1 layers, got 2"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        lipschitz_constant(*arguments)
