import dataclasses
import itertools
import math

import numpy as np
import pytest

from infonce.records.schemas import TERMS
from infonce.theory import bounds
from infonce.theory.finite_k import finite_risks
from infonce.theory.kernels import kernel_statistics
from infonce.theory.ledger import Measurements, Term, ledger
from infonce.theory.ledger_entries import bound
from tests.theory.conftest import random_embeddings


def measurements(tau=0.5, k=16, **changes) -> Measurements:
    a, p, b = random_embeddings(0, 30, 60, 5)
    statistics = kernel_statistics(a, p, b, tau)
    risks = finite_risks(a, p, b, tau, k)
    generator = np.random.default_rng(0)
    moved = generator.uniform(0, 0.1, size=(8, k + 2))
    values = {
        "loss": "infonce",
        "generator": "class",
        "head": "lift",
        "temperature": tau,
        "negatives": k,
        "tuples": 1000,
        "empirical_risk": float(risks.risk("infonce").mean()) - 0.1,
        "infonce_risk": float(risks.risk("infonce").mean()),
        "dcl_risk": float(risks.risk("dcl").mean()),
        "cross_entropy": float(statistics.cross_entropy.mean()),
        "q_positive": float(statistics.q_positive.mean()),
        "chi2": float(statistics.chi2.mean()),
        "kl": float(statistics.kl.mean()),
        "log_q_min": float(statistics.log_q_min.min()),
        "log_q_max": float(statistics.log_q_max.max()),
        "parameters": 40,
        "displacement": 0.3,
        "anchor_norms": generator.uniform(1, 2, size=8),
        "positive_norms": generator.uniform(1, 2, size=8),
        "negative_norms": generator.uniform(1, 2, size=(8, k)),
        "independent_tuples": True,
        "tuples_effective": 1000,
        "second_moment": 3.0,
        "finite_cross_entropy": float(risks.risk("dcl").mean()),
        "operator_norms": (1.0,),
        "minimum_feature_norm": 0.2,
        "displacement_anchor": moved[:, 0],
        "displacement_positive": moved[:, 1],
        "displacement_negatives": moved[:, 2:],
        "loss_difference": np.full(8, 0.01),
        "rademacher_lower": 0.01,
        "rademacher_lower_se": 0.001,
    }
    return Measurements(**(values | changes))


def one(terms: list[Term], **fields) -> Term:
    found = [term for term in terms if all(getattr(term, name) == value for name, value in fields.items())]
    assert len(found) == 1, (fields, [(t.term, t.form, t.side) for t in found])
    return found[0]


def test_a_term_has_the_columns_of_the_table():
    of_run = {"run", "spec_hash", "dataset", "positives", "encoder", "head", "dimension", "loss", "tuples"}
    of_run |= {"tuple_design", "negatives", "temperature", "seed"}
    assert {field.name for field in dataclasses.fields(Term)} == set(TERMS.names) - of_run
    for term in ledger(measurements()):
        row = dataclasses.asdict(term)
        for field in TERMS:
            if field.name in row:
                assert field.nullable or row[field.name] is not None, (term, field.name)
        assert term.form in ("literal", "tight", "measured")
        assert term.side in ("upper", "lower", "value")


@pytest.mark.parametrize("loss", ["infonce", "dcl"])
@pytest.mark.parametrize("tau", [1e-3, 0.05, 0.5, 5.0])
@pytest.mark.parametrize("k", [1, 16, 10**6])
def test_every_term_holds_and_is_finite(loss, tau, k):
    norms = {name: np.ones((8, 4)) for name in ("negative_norms", "displacement_negatives")}
    terms = ledger(measurements(tau, 16, loss=loss, **norms))
    if k != 16:
        a, p, b = random_embeddings(0, 30, 60, 5)
        risks = finite_risks(a, p, b, tau, k)
        values = {name: float(risks.risk(name).mean()) for name in ("infonce", "dcl")}
        terms = ledger(
            dataclasses.replace(
                measurements(tau, 16, loss=loss, **norms),
                negatives=k,
                infonce_risk=values["infonce"],
                dcl_risk=values["dcl"],
                finite_cross_entropy=values["dcl"],
                empirical_risk=values[loss],
            )
        )
    for term in terms:
        assert term.holds is not False, term
        for name in ("value", "log_value", "measured"):
            assert getattr(term, name) is None or math.isfinite(getattr(term, name)), term
        assert term.value is not None or term.log_value is not None, term


def test_the_ledger_has_every_term_of_the_theory():
    terms = ledger(measurements())
    names = {(t.equation, t.form) for t in terms}
    literal = {"Prop 1", "Eq 8", "Prop 2", "Eq 11", "Lemma 4", "Eq 12", "Prop 3", "Prop 4", "Eq 18", "Lemma 1"}
    literal |= {"Prop 5", "Thm 1"}
    assert {(equation, "literal") for equation in literal} <= names
    assert {("Sec. 6", "tight"), ("Thm 1", "tight"), ("(C)", "tight"), ("Sec. 6", "measured")} <= names


