"""Terms of the ledger about risks at finite k, the cross-entropy and the search kernel, exact over the pool."""

import math

from infonce.theory import gap
from infonce.theory.finite_k import accuracy
from infonce.theory.ledger_entries import Measurements, Term, bound

INSTANCE_READING = "in the instance reading: π is the law of views of the images, and M that of one image's views"


def gap_terms(m: Measurements) -> list[Term]:
    """Prop 1 and 2, Eq 8, 11 and 12, Lemma 4, and the sharper forms of Sec. 6."""
    return [*_kernel(m), *_infonce_gap(m), *_dcl_gap(m), *_finite_search(m)]


def _kernel(m: Measurements) -> list[Term]:
    limit = 2 / m.temperature
    low, high = gap.eq8(m.temperature)
    smallest, largest = math.exp(m.log_q_min), math.exp(m.log_q_max)
    ceiling = gap.kl_ceiling(m.temperature)
    return [
        bound(
            "smallest density",
            "Eq 8",
            "literal",
            "q_a(b)",
            "lower",
            low,
            log_value=-limit,
            measured=smallest,
            holds=m.log_q_min >= -limit - 1e-9,
        ),
        bound(
            "largest density",
            "Eq 8",
            "literal",
            "q_a(b)",
            "upper",
            high,
            log_value=limit,
            measured=largest,
            holds=m.log_q_max <= limit + 1e-9,
        ),
        bound("KL ceiling", "Sec. 6", "tight", "KL(Q‖π)", "upper", ceiling, measured=m.kl, trivial=limit),
        bound("KL by Eq 8", "Eq 8", "literal", "KL(Q‖π)", "upper", limit, measured=m.kl),
    ]


def _infonce_gap(m: Measurements) -> list[Term]:
    k, tau = m.negatives, m.temperature
    difference = m.infonce_risk - m.cross_entropy
    limit = gap.gap_limit(k, tau)
    exact_to = accuracy(m.q_positive, m.chi2, k)
    low, high = gap.prop1(k, tau)
    terms = [
        bound(
            "Proposition 1",
            "Prop 1",
            "literal",
            "CE - R",
            "lower",
            low,
            measured=-difference,
            trivial=-limit,
            accuracy=exact_to,
        ),
        bound(
            "Proposition 1",
            "Prop 1",
            "literal",
            "CE - R",
            "upper",
            high,
            log_value=gap.log_prop1_upper(k, tau),
            measured=-difference,
            trivial=limit,
            accuracy=exact_to,
        ),
        bound(
            "largest gap",
            "Sec. 6",
            "tight",
            "|R - CE|",
            "upper",
            limit,
            measured=abs(difference),
            accuracy=exact_to,
        ),
    ]
    return terms + _brackets(m, "infonce", "R - CE", difference, limit)


def _dcl_gap(m: Measurements) -> list[Term]:
    k, tau = m.negatives, m.temperature
    difference = m.dcl_risk - m.cross_entropy
    low, high = gap.eq11(k, tau)
    limit = gap.lemma4(tau)
    exact_to = accuracy(m.q_positive, m.chi2, k)
    terms = [
        bound(
            "Equation 11",
            "Eq 11",
            "literal",
            "CE - R̃",
            "lower",
            low,
            measured=-difference,
            trivial=-limit,
            accuracy=exact_to,
        ),
        bound(
            "Equation 11",
            "Eq 11",
            "literal",
            "CE - R̃",
            "upper",
            high,
            log_value=gap.log_prop1_upper(k, tau),
            measured=-difference,
            trivial=limit,
            accuracy=exact_to,
        ),
        bound(
            "Lemma 4",
            "Lemma 4",
            "literal",
            "CE - R̃",
            "upper",
            limit,
            measured=-difference,
            accuracy=exact_to,
        ),
    ]
    return terms + _brackets(m, "dcl", "R̃ - CE", difference, limit)


def _brackets(m: Measurements, loss: str, quantity: str, difference: float, limit: float) -> list[Term]:
    terms = []
    readings = (("tight", "c_τ", None), ("measured", "c at the smallest measured q in place of c_τ", m.log_q_min))
    for form, note, log_minimum in readings:
        bracket = gap.gap_bracket(m.cross_entropy, m.q_positive, m.chi2, m.negatives, m.temperature, loss, log_minimum)
        for side, value, trivial in zip(("lower", "upper"), bracket, (-limit, limit), strict=True):
            terms.append(
                bound(
                    "gap bracket",
                    "Sec. 6",
                    form,
                    quantity,
                    side,
                    value,
                    measured=difference,
                    trivial=trivial,
                    note=note,
                    accuracy=accuracy(m.q_positive, m.chi2, m.negatives),
                )
            )
    return terms


def _finite_search(m: Measurements) -> list[Term]:
    """Bounds on CE_k, which need the second moment of dM/dπ: Assumption (B)."""
    k, tau = m.negatives, m.temperature
    note = INSTANCE_READING if m.generator == "augment" else None
    if m.second_moment is None:
        literal, of_dcl, tight = math.inf, math.inf, 0.0 if m.indicator else 2 / tau
        note = "E|dM/dπ|² is not known"
    else:
        literal = gap.prop2_bias(k, tau, m.second_moment)
        of_dcl = gap.eq12(k, tau, m.second_moment)
        tight = gap.tight_bias(k, tau, m.second_moment, m.indicator)
    found = m.finite_cross_entropy
    to_infonce = None if found is None else found - m.infonce_risk
    to_dcl = None if found is None else found - m.dcl_risk
    met = m.second_moment is not None
    limit = 2 / tau - gap.prop1(k, tau)[0]  # |CE_k - R̃| ≤ 2/τ, and R - R̃ is at most Prop 1's logarithm
    return [
        bound(
            "Proposition 2",
            "Prop 2",
            "literal",
            "|CE_k - R|",
            "upper",
            literal,
            measured=None if to_infonce is None else abs(to_infonce),
            trivial=limit,
            assumptions="(B)",
            met=met,
            note=note,
        ),
        bound(
            "Equation 12",
            "Eq 12",
            "literal",
            "|CE_k - R̃|",
            "upper",
            of_dcl,
            measured=None if to_dcl is None else abs(to_dcl),
            trivial=2 / tau,
            assumptions="(B)",
            met=met,
            note=note,
        ),
        bound(
            "search bias",
            "Sec. 6",
            "tight",
            "CE_k - R",
            "upper",
            tight,
            measured=to_infonce,
            trivial=2 / tau,
            assumptions="(B)",
            met=met,
            note="CE_k = R̃ ≤ R for an indicator density" if m.indicator and met else note,
        ),
    ]
