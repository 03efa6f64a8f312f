"""Optimisers against torch's own classes, and their state put back in any memory format."""

import pytest
import torch
from torch import nn

from infonce.spec.run import TrainingOptions
from infonce.training.optimizer import Optimizer

SETTINGS = [
    TrainingOptions(optimizer="adam", learning_rate=0.1),
    TrainingOptions(optimizer="adam", learning_rate=0.1, weight_decay=0.3),
    TrainingOptions(optimizer="adamw", learning_rate=0.1, weight_decay=0.3),
    TrainingOptions(optimizer="sgd", learning_rate=0.1, weight_decay=0.3),
    TrainingOptions(optimizer="sgd", learning_rate=0.1, momentum=0.0),
]
each_setting = pytest.mark.parametrize(
    "options", SETTINGS, ids=lambda o: f"{o.optimizer}-{o.weight_decay}-{o.momentum}"
)


def network(channels_last=False):
    convolution = nn.Conv2d(3, 4, 3, bias=False)
    with torch.no_grad():
        convolution.weight.copy_(torch.arange(108).view(4, 3, 3, 3) / 108)
    return convolution.to(memory_format=torch.channels_last) if channels_last else convolution


def advance(net, step_of_optimizer, steps):
    for step in steps:
        gradient = torch.randn(4, 3, 3, 3, generator=torch.Generator().manual_seed(step))
        net.weight.grad = torch.empty_like(net.weight).copy_(gradient)
        step_of_optimizer()


def of_torch(options, net):
    common = {"lr": options.learning_rate, "weight_decay": options.weight_decay}
    if options.optimizer == "sgd":
        return torch.optim.SGD(net.parameters(), momentum=options.momentum, **common)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options.optimizer](net.parameters(), **common)


@each_setting
def test_steps_are_those_of_torch(options):
    ours, theirs = network(), network()
    optimizer = Optimizer(options, list(ours.parameters()))
    advance(ours, lambda: optimizer.step(options.learning_rate), range(5))
    advance(theirs, of_torch(options, theirs).step, range(5))
    assert not torch.equal(ours.weight, network().weight)
    assert torch.allclose(ours.weight, theirs.weight, rtol=1e-6, atol=1e-7)


@each_setting
@pytest.mark.parametrize("channels_last", [False, True])
def test_going_on_from_a_saved_state_gives_the_same_bytes(options, channels_last):
    def optimizer_of(net):
        return Optimizer(options, list(net.parameters()))

    whole, first, second = (network(channels_last) for _ in range(3))
    optimizer = optimizer_of(whole)
    advance(whole, lambda: optimizer.step(0.1), range(6))
    optimizer = optimizer_of(first)
    advance(first, lambda: optimizer.step(0.1), range(3))
    state = {name: value.clone(memory_format=torch.contiguous_format) for name, value in optimizer.state().items()}
    second.load_state_dict({"weight": first.weight.detach().contiguous()})
    resumed = optimizer_of(second)
    resumed.restore(state)
    advance(second, lambda: resumed.step(0.1), range(3, 6))
    assert torch.equal(second.weight, whole.weight)


def test_clearing_forgets_the_gradients():
    net = network()
    net.weight.grad = torch.ones_like(net.weight)
    Optimizer(SETTINGS[0], list(net.parameters())).clear()
    assert net.weight.grad is None
