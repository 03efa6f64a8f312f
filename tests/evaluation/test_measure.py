import pytest
import torch

from infonce.data.prepare import prepare
from infonce.evaluation.displacement import tuples_for
from infonce.evaluation.measure import evaluate
from infonce.records.schemas import SCHEMAS
from infonce.spec.evaluation import EvaluationOptions
from infonce.spec.run import DatasetOptions, TrainingOptions
from infonce.training.loop import train
from tests.evaluation.conftest import spec_with

OPTIONS = EvaluationOptions(negatives=[1, 5, 100], rademacher_parameters=100, rademacher_draws=2)
SHORT = TrainingOptions(steps=6, batch_size=32, history_points=2)


def measured(spec, prepared, threads=1):
    with torch.enable_grad():
        trained = train(spec, prepared, "cpu", progress=False)
    return trained, evaluate(spec, prepared, trained.initial, trained.final, OPTIONS, "cpu", threads)


@pytest.fixture(scope="module")
def sphere(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sphere")
    options = DatasetOptions(points=700, held_out=80, ambient_dimension=4)
    prepared = prepare("sphere", options, folder / "raw", folder / "prepared", progress=False)
    changes = {"dataset": "sphere", "positives": "sphere", "encoder": "linear", "head": "lift", "dimension": 4}
    return spec_with(**changes, tuple_design="disjoint", training=SHORT, dataset_options=options), prepared


def test_numbers_agree_across_thread_counts(prepared):
    """Of the same weights: 1e-9, the tolerance of docs/reliability.md."""
    spec = spec_with(training=SHORT)
    one, *others = (measured(spec, prepared, threads)[1] for threads in (1, 2, 3))
    for other in others:
        assert other.run == pytest.approx(one.run, rel=1e-9, abs=1e-12, nan_ok=True)
        for name in ("risk", "cross_entropy", "difference", "first_order"):
            expected = [row[name] for row in one.curves]
            assert [row[name] for row in other.curves] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        known = [(a.value, b.value) for a, b in zip(one.terms, other.terms, strict=True) if a.value is not None]
        assert [theirs for _, theirs in known] == pytest.approx([ours for ours, _ in known], rel=1e-9)


@pytest.mark.parametrize("loss", ["infonce", "dcl"])
@pytest.mark.parametrize("positives", ["augment", "class"])
@pytest.mark.parametrize("head", ["normalize", "lift"])
def test_a_run_is_measured_whole(prepared, positives, loss, head):
    spec = spec_with(positives=positives, loss=loss, head=head, training=SHORT)
    trained, evaluation = measured(spec, prepared)
    # The empirical risk is that of training's own last row, now in float64.
    assert evaluation.run["empirical_risk"] == pytest.approx(trained.history[-1]["training_loss"], abs=1e-5)
    assert evaluation.run["generalisation_gap"] == pytest.approx(
        evaluation.run["held_out_risk"] - evaluation.run["empirical_risk"]
    )
    assert set(evaluation.run) <= set(SCHEMAS["runs"].names)
    assert {(row["risk_loss"], row["risk_negatives"]) for row in evaluation.curves} == {
        (name, k) for name in ("infonce", "dcl") for k in (1, 5, 100)
    }
    assert [row["risk_negatives"] for row in evaluation.curves if row["own_negatives"]] == [5, 5]
    assert [term.term for term in evaluation.terms if term.holds is False] == []


def test_the_class_identity_of_finite_search_and_dcl(prepared):
    _, evaluation = measured(spec_with(positives="class", training=SHORT), prepared)
    for row in evaluation.curves:
        if row["risk_loss"] == "dcl":
            assert row["finite_cross_entropy"] == row["risk"]
    empty = {row["risk_negatives"]: row["empty_support"] for row in evaluation.curves}
    # Ten classes of four images each; of the 39 others three share the class.
    assert empty[5] == pytest.approx((1 - 3 / 39) ** 5, abs=1e-12)


def test_on_the_sphere_the_search_tends_to_the_dcl_risk_however_few_points_stand_for_it(sphere):
    options = OPTIONS.model_copy(update={"negatives": [1, 5, 100, 1_000_000]})
    with torch.enable_grad():
        trained = train(*sphere, "cpu", progress=False)
    evaluation = evaluate(*sphere, trained.initial, trained.final, options, "cpu", 1)
    of_dcl = [row for row in evaluation.curves if row["risk_loss"] == "dcl"]
    differences = [abs(row["finite_cross_entropy"] - row["risk"]) for row in of_dcl]
    assert differences == sorted(differences, reverse=True)
    assert differences[0] > 0.1
    assert differences[-1] < 1e-4
    for term in evaluation.terms:
        if term.equation in ("Prop 2", "Eq 12"):
            assert term.holds


def test_norms_are_those_of_all_tuples_and_displacements_of_some(prepared, monkeypatch):
    monkeypatch.setattr("infonce.evaluation.measurements.MOST_TUPLES", 10)
    monkeypatch.setattr("infonce.evaluation.displacement.MOST_TUPLES", 10)
    _, evaluation = measured(spec_with(head="lift", training=SHORT), prepared)
    terms = {(term.term, term.form): term for term in evaluation.terms}
    assert terms["B_τ", "literal"].note == "over 50 of 50 training tuples"
    assert terms["Proposition 5", "literal"].note is None
    monkeypatch.setattr("infonce.evaluation.displacement.FEWEST_TUPLES", 5)
    monkeypatch.setattr("infonce.evaluation.displacement.NEGATIVES_AT_MOST", 7 * 5)  # seven tuples of k = 5
    _, evaluation = measured(spec_with(head="lift", training=SHORT), prepared)
    terms = {(term.term, term.form): term for term in evaluation.terms}
    assert terms["B_τ", "literal"].note == "over 7 of 50 training tuples"
    assert terms["Proposition 5", "literal"].note == "an estimate: norms over the first 7 tuples stand for all"


def test_numbers_of_negatives_are_bounded_whatever_k():
    assert [tuples_for(k, 50_000) for k in (1, 83, 4096, 65_536, 10**6)] == [50_000, 50_000, 1024, 64, 64]
    assert [tuples_for(k, 512) for k in (1, 4096, 65_536)] == [512, 512, 64]


def test_sphere_meets_the_assumptions_and_has_a_complexity_from_below(sphere):
    _, evaluation = measured(*sphere)
    terms = {(term.term, term.form): term for term in evaluation.terms}
    assert terms["Proposition 3", "literal"].assumptions_met
    complexity = terms["Proposition 5", "literal"]
    assert complexity.assumptions_met
    assert 0 < complexity.measured < complexity.value
    assert all(row["empty_support"] == 0 for row in evaluation.curves)
    assert evaluation.run["tuples_effective"] == 50
    assert "recall_at_1" not in evaluation.run


def test_shared_images_and_the_head_normalize_leave_assumptions_unmet(prepared):
    _, evaluation = measured(spec_with(training=SHORT), prepared)
    unmet = {term.term for term in evaluation.terms if not term.assumptions_met}
    assert {"Proposition 3", "Proposition 5", "Theorem 1"} <= unmet
    notes = {term.term: term.note for term in evaluation.terms if term.form == "literal"}
    assert "the head f/‖f‖ is not Lipschitz at 0" in notes["Proposition 5"]
    assert "the head f/‖f‖ is not Lipschitz at 0; tuples share images, so they are not i.i.d." in notes["Theorem 1"]
    assert "tuples share images" in notes["Proposition 3"]
