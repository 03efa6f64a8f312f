"""What the answers must not claim: too few seeds, too few runs, identities, and numbers picked after the fact."""

import re

import numpy as np
import pandas as pd
import pytest

from infonce.report import Tables, fits
from infonce.report.claims import averaging, gap, ledger, quality, rate, search, stopping, temperature
from infonce.report.claims.claim import Claim, Verdict, judged
from tests.report.model import changed, make_tables, specs
from tests.report.test_claims import answered, only


@pytest.fixture(scope="module")
def tables() -> Tables:
    return make_tables(specs(positives=("class",)))


def with_gap(tables: Tables, of_run) -> Tables:
    """The tables with the gap of each run as `of_run` of its row says."""
    return changed(tables, "runs", lambda runs: runs.assign(generalisation_gap=runs.apply(of_run, axis=1)))


def uncertain(run: pd.Series) -> float:
    """Nearly the same at every k in the mean, by as much up in one seed as down in the other."""
    return 1 + 0.1 * np.log2(run["negatives"] + 1) * (1 if run["seed"] else -1)


def falling(run: pd.Series) -> float:
    return 1 / run["negatives"] + 0.001 * run["seed"] * run["negatives"] ** -0.5


def growing_at_the_lowest(run: pd.Series) -> float:
    return run["negatives"] * (1 + 0.001 * run["seed"]) if run["temperature"] == 0.1 else 1.0


@pytest.mark.parametrize(
    ("of_run", "verdict", "words"),
    [
        (uncertain, Verdict.UNDECIDED, "undecided (the interval allows both) at 4 temperatures"),
        (falling, Verdict.SUPPORTED, "falling (0 above the interval) at 4 temperatures"),
        (falling, Verdict.SUPPORTED, "The gap does not grow with k, and falls at τ = 0.1, 0.2, 0.5 and 1: "),
        (
            lambda run: -run["negatives"] - 0.01 * run["seed"],
            Verdict.SUPPORTED,
            "The gap does not grow with k, and falls at τ = 0.1, 0.2, 0.5 and 1: ",
        ),
        (
            lambda run: (run["temperature"] - 0.15) * -run["negatives"] * (1 + 0.001 * run["seed"]),
            Verdict.PARTLY,
            "The gap does not grow with k at some temperatures, and falls at τ = 0.2, 0.5 and 1: ",
        ),
        (lambda run: 1.0 + 1e-9 * run["seed"] * run["negatives"], Verdict.SUPPORTED, "The gap levels off as k grows: "),
        (
            lambda run: falling(run) if run["temperature"] == 1 else uncertain(run),
            Verdict.UNDECIDED,
            "over the k of this grid, though it falls at τ = 1: ",
        ),
        (
            growing_at_the_lowest,
            Verdict.PARTLY,
            "at 3 temperatures and growing (0 below the interval) at 1 temperature",
        ),
    ],
)
def test_the_whole_interval_of_the_gap_decides(tables: Tables, of_run, verdict: Verdict, words: str) -> None:
    answer = answered(gap.CLAIM, with_gap(tables, of_run))
    assert answer.verdict is verdict
    assert words in answer.text


@pytest.mark.parametrize("claim", [gap.CLAIM, averaging.CLAIM], ids=lambda claim: claim.slug)
def test_one_seed_decides_nothing(claim: Claim) -> None:
    answer = answered(claim, make_tables(specs(positives=("class",), seeds=(0,))))
    assert answer.verdict is Verdict.UNDECIDED


def test_a_level_gap_is_level_by_its_change_for_each_doubling() -> None:
    end = fits.Mean(1.0, 0.5, 3)
    change = fits.Mean(0.12, 0.02, 3)  # at most 0.14 of a gap of 1
    assert gap._state(change, end, doublings=4) == "level"
    assert gap._state(change, end, doublings=2) == "growing"


def test_averaging_needs_an_interval_that_leaves_out_one(tables: Tables) -> None:
    def apart(terms: pd.DataFrame) -> pd.DataFrame:
        at = terms["term"] == "maximum over negatives"
        growth = np.log(terms["negatives"]) * np.where(terms["seed"] == 0, 0.001, 1.0)
        return terms.assign(log_value=terms["log_value"].where(~at, growth))

    answer = answered(averaging.CLAIM, changed(tables, "terms", apart))
    assert "by less in all 8 series" in answer.text
    assert answer.verdict is Verdict.UNDECIDED
    assert "yet no interval over seeds leaves out 1" in answer.sentence


