"""What a ledger is made of: the measurements that go in, and the terms that come out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from infonce.theory.checks import count, loss_name, non_negative_number, positive_number, probability

GENERATORS = ("augment", "class", "sphere")
INDICATORS = ("augment", "class")  # dM/dπ is a constant on a set, so that CE_k is the DCL risk


@dataclass(frozen=True)
class Term:
    """One row of the ledger; the fields are the columns of the table `terms`."""

    term: str
    equation: str
    form: str  # literal: the paper's constant; tight: ours; measured: from the trained encoder and the data
    quantity: str  # what is bounded, in symbols
    side: str  # upper, lower, value
    value: float | None  # nats where it is a loss; None where it overflows float64 or is not known
    log_value: float | None  # natural logarithm of a positive bound before clipping
    measured: float | None  # the quantity, where it is measured
    holds: bool | None  # measured against value, where both exist
    assumptions: str
    assumptions_met: bool
    clipped: bool  # value is the trivial bound, as the formula gives more
    vacuous: bool  # says no more than the trivial bound
    note: str | None
    standard_error: float | None = None  # of the value, where it is an estimate


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """What the ledger needs to know of a run; risks in nats, means over held-out anchors where not said otherwise."""

    loss: str
    generator: str
    head: str
    temperature: float
    negatives: int  # k
    tuples: int  # n
    empirical_risk: float  # of the run's loss over its training tuples
    infonce_risk: float  # R(k)
    dcl_risk: float  # R̃(k)
    cross_entropy: float
    q_positive: float
    chi2: float
    kl: float  # the mean; K* bounds it for every anchor
    log_q_min: float  # over all anchors and the pool
    log_q_max: float
    parameters: int  # d_θ
    displacement: float  # ‖θ̂ - θ_0‖
    anchor_norms: np.ndarray  # (T,): of encoder inputs in training tuples
    positive_norms: np.ndarray  # (T,)
    negative_norms: np.ndarray  # (T, k)
    independent_tuples: bool  # no image in two tuples, or an unlimited source
    tuples_effective: int  # ⌊N/(k+2)⌋
    delta: float = 0.05
    second_moment: float | None = None  # E|dM/dπ|²
    finite_cross_entropy: float | None = None  # CE_k
    operator_norms: Sequence[float] | None = None  # of θ_0; None where (C) is not met by the encoder
    operator_norm_factors: Sequence[float] | None = None  # √(hw) for a convolution
    minimum_feature_norm: float | None = None
    displacement_anchor: np.ndarray | None = None  # (T,): ‖φ_θ̂ - φ_θ_0‖ at the points of training tuples
    displacement_positive: np.ndarray | None = None  # (T,)
    displacement_negatives: np.ndarray | None = None  # (T, k)
    loss_difference: np.ndarray | None = None  # (T,): |ℓ(φ_θ̂) - ℓ(φ_θ_0)| of the same tuples
    rademacher_lower: float | None = None
    rademacher_lower_se: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be; the formulas check their own arguments."""
        loss_name(self.loss)
        for name, value, allowed in (
            ("generator", self.generator, GENERATORS),
            ("head", self.head, ("normalize", "lift")),
        ):
            if value not in allowed:
                raise ValueError(f"{name}: expected one of {', '.join(allowed)}, got {value!r}")
        positive_number(self.temperature, "temperature")
        probability(self.delta, "delta")
        non_negative_number(self.displacement, "displacement")
        for name in ("negatives", "tuples", "parameters"):
            count(getattr(self, name), name)
        for name in ("empirical_risk", "infonce_risk", "dcl_risk", "cross_entropy", "chi2", "kl"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name}: expected a finite number, got {getattr(self, name)}")

    @property
    def held_out_risk(self) -> float:
        """Of the run's own loss."""
        return self.infonce_risk if self.loss == "infonce" else self.dcl_risk

    @property
    def indicator(self) -> bool:
        """Whether dM/dπ is a constant on a set."""
        return self.generator in INDICATORS

    @property
    def lipschitz_known(self) -> bool:
        """Whether Assumption (C) is met with an explicit constant."""
        return self.operator_norms is not None and self.head == "lift"


def bound(
    term: str,
    equation: str,
    form: str,
    quantity: str,
    side: str,
    value: float,
    *,
    log_value: float | None = None,
    measured: float | None = None,
    holds: bool | None = None,
    trivial: float | None = None,
    clip: bool = False,
    assumptions: str = "",
    met: bool = True,
    note: str | None = None,
    standard_error: float | None = None,
    accuracy: float = 0.0,
) -> Term:
    """A term whose `vacuous`, `clipped` and `holds` follow from its value.

    `trivial` is what holds without any theory: an upper bound at or above it (a lower one at or below it) is vacuous,
    and with `clip` it takes the formula's place. A value beyond float64 becomes None, with its logarithm beside it.
    `accuracy` is how far the measured number may be from what it stands for, beyond rounding.
    """
    sign = -1.0 if side == "lower" else 1.0
    vacuous = side != "value" and trivial is not None and sign * value >= sign * trivial
    clipped = clip and trivial is not None and sign * value > sign * trivial
    if log_value is None and 0 < value < math.inf:
        log_value = math.log(value)
    if clipped:
        assert trivial is not None
        value = trivial
    if holds is None and measured is not None and side != "value":
        slack = 1e-9 * max(1.0, abs(measured)) + accuracy  # the first is rounding
        holds = sign * measured <= sign * value + slack
    finite = value if math.isfinite(value) else None
    return Term(
        term=term,
        equation=equation,
        form=form,
        quantity=quantity,
        side=side,
        value=finite,
        log_value=log_value if log_value is not None and math.isfinite(log_value) else None,
        measured=measured,
        holds=holds,
        assumptions=assumptions,
        assumptions_met=met,
        clipped=clipped,
        vacuous=vacuous,
        note=note,
        standard_error=standard_error,
    )
