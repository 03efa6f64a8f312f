"""The optimiser of a run, and its state as named tensors."""

import torch
from torch import nn

from infonce.spec.run import TrainingOptions

__all__ = ["load_slots", "optimizer_of", "slots_of"]


def optimizer_of(options: TrainingOptions, encoder: nn.Module) -> torch.optim.Optimizer:
    """The optimiser with torch's defaults for what the options do not name."""
    _spare_the_compiler()
    parameters, rate, decay = encoder.parameters(), options.learning_rate, options.weight_decay
    if options.optimizer == "sgd":
        return torch.optim.SGD(parameters, rate, momentum=options.momentum, weight_decay=decay, fused=True)
    kind = torch.optim.AdamW if options.optimizer == "adamw" else torch.optim.Adam
    return kind(parameters, rate, weight_decay=decay, fused=True)


def slots_of(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """What the optimiser remembers of each parameter, by `index/slot`."""
    return {
        f"{index}/{slot}": value
        for index, slots in optimizer.state_dict()["state"].items()
        for slot, value in slots.items()
        if value is not None
    }


def load_slots(optimizer: torch.optim.Optimizer, slots: dict[str, torch.Tensor]) -> None:
    """Put back what `slots_of` gave."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in slots.items():
        index, slot = name.split("/")
        like = parameters[int(index)]
        if value.shape == like.shape:
            # In the parameter's memory format: a fused kernel walks through both in the order of their storage.
            value = torch.empty_like(like).copy_(value)
        state.setdefault(int(index), {})[slot] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _spare_the_compiler() -> None:
    """Keep torch.optim from importing torch._dynamo, which takes longer than a small run.

    It does so only to exempt these methods from compilation, and an optimiser is never compiled here.
    """
    kind = torch.optim.Optimizer
    for method in (kind.add_param_group, kind.state_dict, kind.load_state_dict):
        plain = getattr(method, "__wrapped__", None)
        if plain is not None and not hasattr(plain, "__dynamo_disable"):
            setattr(plain, "__dynamo_disable", plain)  # noqa: B010 - a name that mypy does not know