def with_slope_in_n(seeds: tuple[int, ...], of_run) -> Tables:
    grid = specs(positives=("class",), negatives=(4, 64), temperatures=(0.2, 1.0), tuples=(256, 512, 1024), seeds=seeds)
    return with_gap(make_tables(grid), of_run)


def test_a_slope_in_n_of_one_seed_is_not_compared() -> None:
    one = answered(gap.CLAIM, with_slope_in_n((0,), lambda run: run["tuples"] ** -0.5)).text
    assert "its slope on log axes is −0.500 (mean over τ; 1 seed, no interval)." in one
    two = answered(gap.CLAIM, with_slope_in_n((0, 1), lambda run: run["tuples"] ** (-0.5 - 0.01 * run["seed"]))).text
    assert "95 % interval over 2 seeds), compatible with −1/2." in two


def test_slopes_in_n_are_compared_over_the_same_temperatures() -> None:
    tables = with_slope_in_n(
        (0, 1), lambda run: run["tuples"] ** (-0.5 - 0.01 * run["seed"] + 0.2 * (run["temperature"] == 1))
    )
    gaps = changed(tables, "runs", lambda runs: runs[(runs["seed"] == 0) | (runs["temperature"] != 1)])
    text = answered(gap.CLAIM, gaps).text
    assert re.search("its slope on log axes is −0.5[01] ± 0.06 ", text)
    assert "95 % interval over 2 seeds, without 1 cell that a seed lacks" in text


def test_a_change_in_d_needs_a_seed_with_both() -> None:
    both = specs(positives=("class",), dimensions=(16, 32), negatives=(4, 16, 64))
    assert "From d = 16 to d = 32 it changes by" in answered(gap.CLAIM, make_tables(both)).text
    apart = [spec for spec in both if (spec["dimension"] == 16) == (spec["seed"] == 0)]
    assert (
        "no temperature and seed has both the smallest and the largest d"
        in answered(gap.CLAIM, make_tables(apart)).text
    )


def test_norms_and_complexities_are_compared_over_the_same_runs(tables: Tables) -> None:
    """Both are ten times as large at τ = 0.1, of which the largest k has no run."""

    def uneven(terms: pd.DataFrame) -> pd.DataFrame:
        low = terms["temperature"] == 0.1
        log_value = terms["log_value"].where(terms["term"] != "B_τ", np.log(np.where(low, 10.0, 1.0)))
        estimate = terms[terms["term"] == "Proposition 5"].assign(form="measured", term="lower estimate", side="lower")
        estimate = estimate.assign(value=np.where(estimate["temperature"] == 0.1, 10.0, 1.0), log_value=0.0)
        terms = pd.concat([terms.assign(log_value=log_value), estimate], ignore_index=True)
        return terms[(terms["temperature"] != 0.1) | (terms["negatives"] != 256)]

    thinned = changed(tables, "terms", uneven)
    assert "B_τ is multiplied by 1.00 " in answered(averaging.CLAIM, thinned).text
    text = answered(ledger.CLAIM, thinned).text
    assert "at k = 1: 1.00 (lower estimate by ascent)" in text
    assert "at k = 256: 1.00 (lower estimate by ascent)" in text


def test_gaps_not_above_zero_have_no_slope_in_n() -> None:
    def negative_at_one(run: pd.Series) -> float:
        return run["tuples"] ** (-0.5 - 0.01 * run["seed"]) * (-1 if run["temperature"] == 1.0 else 1)

    text = answered(gap.CLAIM, with_slope_in_n((0, 1), negative_at_one)).text
    assert "2 series with gaps not above 0 left out" in text
    assert "slope on log axes is −0.50" in text


def test_disjoint_tuples_are_not_said_to_share_images(tables: Tables) -> None:
    def disjoint(runs: pd.DataFrame) -> pd.DataFrame:
        return runs.assign(tuples_effective=runs["tuples"])

    sharing = "Tuples share images"
    assert any(sharing in limit for limit in gap.CLAIM.limits(only(tables)))
    assert not any(sharing in limit for limit in gap.CLAIM.limits(only(changed(tables, "runs", disjoint))))


def test_a_search_that_never_holds_a_positive_supports_only_in_part(tables: Tables) -> None:
    assert answered(search.CLAIM, tables).verdict is Verdict.SUPPORTED
    answer = answered(search.CLAIM, changed(tables, "curves", lambda curves: curves.assign(empty_support=1.0)))
    assert answer.verdict is Verdict.PARTLY
    assert "M itself stands in throughout" in answer.text


