"""Terms of the ledger about what a finite training set allows: Prop 3 and 5, Lemma 1, Theorem 1, and our forms."""

import math
from dataclasses import dataclass

import numpy as np

from infonce.theory import gap, generalisation
from infonce.theory.ledger_entries import Measurements, Term, bound
from infonce.theory.lipschitz import lipschitz_constant

SMALLEST_RADIUS = 2.0**-6  # fixed before any training, as the dyadic grid demands


@dataclass(frozen=True)
class _Complexity:
    """Upper bounds on Rad over the ball that was found, and what they are made of; None where (C) is not met."""

    radius: float
    index: int
    b_tau: float
    lipschitz: float | None
    literal: float | None
    tight: float | None


def generalisation_terms(m: Measurements) -> list[Term]:
    """Prop 3, Lemma 1, Assumption (C), Prop 5 and Theorem 1, with the sharper forms of Sec. 6."""
    complexity = _complexity(m)
    return [
        *_sampling(m),
        *_ingredients(m, complexity),
        *_rademacher(m, complexity),
        *_theorem1(m, complexity),
    ]


def _complexity(m: Measurements) -> _Complexity:
    radius, index = generalisation.dyadic_radius(m.displacement, SMALLEST_RADIUS)
    size = generalisation.b_tau(m.anchor_norms, m.positive_norms, m.negative_norms, m.temperature)
    if m.operator_norms is None or not m.lipschitz_known:
        return _Complexity(radius, index, size, None, None, None)
    lipschitz = lipschitz_constant(m.operator_norms, radius, m.head, m.operator_norm_factors)
    literal = generalisation.prop5_rademacher(m.tuples, m.temperature, m.parameters, radius, size, lipschitz)
    sensitivity = generalisation.log_tuple_sensitivity(
        m.anchor_norms, m.positive_norms, m.negative_norms, m.temperature
    )
    tight = generalisation.tight_rademacher(
        m.tuples, m.negatives, m.temperature, m.parameters, radius, sensitivity, lipschitz, m.loss
    )
    return _Complexity(radius, index, size, lipschitz, literal, tight)


def _sampling(m: Measurements) -> list[Term]:
    quantity = "R - R̂_n - 2 Rad"
    spread = generalisation.loss_range(m.negatives, m.temperature, m.loss)
    literal = generalisation.prop3_sample(m.tuples, m.temperature, m.delta)
    tight = generalisation.tight_sample(m.tuples, m.negatives, m.temperature, m.delta, m.loss)
    note = _dependence(m)
    return [
        bound(
            name,
            equation,
            form,
            quantity,
            "upper",
            value,
            trivial=spread,
            assumptions="(A)",
            met=m.independent_tuples,
            note=note,
        )
        for name, equation, form, value in (
            ("Proposition 3", "Prop 3", "literal", literal),
            ("sample term", "Sec. 6", "tight", tight),
        )
    ]


def _ingredients(m: Measurements, c: _Complexity) -> list[Term]:
    largest = sum(float(np.max(norms)) for norms in (m.anchor_norms, m.positive_norms, m.negative_norms))
    over = f"over {len(np.atleast_1d(m.anchor_norms)):,} of {m.tuples:,} training tuples"
    terms = [
        bound("B_τ", "Lemma 1", "literal", "B_τ", "value", c.b_tau, note=over),
        bound("largest norms", "Lemma 1", "measured", "max‖a‖ + max‖p‖ + max‖b‖", "value", largest, note=over),
        bound(
            "radius",
            "Sec. 6",
            "tight",
            "R_θ",
            "value",
            c.radius,
            measured=m.displacement,
            note=f"first of 2^(j-6) that is at least ‖θ̂-θ_0‖: j = {c.index}, paid for by δ_j = δ/((j+1)(j+2))",
        ),
        bound(
            "Lipschitz constant",
            "(C)",
            "tight",
            "C_Φ",
            "value",
            math.inf if c.lipschitz is None else c.lipschitz,
            assumptions="(C)",
            met=m.lipschitz_known,
            note=_lipschitz_note(m),
        ),
    ]
    if m.minimum_feature_norm is not None:
        terms.append(bound("smallest feature norm", "(C)", "measured", "min‖f‖", "value", m.minimum_feature_norm))
    return terms


