"""Optimisers against torch's own textbook steps, and their state put back in any memory format."""

import pytest
import torch
from torch import nn

from infonce.spec.run import TrainingOptions
from infonce.training.optimizer import load_slots, optimizer_of, slots_of


def network(channels_last):
    convolution = nn.Conv2d(3, 4, 3, bias=False)
    with torch.no_grad():
        convolution.weight.copy_(torch.arange(108).view(4, 3, 3, 3) / 108)
    return convolution.to(memory_format=torch.channels_last) if channels_last else convolution


def gradient(step):
    return torch.randn(4, 3, 3, 3, generator=torch.Generator().manual_seed(step))


def advance(net, optimizer, steps):
    for step in steps:
        net.weight.grad = torch.empty_like(net.weight).copy_(gradient(step))
        optimizer.step()


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_going_on_from_saved_slots_gives_the_same_bytes(name, channels_last):
    options = TrainingOptions(optimizer=name, weight_decay=0.1)
    whole = network(channels_last)
    advance(whole, optimizer_of(options, whole), range(6))
    first = network(channels_last)
    optimizer = optimizer_of(options, first)
    advance(first, optimizer, range(3))
    slots = {key: value.clone(memory_format=torch.contiguous_format) for key, value in slots_of(optimizer).items()}
    second = network(channels_last)
    second.load_state_dict({"weight": first.weight.detach().contiguous()})
    optimizer = optimizer_of(options, second)
    load_slots(optimizer, slots)
    advance(second, optimizer, range(3, 6))
    assert torch.equal(second.weight, whole.weight)


def test_adam_by_hand():
    net = network(False)
    theta, m, v = net.weight.detach().double().clone(), 0.0, 0.0
    advance(net, optimizer_of(TrainingOptions(learning_rate=0.1), net), range(4))
    for step in range(4):
        g = gradient(step).double()
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        theta -= 0.1 * (m / (1 - 0.9 ** (step + 1))) / ((v / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8)
    assert torch.allclose(net.weight.double(), theta, atol=1e-5)