def test_a_search_at_one_k_shows_no_approach(tables: Tables) -> None:
    one = changed(tables, "curves", lambda curves: curves[curves["risk_negatives"] == 64])
    answer = answered(search.CLAIM, one)
    assert answer.verdict is Verdict.NOT_MEASURED
    assert "two values of k" in answer.text


def test_runs_with_risks_at_one_k_neither_approach_nor_fail_to(tables: Tables) -> None:
    """Evaluated at k = 64 and at its own k, a run trained at 64 has one value."""
    chosen = changed(
        tables, "curves", lambda curves: curves[(curves["risk_negatives"] == 64) | curves["own_negatives"]]
    )
    sentence = answered(search.CLAIM, chosen).sentence
    assert "of 32 runs" in sentence
    assert "nats at k = 1 to 64, " in sentence
    assert " at k = 64 to 256)" in sentence


def test_temperatures_are_compared_over_the_same_k(tables: Tables) -> None:
    def by_k(runs: pd.DataFrame) -> pd.DataFrame:
        kl = np.log2(runs["negatives"]) - runs["temperature"]
        runs = runs.assign(kl=kl + 1e-3 * runs["seed"], kl_ceiling=20.0)
        return runs[(runs["temperature"] != 0.1) | (runs["negatives"] != 1)]

    sentence = answered(temperature.CLAIM, changed(tables, "runs", by_k)).sentence
    assert "from 4.001 ± 0.006 to 4.901 ± 0.006 nats" in sentence  # log2 of 4, 16, 64 and 256: 5 in the mean


def test_temperatures_of_different_k_order_nothing(tables: Tables) -> None:
    """No series of one k and one seed has two temperatures, however the KL differs between them."""
    apart = changed(
        tables, "runs", lambda runs: runs[(runs["temperature"] == 1) == (runs["negatives"] == runs["negatives"].min())]
    )
    apart = changed(apart, "runs", lambda runs: runs[runs["temperature"].isin([0.1, 1])])
    answer = answered(temperature.CLAIM, apart)
    assert answer.verdict is Verdict.NOT_MEASURED
    assert "no k and seed has two temperatures" in answer.text


def test_nothing_is_judged_by_no_case() -> None:
    with pytest.raises(ValueError, match="total: expected at least one case"):
        judged(0, 0)


def test_bounds_that_cannot_fail_are_no_tests(tables: Tables) -> None:
    vacuous = changed(tables, "terms", lambda terms: terms.assign(vacuous=True, clipped=True))
    answer = answered(ledger.CLAIM, vacuous)
    assert answer.verdict is Verdict.NOT_MEASURED
    assert "none of the 240 that are held against a measured quantity can fail" in answer.text
    violated = changed(vacuous, "terms", lambda terms: terms.assign(holds=False))
    assert answered(ledger.CLAIM, violated).verdict is not Verdict.NOT_MEASURED
    clipped = changed(tables, "terms", lambda terms: terms.assign(clipped=terms["equation"] == "Eq 18"))
    text = answered(ledger.CLAIM, clipped).text
    assert "(114 tests in 40 runs; 126 more are no tests, as they are vacuous or clipped" in text
    (table,) = ledger.CLAIM.tables(only(clipped))
    assert sum(row["tested"] for row in table.rows) == 114
    assert sum(row["clipped"] for row in table.rows) == 40


def test_points_that_no_risk_can_violate_are_no_tests(tables: Tables) -> None:
    def wide(curves: pd.DataFrame) -> pd.DataFrame:
        limit = 2 / curves["temperature"] + np.log1p(1 / curves["risk_negatives"])
        first = curves["temperature"] == 1  # 100 points
        return curves.assign(
            envelope_lower=curves["envelope_lower"].where(~first, -limit),
            envelope_upper=curves["envelope_upper"].where(~first, limit),
        )

    text = answered(rate.CLAIM, changed(tables, "curves", wide)).text
    assert "bracket and Proposition 1 hold in all 367 and all 300 tests (run and k)" in text
    assert "Proposition 1 at 100 points, which are no tests" in text


def test_a_ceiling_above_what_the_pool_allows_is_told(tables: Tables) -> None:
    """K*(0.1) = 20 and K*(0.2) = 10 nats, where a pool of 499 images allows 6.2."""
    assert "in 20 of 40 runs no search could exceed it" in answered(temperature.CLAIM, tables).text
    large = changed(tables, "runs", lambda runs: runs.assign(pool_size=10**9))
    assert "no search could exceed it" not in answered(temperature.CLAIM, large).text