def _rademacher(m: Measurements, c: _Complexity) -> list[Term]:
    half = generalisation.loss_range(m.negatives, m.temperature, m.loss) / 2  # Rad ≤ range/2 for any class
    note = _lipschitz_note(m) or _norms_note(m)
    terms = [
        bound(
            name,
            equation,
            form,
            "Rad",
            "upper",
            math.inf if value is None else value,
            measured=m.rademacher_lower,
            trivial=half,
            clip=value is None,
            assumptions="(C)",
            met=m.lipschitz_known,
            note=note,
        )
        for name, equation, form, value in (
            ("Proposition 5", "Prop 5", "literal", c.literal),
            ("complexity", "Sec. 6", "tight", c.tight),
        )
    ]
    if m.rademacher_lower is not None:
        terms.append(
            bound(
                "lower estimate",
                "Sec. 6",
                "measured",
                "Rad",
                "lower",
                m.rademacher_lower,
                standard_error=m.rademacher_lower_se,
                note="gradient ascent over random signs: a lower estimate",
            )
        )
    return terms


def _theorem1(m: Measurements, c: _Complexity) -> list[Term]:
    """The combined bound on CE_k and, without the search, on R; clipped at what holds without any theory."""
    n, k, tau = m.tuples, m.negatives, m.temperature
    delta = generalisation.dyadic_confidence(m.delta, c.index)
    forms = (
        ("literal", c.literal, generalisation.prop3_sample(n, tau, delta), _literal_bias(m)),
        ("tight", c.tight, generalisation.tight_sample(n, k, tau, delta, m.loss), _tight_bias(m)),
    )
    terms = []
    for form, rademacher, sample, bias in forms:
        deviation = math.inf if rademacher is None else 2 * rademacher + sample
        on_risk = m.empirical_risk + deviation
        on_search = on_risk + bias
        met = m.independent_tuples and m.lipschitz_known
        terms.append(
            bound(
                "generalisation",
                "Prop 3 and 5",
                form,
                "R",
                "upper",
                on_risk,
                measured=m.held_out_risk,
                trivial=generalisation.largest_loss(k, tau, m.loss),
                clip=True,
                assumptions="(A), (C)",
                met=met,
                note=_notes(m, on_risk),
            )
        )
        terms.append(
            bound(
                "Theorem 1",
                "Thm 1",
                form,
                "CE_k",
                "upper",
                on_search,
                measured=m.finite_cross_entropy,
                trivial=2 / tau,
                clip=True,
                assumptions="(A), (B), (C)",
                met=met and m.second_moment is not None,
                note=_notes(m, on_search),
            )
        )
    return terms


def _literal_bias(m: Measurements) -> float:
    if m.second_moment is None:
        return math.inf
    of_loss = gap.prop2_bias if m.loss == "infonce" else gap.eq12
    return of_loss(m.negatives, m.temperature, m.second_moment)


def _tight_bias(m: Measurements) -> float:
    if m.indicator:
        return 0.0
    if m.second_moment is None:
        return math.inf
    return gap.tight_bias(m.negatives, m.temperature, m.second_moment, m.indicator)


def _notes(m: Measurements, value: float) -> str:
    parts = [f"before clipping: {value:.6g}", _lipschitz_note(m) or _norms_note(m), _dependence(m)]
    return "; ".join(part for part in parts if part)


def _dependence(m: Measurements) -> str | None:
    if m.independent_tuples:
        return None
    return f"tuples share images, so they are not i.i.d.; {m.tuples_effective} disjoint ones would be"


def _norms_note(m: Measurements) -> str | None:
    """Why the complexity is no strict bound where the norms of the inputs are those of a part of the tuples."""
    measured = len(np.atleast_1d(m.anchor_norms))
    return None if measured >= m.tuples else f"an estimate: norms over the first {measured:,} tuples stand for all"


def _lipschitz_note(m: Measurements) -> str | None:
    if m.head == "normalize":
        return "(C) is not met: the head f/‖f‖ is not Lipschitz at 0"
    if m.operator_norms is None:
        return "(C) is not met with a known constant by this encoder"
    return None
