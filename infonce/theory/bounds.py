"""Every bound of the paper and every sharper one of ours, under one name; each wing has its own file.

`gap` (R against CE and CE_k), `generalisation` (R against R̂_n), `stability` (a loss against a moved embedding),
`lipschitz` (Assumption (C)).
"""

from infonce.theory.gap import (
    c_tau,
    curvature,
    eq8,
    eq11,
    eq12,
    gap_bracket,
    gap_limit,
    kl_ceiling,
    lemma4,
    log_prop1_upper,
    prop1,
    prop2_bias,
    tight_bias,
)
from infonce.theory.generalisation import (
    b_tau,
    dyadic_confidence,
    dyadic_radius,
    largest_loss,
    log_tuple_sensitivity,
    loss_range,
    prop3_sample,
    prop5_rademacher,
    tight_rademacher,
    tight_sample,
)
from infonce.theory.lipschitz import lipschitz_constant
from infonce.theory.stability import eq18, log_prop4, prop4, tight_prop4

__all__ = [
    "b_tau",
    "c_tau",
    "curvature",
    "dyadic_confidence",
    "dyadic_radius",
    "eq8",
    "eq11",
    "eq12",
    "eq18",
    "gap_bracket",
    "gap_limit",
    "kl_ceiling",
    "largest_loss",
    "lemma4",
    "lipschitz_constant",
    "log_prop1_upper",
    "log_prop4",
    "log_tuple_sensitivity",
    "loss_range",
    "prop1",
    "prop2_bias",
    "prop3_sample",
    "prop4",
    "prop5_rademacher",
    "tight_bias",
    "tight_prop4",
    "tight_rademacher",
    "tight_sample",
]