def test_the_bracket_is_held_to_what_the_differences_are_exact_to(tables: Tables) -> None:
    """As for a collapsed encoder, where both ends of the bracket meet at the difference."""

    def outside_by(share: float):
        def change(curves: pd.DataFrame) -> pd.DataFrame:
            ends = curves["difference"] + share * curves["difference_accuracy"]
            return curves.assign(bracket_lower=ends, bracket_upper=ends)

        return change

    assert "violated" not in answered(rate.CLAIM, changed(tables, "curves", outside_by(0.9))).text
    assert "violated" in answered(rate.CLAIM, changed(tables, "curves", outside_by(1.1))).text


def test_an_identity_is_no_measurement(tables: Tables) -> None:
    def identical(curves: pd.DataFrame) -> pd.DataFrame:
        risk = curves[curves["risk_loss"] == "dcl"].set_index(["run", "risk_negatives"])["risk"]
        keys = pd.MultiIndex.from_frame(curves[["run", "risk_negatives"]])
        return curves.assign(finite_cross_entropy=risk.reindex(keys).to_numpy())

    answer = answered(search.CLAIM, changed(tables, "curves", identical))
    assert "is an identity and no measurement" in answer.text


def test_a_weak_correlation_is_no_support(tables: Tables) -> None:
    def shuffled(runs: pd.DataFrame) -> pd.DataFrame:
        order = np.random.default_rng(3).permutation(len(runs))
        names = ["recall_at_1", "recall_at_10", "knn_accuracy", "mean_average_precision"]
        return runs.assign(**{name: runs[name].to_numpy()[order] for name in names})

    assert answered(quality.CLAIM, tables).verdict is Verdict.SUPPORTED
    assert answered(quality.CLAIM, changed(tables, "runs", shuffled)).verdict is Verdict.NOT_SUPPORTED


def test_few_runs_have_no_correlation() -> None:
    answer = answered(quality.CLAIM, make_tables(specs(positives=("class",), negatives=(4, 64))))
    assert answer.verdict is Verdict.NOT_MEASURED
    assert "of 8 cells is" in answer.text


def test_what_stopping_early_gains_is_told_by_the_held_out_loss(tables: Tables) -> None:
    def best_in_the_middle(history: pd.DataFrame) -> pd.DataFrame:
        return history.assign(held_out_loss=history["training_loss"] + ((history["step"] - 200) / 100) ** 2)

    falling = changed(tables, "history", lambda history: history.assign(held_out_loss=-history["displacement"]))
    assert "lowest at the last step in all 40 runs" in answered(stopping.CLAIM, falling).text
    earlier = answered(stopping.CLAIM, changed(tables, "history", best_in_the_middle)).text
    assert "lowest before the last step in all 40 runs" in earlier


def test_the_gain_of_tight_forms_is_over_upper_bounds_of_one_theorem(tables: Tables) -> None:
    """Neither a lower bound nor the rival Eq 18 has a tight form to be compared with."""

    def with_others(terms: pd.DataFrame) -> pd.DataFrame:
        rival = terms["equation"] == "Eq 18"
        lower = terms[terms["term"] == "smallest density"].assign(form="tight", log_value=-1e3)
        raised = terms.assign(log_value=terms["log_value"].where(~rival, 500.0))
        return pd.concat([raised, lower, lower, lower], ignore_index=True)

    def gain(tables: Tables) -> str:
        return answered(ledger.CLAIM, tables).text.partition("of the same quantity by a median factor of ")[2]

    assert gain(tables)
    assert gain(changed(tables, "terms", with_others)) == gain(tables)


def test_remarks_that_differ_in_numbers_give_their_range(tables: Tables) -> None:
    def noted(terms: pd.DataFrame) -> pd.DataFrame:
        at = terms["term"].isin(["Proposition 3", "sample term"])
        notes = terms["negatives"].map(lambda k: f"over {1297 // (k + 2)} tuples, 2^(j-6)")
        return terms.assign(note=terms["note"].where(~at, notes))

    told = ledger.CLAIM.limits(only(changed(tables, "terms", noted)))
    assert "Proposition 3 (literal) and sample term (tight): over 5 to 432 tuples, 2^(j-6)." in told


@pytest.mark.parametrize("claim", [rate.CLAIM, temperature.CLAIM, gap.CLAIM, averaging.CLAIM], ids=lambda c: c.slug)
def test_an_interval_names_its_seeds(tables: Tables, claim: Claim) -> None:
    three = make_tables(specs(positives=("class",), seeds=(0, 1, 2)))
    assert "2 seeds" in answered(claim, tables).sentence
    assert "3 seeds" in answered(claim, three).sentence
