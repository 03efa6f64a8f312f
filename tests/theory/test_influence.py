import itertools

import numpy as np
import pytest
import torch

from infonce.theory.finite_k import finite_risks
from infonce.theory.influence import pool_influence
from infonce.theory.kernels import kernel_statistics, standard_error

TAU = 0.4


def unit_rows(count, dimension=4, seed=0):
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def on_the_grid():
    """One anchor, its positive and a pool, whose log weights are whole 16ths: what is looked up is not rounded."""
    sixteenths = np.array([0, 3, 10, 31, 64, 79])
    cosines = 1 - TAU * sixteenths / 16
    pool = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)
    return np.array([[1.0, 0.0]]), pool[2:3], pool, np.exp(-sixteenths / 16)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("loss", ["infonce", "dcl"])
def test_it_is_the_loop_over_all_draws(k, loss):
    anchor, positive, pool, weights = on_the_grid()
    own = weights[2] if loss == "infonce" else 0.0

    def mean(first):
        draws = itertools.product(first, *[weights] * (k - 1))
        return np.mean([np.log(own + sum(draw)) for draw in draws])

    expected = [k * (mean([weight]) - mean(weights)) for weight in weights]
    found = pool_influence(anchor, positive, pool, TAU, [k])[loss]
    np.testing.assert_allclose(found, [expected], rtol=0, atol=1e-6)


def test_it_becomes_that_of_the_cross_entropy():
    anchors, positives, pool = unit_rows(40, seed=1), unit_rows(40, seed=2), unit_rows(90, seed=3)
    exclude = np.where(np.arange(40) % 3, np.arange(40), -1)
    expected = kernel_statistics(anchors, positives, pool, TAU, exclude).pool_influence
    for loss, found in pool_influence(anchors, positives, pool, TAU, [10**6], exclude).items():
        np.testing.assert_allclose(found[0], expected, rtol=0, atol=0.02, err_msg=loss)


def test_it_adds_up_to_nothing_over_the_pool_and_counts_no_member_that_is_left_out():
    anchor, positive, pool, _ = on_the_grid()
    for found in pool_influence(anchor, positive, pool, TAU, [1, 4, 64], [1]).values():
        np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-6)
        assert (found[:, 1] == 0).all()
        assert (np.delete(found, 1, axis=1) != 0).all()


def test_blocks_of_any_size_give_the_same(monkeypatch):
    arguments = unit_rows(11, seed=1), unit_rows(11, seed=2), unit_rows(30, seed=3), TAU, [1, 8]
    whole = pool_influence(*arguments)
    monkeypatch.setattr("infonce.theory.influence.TABLE", 1)
    for loss, found in pool_influence(*arguments).items():
        np.testing.assert_allclose(found, whole[loss], atol=1e-12)


@pytest.mark.parametrize("loss", ["infonce", "dcl"])
def test_standard_errors_are_the_spread_over_resampled_pools(loss):
    ks, anchors, positives = [1, 8, 256], unit_rows(30, seed=4), unit_rows(30, seed=5)
    means, errors = [], []
    for seed in range(200):
        pool = unit_rows(60, seed=100 + seed)
        means.append(finite_risks(anchors, positives, pool, 0.2, ks).risk(loss).mean(axis=1))
        influence = pool_influence(anchors, positives, pool, 0.2, ks)[loss]
        # The anchors are the same in every pool, so nothing of theirs enters.
        errors.append([standard_error(np.zeros(len(anchors)), member) for member in influence])
    spread, claimed = np.std(means, axis=0, ddof=1), np.mean(errors, axis=0)
    # 200 pools know a deviation to 5 %; three of these, and a little for pools of 60 being no infinite ones.
    np.testing.assert_allclose(claimed / spread, 1, atol=0.2)


def test_bad_arguments_are_named():
    rows = unit_rows(3)
    with pytest.raises(ValueError, match="temperature"):
        pool_influence(rows, rows, rows, 0, [1])
    with pytest.raises(ValueError, match="negatives"):
        pool_influence(rows, rows, rows, 1, [0])
    with pytest.raises(ValueError, match="pool"):
        pool_influence(rows, rows, torch.ones(3, 4), 1, [1])