def test_the_ingredients_are_those_of_the_measurements():
    m = measurements()
    terms = ledger(m)
    norms = (m.anchor_norms, m.positive_norms, m.negative_norms)
    assert one(terms, term="largest norms").value == sum(max(part.ravel()) for part in norms)
    assert one(terms, term="B_τ").value == bounds.b_tau(*norms, 0.5)
    assert one(terms, term="radius").value == 0.5
    assert one(terms, term="radius").measured == 0.3
    assert one(terms, term="Lipschitz constant").value == 1.0
    assert one(terms, term="smallest feature norm").value == 0.2
    lower = one(terms, term="lower estimate")
    assert (lower.value, lower.standard_error, lower.side) == (0.01, 0.001, "lower")


def test_the_bounds_on_a_change_of_the_loss_are_means_over_the_tuples():
    m = measurements()
    moved = (m.displacement_anchor, m.displacement_positive, m.displacement_negatives)
    terms = ledger(m)
    literal, tight = (one(terms, term="Proposition 4", form=form) for form in ("literal", "tight"))
    assert literal.value == pytest.approx(sum(bounds.prop4(*moved, 0.5, 4.0)) / 8)
    assert literal.log_value == pytest.approx(math.log(literal.value))
    assert tight.value == pytest.approx(sum(bounds.tight_prop4(*moved, 0.5)) / 8)
    rival = one(terms, term="maximum over negatives")
    assert rival.value == pytest.approx(sum(bounds.eq18(*moved, 0.5)) / 8)
    assert [term.measured for term in (literal, tight, rival)] == [pytest.approx(0.01)] * 3


def test_what_equals_its_bound_holds_and_what_exceeds_it_does_not():
    for side, sign in (("upper", 1), ("lower", -1)):
        for value in (3.0, -3.0):
            held = bound("a", "b", "tight", "c", side, value, measured=value)
            broken = bound("a", "b", "tight", "c", side, value, measured=value + sign * 1e-6)
            assert (held.holds, broken.holds) == (True, False)


def test_theorem_1_is_the_sum_of_its_terms_with_the_radius_found_after_training():
    m = measurements(tau=5.0, k=4096, tuples=10**9, parameters=2)
    m = dataclasses.replace(m, empirical_risk=m.infonce_risk)
    terms = ledger(m)
    radius, index = bounds.dyadic_radius(0.3, 2**-6)
    assert (radius, index) == (0.5, 5)
    size = bounds.b_tau(m.anchor_norms, m.positive_norms, m.negative_norms, 5.0)
    complexity = bounds.prop5_rademacher(10**9, 5.0, 2, radius, size, 1.0)
    sample = bounds.prop3_sample(10**9, 5.0, 0.05 / (6 * 7))
    expected = m.empirical_risk + 2 * complexity + sample + bounds.prop2_bias(4096, 5.0, 3.0)
    literal = one(terms, term="Theorem 1", form="literal")
    assert literal.value == pytest.approx(expected, rel=1e-12)
    assert (literal.clipped, literal.vacuous, literal.assumptions_met) == (False, False, True)
    tight = one(terms, term="Theorem 1", form="tight")
    assert m.finite_cross_entropy < tight.value < literal.value


def test_a_bound_above_the_trivial_one_is_clipped_and_says_so():
    m = measurements()
    for term in ledger(m):
        if term.term == "Theorem 1" and term.form == "literal":
            assert term.value == 2 / m.temperature
            assert term.clipped
            assert term.vacuous
            assert math.exp(term.log_value) > term.value
            assert "before clipping" in term.note


def without_theory(quantity, loss, tau, k):
    """The largest size that a quantity can have at all, from similarities in [-1, 1] alone."""
    low, high = math.exp(-2 / tau), math.exp(2 / tau)
    extra = 1 / k if loss == "infonce" else 0.0
    spread = math.log((extra + high) / (extra + low))
    either = 2 / tau + math.log1p(1 / k)
    return {
        "R - R̂_n - 2 Rad": spread,
        "|ℓ(φ_θ̂) - ℓ(φ_θ_0)|": spread,
        "Rad": spread / 2,
        "R": math.log(extra + high),
        "CE_k": 2 / tau,
        "CE_k - R": 2 / tau,
        "|CE_k - R̃|": 2 / tau,
        "KL(Q‖π)": 2 / tau,
        "CE - R": either,
        "R - CE": either,
        "CE - R̃": 2 / tau,
        "R̃ - CE": 2 / tau,
        "|CE_k - R|": 2 / tau + math.log1p(high / k),
    }.get(quantity)


