"""Building: shapes, initialisation from an own stream, homogeneity, and the constant of assumption (C)."""

import math

import pytest
import torch
from torch import nn

from infonce.encoders.encoder import build_encoder
from infonce.errors import ConfigError

CASES = [
    ("linear", (8,), "lift", {}),
    ("mlp", (1, 8, 8), "normalize", {"hidden_layers": 2, "width": 16}),
    ("convnet", (3, 16, 16), "lift", {"width": 4}),
    ("convnet", (1, 8, 8), "normalize", {"width": 4, "layers": 4}),
    ("resnet18", (3, 16, 16), "normalize", {}),
    ("resnet18", (3, 16, 16), "normalize", {"normalization": "batch", "projection": "none"}),
    ("resnet18", (1, 96, 96), "normalize", {}),
]
ZERO_BIAS = [case for case in CASES if case[0] != "resnet18"]


def inputs(shape, count=4, seed=0):
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_embeds_onto_the_sphere_of_the_asked_dimension(case):
    name, shape, head, options = case
    encoder = build_encoder(name, shape, 6, head, options, key=3).eval()
    embeddings = encoder(inputs(shape))
    assert embeddings.shape == (4, 6)
    assert torch.allclose(embeddings.norm(dim=1), torch.ones(4), atol=1e-6)
    assert encoder.features(inputs(shape)).shape == (4, 5 if head == "lift" else 6)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_key_alone_decides_the_initial_weights(case):
    name, shape, head, options = case
    torch.rand(3)  # whatever the global generator has done
    first = build_encoder(name, shape, 6, head, options, key=3).state_dict()
    again = build_encoder(name, shape, 6, head, options, key=3).state_dict()
    other = build_encoder(name, shape, 6, head, options, key=4).state_dict()
    assert all(torch.equal(first[part], again[part]) for part in first)
    weights = [part for part in first if first[part].ndim >= 2]
    assert weights and not any(torch.equal(first[part], other[part]) for part in weights)


def test_he_initialisation():
    encoder = build_encoder("mlp", (400,), 64, "normalize", {"width": 500}, key=1)
    first, second = encoder.parameters()
    assert first.std().item() == pytest.approx(math.sqrt(2 / 400), rel=0.01)
    assert second.std().item() == pytest.approx(math.sqrt(2 / 500), rel=0.02)
    network = build_encoder("resnet18", (3, 16, 16), 8, "normalize", {}, key=1)
    for module in network.modules():
        if isinstance(module, nn.GroupNorm):
            assert torch.equal(module.weight, torch.ones_like(module.weight))
        if getattr(module, "bias", None) is not None:
            assert not module.bias.any()


@pytest.mark.parametrize("case", ZERO_BIAS, ids=str)
def test_networks_without_biases_are_positively_homogeneous(case):
    name, shape, head, options = case
    encoder = build_encoder(name, shape, 6, head, options, key=3).double()
    assert all(parameter.ndim >= 2 for parameter in encoder.parameters())
    points = inputs(shape).double()
    assert torch.allclose(encoder.features(7.5 * points), 7.5 * encoder.features(points))
    assert not encoder.features(0 * points).any()


@pytest.mark.parametrize("case", ZERO_BIAS, ids=str)
@torch.no_grad()
def test_layers_bound_the_lipschitz_constant_in_the_parameters(case):
    """Assumption (C) with the product over layers, on random and on worst-looking moves within the ball."""
    name, shape, _, options = case
    encoder = build_encoder(name, shape, 6, "lift", options, key=3).double()
    points, radius = inputs(shape).double(), 0.5
    layers = encoder.layers()
    assert len(layers) == len(list(encoder.parameters()))
    norms = [factor * (torch.linalg.matrix_norm(weight, 2).item() + radius) for weight, factor in layers]
    products = [layers[index][1] * math.prod(norms[:index] + norms[index + 1 :]) for index in range(len(layers))]
    constant = math.sqrt(sum(product**2 for product in products))
    start = encoder(points)
    at_start = [parameter.clone() for parameter in encoder.parameters()]
    for seed in range(20):
        moves = [inputs(tuple(p.shape), 1, 100 * seed + i)[0].double() for i, p in enumerate(at_start)]
        length = math.sqrt(sum(float(move.square().sum()) for move in moves))
        for parameter, origin, move in zip(encoder.parameters(), at_start, moves, strict=True):
            parameter.copy_(origin + radius / length * move)
        moved = (encoder(points) - start).norm(dim=1)
        assert (moved <= constant * points.flatten(1).norm(dim=1) * radius * (1 + 1e-9)).all()


def test_small_images_keep_their_resolution_in_the_stem():
    small = build_encoder("resnet18", (3, 64, 64), 8, "normalize", {}, key=1).backbone
    large = build_encoder("resnet18", (3, 65, 65), 8, "normalize", {}, key=1).backbone
    assert (small.conv1.stride, large.conv1.stride) == ((1, 1), (2, 2))
    assert isinstance(small.maxpool, nn.Identity) and isinstance(large.maxpool, nn.MaxPool2d)
    assert isinstance(small.fc, nn.Sequential) and len(small.fc) == 3


def test_group_normalisation_makes_an_embedding_function_of_one_image():
    images = inputs((3, 16, 16))
    group = build_encoder("resnet18", (3, 16, 16), 8, "normalize", {}, key=1).train()
    batch = build_encoder("resnet18", (3, 16, 16), 8, "normalize", {"normalization": "batch"}, key=1).train()
    assert torch.allclose(group(images)[:2], group(images[:2]), atol=1e-5)
    assert not torch.allclose(batch(images)[:2], batch(images[:2]), atol=1e-2)


def test_refuses_what_cannot_be_built():
    with pytest.raises(ConfigError, match="dimension of at least 2, not 1"):
        build_encoder("mlp", (8,), 1, "lift", {}, key=0)
    with pytest.raises(ConfigError, match=r"needs images .* \(8,\)"):
        build_encoder("convnet", (8,), 4, "lift", {}, key=0)
    with pytest.raises(ConfigError, match=r"needs images .* \(8,\)"):
        build_encoder("resnet18", (8,), 4, "normalize", {}, key=0)
    with pytest.raises(ConfigError, match="cannot have the head 'lift'"):
        build_encoder("resnet18", (3, 8, 8), 4, "lift", {}, key=0)
