"""The optimiser of a run: torch's own update rules, with a state that is nothing but named tensors.

The rules are called as functions: the classes of torch.optim import the compiler at their first step, which takes
longer than a small run trains.
"""

import torch
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from infonce.spec.run import TrainingOptions

__all__ = ["Optimizer"]

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class Optimizer:
    """Adam, AdamW (decoupled weight decay) or SGD with momentum, on the `.grad` of the parameters.

    `slots` holds what is remembered of each parameter, in the parameter's memory format.
    """

    def __init__(self, options: TrainingOptions, parameters: list[torch.nn.Parameter]) -> None:
        """Nothing is remembered yet."""
        self.options, self.parameters = options, parameters
        names = ["momentum"] if options.optimizer == "sgd" else ["mean", "mean_square"]
        self.slots = {name: [torch.zeros_like(parameter) for parameter in parameters] for name in names}
        self._steps = [torch.zeros((), device=parameter.device) for parameter in parameters]

    def clear(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Move the parameters once."""
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        decay = self.options.weight_decay
        if self.options.optimizer == "sgd":
            # With buffers of zeros the first step is torch's own: momentum·0 + gradient.
            sgd(
                list(self.parameters),
                gradients,
                list(self.slots["momentum"]),
                fused=True,
                weight_decay=decay,
                momentum=self.options.momentum,
                lr=learning_rate,
                dampening=0.0,
                nesterov=False,
                maximize=False,
            )
            return
        adam(
            list(self.parameters),
            gradients,
            self.slots["mean"],
            self.slots["mean_square"],
            [],
            self._steps,
            fused=True,
            amsgrad=False,
            beta1=BETA_1,
            beta2=BETA_2,
            lr=learning_rate,
            weight_decay=decay,
            decoupled_weight_decay=self.options.optimizer == "adamw",
            eps=EPSILON,
            maximize=False,
        )

    def state(self) -> dict[str, torch.Tensor]:
        """Everything remembered, by name."""
        named = {f"{name}/{index}": value for name, values in self.slots.items() for index, value in enumerate(values)}
        return {**named, "steps": torch.stack(self._steps)}

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        """Put back what `state` gave."""
        for name, values in self.slots.items():
            for index, value in enumerate(values):
                value.copy_(state[f"{name}/{index}"])
        for own, saved in zip(self._steps, state["steps"], strict=True):
            own.copy_(saved)
