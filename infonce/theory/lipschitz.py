"""Assumption (C): `‖φ_θ(z) - φ_θ'(z)‖ ≤ C_Φ ‖z‖ ‖θ - θ'‖` on the ball `‖θ - θ_0‖ ≤ R_θ`."""

import math
from collections.abc import Sequence

from infonce.theory.checks import non_negative_number


def lipschitz_constant(
    operator_norms: Sequence[float], radius: float, head: str = "lift", factors: Sequence[float] | None = None
) -> float:
    """C_Φ of a ReLU network without biases: `sqrt(Σ_l Π_{m≠l} S_m²)`, `S_m = ‖W_m⁰‖_op + R_θ` (tight; Sec. 6).

    `operator_norms` are those of the initial weights, one for each layer; a linear encoder has one, and C_Φ = 1.
    `factors` (1 where not given) say how much larger a layer's operator norm can be than its matrix's: a convolution
    with an h×w kernel has √(hw). The head `lift`, `(f, 1)/sqrt(1 + ‖f‖²)`, is 1-Lipschitz onto the sphere. The head
    `normalize`, `f/‖f‖`, is not Lipschitz at 0: (C) is not met, and the result is infinite.
    Raises ValueError naming a bad argument.
    """
    if not len(operator_norms):
        raise ValueError("operator_norms: expected one norm for each layer, got none")
    c = [1.0] * len(operator_norms) if factors is None else list(factors)
    if len(c) != len(operator_norms):
        raise ValueError(f"factors: expected one for each of the {len(operator_norms)} layers, got {len(c)}")
    r = non_negative_number(radius, "radius")
    s = [non_negative_number(norm, f"operator_norms[{layer}]") + r for layer, norm in enumerate(operator_norms)]
    if head == "normalize":
        return math.inf
    if head != "lift":
        raise ValueError(f"head: expected 'lift' or 'normalize', got {head!r}")
    others = [math.prod(s[:layer] + s[layer + 1 :]) for layer in range(len(s))]
    return math.prod(c) * math.hypot(*others)