@pytest.mark.parametrize("loss", ["infonce", "dcl"])
def test_a_bound_is_vacuous_exactly_where_it_says_no_more_than_is_known_without_theory(loss):
    seen = set()
    for tau, k, (n, moved) in itertools.product(
        (0.1, 2.0, 5.0), (1, 16, 1024), ((2, 2.0), (10**5, 0.1), (10**9, 0.001))
    ):
        far = {name: np.full(8, moved) for name in ("displacement_anchor", "displacement_positive")}
        far["displacement_negatives"] = np.full((8, k), moved)
        for term in ledger(measurements(tau, k, loss=loss, tuples=n, parameters=2, **far)):
            limit = without_theory(term.quantity, loss, tau, k)
            if term.side == "value" or limit is None:
                continue
            formula = math.exp(min(term.log_value, 700)) if term.clipped else term.value
            size = math.inf if formula is None else formula if term.side == "upper" else -formula
            if abs(size - limit) > 1e-9 * limit:
                assert term.vacuous == (size > limit), (tau, k, n, term, limit)
                seen.add((term.quantity, term.vacuous))
    both = {quantity for quantity, vacuous in seen if (quantity, not vacuous) in seen}
    assert {"Rad", "R", "CE_k", "R - R̂_n - 2 Rad", "|ℓ(φ_θ̂) - ℓ(φ_θ_0)|"} <= both


def test_without_assumption_c_the_complexity_is_half_the_range():
    for loss, extra in (("infonce", 1 / 16), ("dcl", 0.0)):
        terms = ledger(measurements(loss=loss, head="normalize"))
        half = math.log((extra + math.exp(4)) / (extra + math.exp(-4))) / 2
        for name in ("Proposition 5", "complexity"):
            term = one(terms, term=name, quantity="Rad")
            assert term.value == pytest.approx(half, rel=1e-12)
            assert term.vacuous
            assert term.clipped


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"head": "normalize"}, "not Lipschitz at 0"),
        ({"operator_norms": None}, "not met with a known constant"),
    ],
)
def test_without_assumption_c_no_bound_is_claimed(changes, says):
    terms = ledger(measurements(**changes))
    for form in ("literal", "tight"):
        theorem = one(terms, term="Theorem 1", form=form)
        assert not theorem.assumptions_met
        assert theorem.vacuous
        assert theorem.clipped
        assert theorem.value == 4.0
        assert says in theorem.note
    assert one(terms, term="Lipschitz constant").value is None
    assert not one(terms, term="Proposition 5").assumptions_met
    assert one(terms, term="Proposition 5").vacuous


def test_shared_images_and_the_instance_reading_are_told():
    terms = ledger(measurements(generator="augment", independent_tuples=False, tuples_effective=70, second_moment=60.0))
    sample = one(terms, term="Proposition 3")
    assert not sample.assumptions_met
    assert "70 disjoint" in sample.note
    assert not one(terms, term="Theorem 1", form="tight").assumptions_met
    assert "instance reading" in one(terms, term="Proposition 2").note


def test_an_unknown_second_moment_gives_no_value():
    terms = ledger(measurements(generator="sphere", second_moment=None, finite_cross_entropy=None))
    proposition = one(terms, term="Proposition 2")
    assert (proposition.value, proposition.assumptions_met, proposition.vacuous) == (None, False, True)
    assert one(terms, term="Theorem 1", form="literal").clipped


@pytest.mark.parametrize("k", [1, 4, 16, 10_000])
@pytest.mark.parametrize("spread", [0, 1e-8, 1e-5])
def test_a_collapsed_encoder_violates_nothing(k, spread):
    """Both ends of the bracket meet there, so that the accuracy of the exact risks is what is left between them."""
    a, p, b = (np.eye(5)[0] + spread * rows for rows in random_embeddings(0, 30, 60, 5))
    a, p, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (a, p, b))
    statistics, risks = kernel_statistics(a, p, b, 0.5), finite_risks(a, p, b, 0.5, k)
    found = measurements(
        k=k,
        infonce_risk=float((statistics.cross_entropy + risks.difference("infonce")).mean()),
        dcl_risk=float((statistics.cross_entropy + risks.difference("dcl")).mean()),
        finite_cross_entropy=float((statistics.cross_entropy + risks.difference("dcl")).mean()),
        **{name: float(getattr(statistics, name).mean()) for name in ("cross_entropy", "q_positive", "chi2", "kl")},
        log_q_min=float(statistics.log_q_min.min()),
        log_q_max=float(statistics.log_q_max.max()),
    )
    assert [term for term in ledger(found) if term.holds is False] == []


def test_a_false_measurement_is_found_out():
    m = measurements()
    assert one(ledger(dataclasses.replace(m, kl=3.0)), term="KL ceiling").holds is False
    far = dataclasses.replace(m, infonce_risk=m.infonce_risk + 5)
    assert one(ledger(far), term="gap bracket", quantity="R - CE", form="tight", side="upper").holds is False
    moved = dataclasses.replace(m, loss_difference=np.full(8, 50.0))
    assert one(ledger(moved), term="Proposition 4", form="tight").holds is False


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "triplet"}, "loss"),
        ({"generator": "noise"}, "generator: expected one of augment, class, sphere, got 'noise'"),
        ({"head": "none"}, "head"),
        ({"negatives": 0}, "negatives"),
        ({"temperature": 0.0}, "temperature"),
        ({"cross_entropy": math.nan}, "cross_entropy: expected a finite number, got nan"),
        ({"delta": 1.0}, "delta"),
    ],
)
def test_bad_measurements_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(measurements(), **changes)
