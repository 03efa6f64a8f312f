"""Every answer is computed: perturb the tables and the sentence and its verdict change."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from infonce.report import Tables
from infonce.report.claims import CLAIMS, averaging, gap, ledger, norms, quality, rate, search, stopping, temperature
from infonce.report.claims.claim import Answer, Claim, Verdict
from infonce.report.selection import Selection, selections
from tests.report.model import changed, make_tables, specs


@pytest.fixture(scope="module")
def tables() -> Tables:
    return make_tables(specs(positives=("class",)))


def only(tables: Tables) -> Selection:
    (selection,) = selections(tables, None)
    return selection


def answered(claim: Claim, tables: Tables) -> Answer:
    return claim.answer(only(tables))


def test_the_rate_of_the_model_is_found(tables: Tables) -> None:
    answer = answered(rate.CLAIM, tables)
    assert answer.verdict is Verdict.SUPPORTED
    assert "on log k is −1.00" in answer.text or "on log k is −0.99" in answer.text
    assert "all 40 runs" in answer.text
    assert "hold" in answer.text
    assert "violated" not in answer.text


def half_slope(curves: pd.DataFrame) -> pd.DataFrame:
    difference = curves["first_order"] * np.sqrt(curves["risk_negatives"])
    return curves.assign(difference=difference)


def test_a_rate_of_one_half_is_told(tables: Tables) -> None:
    answer = answered(rate.CLAIM, changed(tables, "curves", half_slope))
    assert answer.verdict is Verdict.NOT_SUPPORTED
    assert "do not support the rate 1/k" in answer.text
    assert "on log k is −0.5" in answer.text
    assert "away from the −1/2" not in answer.text, answer.text


def test_one_point_outside_the_bracket_is_told(tables: Tables) -> None:
    def push(curves: pd.DataFrame) -> pd.DataFrame:
        first = curves.index[curves["risk_loss"] == "infonce"][0]
        curves.loc[first, "bracket_upper"] = curves.loc[first, "difference"] - 0.1
        return curves

    answer = answered(rate.CLAIM, changed(tables, "curves", push))
    assert answer.verdict is Verdict.PARTLY
    assert "bracket is violated in 1 of 368 tests" in answer.text
    assert "Proposition 1 is violated in 0 of 400" in answer.text


def test_the_range_of_the_fit_comes_from_the_coefficients_not_from_the_risks(tables: Tables) -> None:
    answer = answered(
        rate.CLAIM, changed(tables, "curves", lambda curves: curves.assign(second_order=curves["first_order"]))
    )
    assert answer.verdict is Verdict.NOT_MEASURED
    assert "not reached" in answer.text


def test_one_seed_gives_no_interval() -> None:
    answer = answered(rate.CLAIM, make_tables(specs(positives=("class",), seeds=(0,))))
    assert "1 seed, no interval" in answer.text
    assert "±" not in answer.text


def violate_eq8(runs: pd.DataFrame) -> pd.DataFrame:
    runs.loc[0, "q_max"] = np.exp(2.1 / runs.loc[0, "temperature"])
    return runs


def flip(column: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda frame: frame.assign(**{column: -frame[column]})


def shifted_search(curves: pd.DataFrame) -> pd.DataFrame:
    return curves.assign(finite_cross_entropy=curves["risk"] + 1e-6 * curves["risk_negatives"])


def broken_bound(terms: pd.DataFrame) -> pd.DataFrame:
    terms["holds"] = terms["holds"].astype(object)
    terms.loc[terms["equation"] == "Prop 2", "holds"] = False
    return terms


def growing_gap(runs: pd.DataFrame) -> pd.DataFrame:
    return runs.assign(generalisation_gap=runs["negatives"] * (1 + 0.001 * runs["seed"]))


def level_gap(runs: pd.DataFrame) -> pd.DataFrame:
    return runs.assign(generalisation_gap=1 + 0.01 * runs["seed"])


def growing_average(terms: pd.DataFrame) -> pd.DataFrame:
    at = terms["term"] == "Proposition 4"
    return terms.assign(log_value=terms["log_value"].where(~at, np.log(terms["negatives"])))


def growing_average_along_training(history: pd.DataFrame) -> pd.DataFrame:
    return history.assign(prop4_tight=history["prop4_tight"] * history["negatives"])


def broken_along_training(history: pd.DataFrame) -> pd.DataFrame:
    history.loc[history.index[-1], "loss_change"] = 1.01 * history["eq18"].iloc[-1]
    return history


def with_complexity(terms: pd.DataFrame) -> pd.DataFrame:
    """Prop 5 with its assumption met, its sharper form and a lower estimate, growing with k."""
    literal = terms[terms["term"] == "Proposition 5"].assign(assumptions_met=True, value=30.0, log_value=np.log(30.0))
    tight = literal.assign(term="complexity", equation="Sec. 6", form="tight", value=4.0, log_value=np.log(4.0))
    value = 0.1 * (1 + 1 / literal["negatives"])
    lower = literal.assign(term="lower estimate", form="measured", side="lower", value=value, log_value=np.log(value))
    lower = lower.assign(standard_error=0.01)
    return pd.concat([terms[terms["term"] != "Proposition 5"], literal, tight, lower], ignore_index=True)


def rising_norm(terms: pd.DataFrame) -> pd.DataFrame:
    at = terms["term"] == "B_τ"
    return terms.assign(log_value=terms["log_value"].where(~at, terms["temperature"]))


def nearly_level_norm(terms: pd.DataFrame) -> pd.DataFrame:
    at = terms["term"] == "B_τ"
    return terms.assign(log_value=terms["log_value"].where(~at, -0.01 * terms["temperature"]))


def shrinking_gap(history: pd.DataFrame) -> pd.DataFrame:
    return history.assign(held_out_loss=history["training_loss"] - history["displacement"])


def reversed_quality(runs: pd.DataFrame) -> pd.DataFrame:
    names = ["recall_at_1", "recall_at_10", "knn_accuracy", "mean_average_precision"]
    return runs.assign(**{name: 1 - runs[name] for name in names})


@pytest.mark.parametrize(
    ("claim", "table", "change", "verdict", "words"),
    [
        (temperature.CLAIM, "runs", violate_eq8, Verdict.NOT_SUPPORTED, "leaves the range of Eq 8 in 1"),
        (temperature.CLAIM, "runs", flip("kl"), Verdict.NOT_SUPPORTED, "none of 10 series"),
        (search.CLAIM, "curves", shifted_search, Verdict.NOT_SUPPORTED, "in none of 40 runs"),
        (search.CLAIM, "terms", broken_bound, Verdict.NOT_SUPPORTED, "violated in 40 of 40"),
        (gap.CLAIM, "runs", growing_gap, Verdict.NOT_SUPPORTED, "growing (0 below the interval) at 4 temperatures"),
        (gap.CLAIM, "runs", level_gap, Verdict.SUPPORTED, "for each doubling of k) at 4 temperatures"),
        (averaging.CLAIM, "terms", growing_average, Verdict.NOT_SUPPORTED, "is multiplied by 256 "),
        (
            averaging.CLAIM,
            "history",
            growing_average_along_training,
            Verdict.SUPPORTED,
            "over these k at none of 80 recorded steps",
        ),
        (averaging.CLAIM, "history", broken_along_training, Verdict.SUPPORTED, "exceeds one of them at 1 step"),
        (
            ledger.CLAIM,
            "terms",
            with_complexity,
            Verdict.SUPPORTED,
            "at k = 1: 0.200 (lower estimate by ascent), 4.00 (Sec. 6, tight) and 30.0 (Prop 5, literal); at k = 256: ",
        ),
        (norms.CLAIM, "terms", nearly_level_norm, Verdict.PARTLY, "but by less than 10 %"),
        (norms.CLAIM, "terms", rising_norm, Verdict.NOT_SUPPORTED, "rising in none of 10 series"),
        (ledger.CLAIM, "terms", broken_bound, Verdict.NOT_SUPPORTED, "met: Prop 2 (172 tests in 40 runs; 68 more"),
        (stopping.CLAIM, "history", shrinking_gap, Verdict.NOT_SUPPORTED, "0.5 or more in none of 40 runs"),
        (quality.CLAIM, "runs", reversed_quality, Verdict.NOT_SUPPORTED, "or lower for none of"),
    ],
)
def test_sentences_follow_the_tables(
    tables: Tables,
    claim: Claim,
    table: str,
    change: Callable[[pd.DataFrame], pd.DataFrame],
    verdict: Verdict,
    words: str,
) -> None:
    before, after = answered(claim, tables), answered(claim, changed(tables, table, change))
    assert after.verdict is verdict
    assert words in after.text
    assert words not in before.text


def test_the_complexity_is_drawn_where_it_was_estimated(tables: Tables) -> None:
    assert "complexity" not in {drawing.name for drawing in ledger.CLAIM.drawings(only(tables))}
    estimated = only(changed(tables, "terms", with_complexity))
    (drawing,) = (drawing for drawing in ledger.CLAIM.drawings(estimated) if drawing.name == "complexity")
    lower = drawing.data[drawing.data["term"] == "lower estimate"].set_index(["temperature", "negatives"])
    assert lower["value"].loc[0.2, 1] == pytest.approx(0.2)
    assert lower["standard_error"].loc[0.2, 1] == pytest.approx(0.01 / lower["n"].loc[0.2, 1] ** 0.5)
    bars = drawing.draw(drawing.data).axes[0].containers
    assert [container.get_label() for container in bars] == [
        "lower estimate by ascent",
        "Sec. 6, tight",
        "Prop 5, literal",
    ]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.slug)
def test_a_claim_without_data_says_so(tables: Tables, claim: Claim) -> None:
    empty = replace(tables, **{name: getattr(tables, name).iloc[:0] for name in ("runs", "curves", "terms", "history")})
    requested = specs(positives=("class",), negatives=(4,), temperatures=(0.5,))
    (selection,) = selections(empty, requested)
    answer = claim.answer(selection)
    assert answer.verdict is Verdict.NOT_MEASURED
    assert "Not measured" in answer.text
    assert claim.drawings(selection) == []
    assert all(not table.rows for table in claim.tables(selection))
    claim.limits(selection)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.slug)
def test_no_sentence_prints_nan_or_an_empty_interval(claim: Claim) -> None:
    for seeds in ((0,), (0, 1), (0, 1, 2)):
        text = answered(claim, make_tables(specs(positives=("class",), seeds=seeds))).text
        assert "nan" not in text.lower()
        assert "± 0 " not in text
        assert "±–" not in text


def test_a_claim_of_dcl_speaks_of_its_own_risk() -> None:
    answer = answered(rate.CLAIM, make_tables(specs(positives=("class",), losses=("dcl",))))
    assert "R̃(k) − CE" in answer.text
    assert "and Eq 11 hold in all 400 tests" in answer.text
