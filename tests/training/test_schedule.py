"""Batches, learning rates and history steps."""

import pytest
import torch

from infonce.spec.run import TrainingOptions
from infonce.training.schedule import Batches, history_steps, learning_rate


def test_every_batch_has_the_same_size_and_an_epoch_no_tuple_twice():
    batches = Batches(tuples=25, batch_size=8, seed=1)
    assert batches.in_epoch == 3
    for epoch in range(4):
        rows = [batches(3 * epoch + place) for place in range(3)]
        assert [number for _, number in rows] == [epoch] * 3
        joined = torch.cat([part for part, _ in rows])
        assert len(joined) == 24 == len(set(joined.tolist()))


def test_what_an_epoch_leaves_out_changes():
    batches = Batches(tuples=25, batch_size=8, seed=1)
    left_out = [set(range(25)) - set(torch.cat([batches(3 * e + p)[0] for p in range(3)]).tolist()) for e in range(9)]
    assert len(set(map(frozenset, left_out))) > 3


def test_a_batch_depends_on_seed_and_step_alone():
    first, second = Batches(25, 8, seed=1), Batches(25, 8, seed=1)
    later = second(7)
    assert torch.equal(first(7)[0], later[0])
    assert not torch.equal(Batches(25, 8, seed=2)(7)[0], later[0])
    assert not torch.equal(first(0)[0], first(3)[0])


@pytest.mark.parametrize("tuples", [1, 5])
def test_a_batch_is_never_larger_than_the_tuples(tuples):
    batches = Batches(tuples, 256, seed=0)
    assert (batches.size, batches.in_epoch) == (tuples, 1)
    assert sorted(batches(4)[0].tolist()) == list(range(tuples))


def test_learning_rates():
    constant = TrainingOptions(learning_rate=0.5, steps=10)
    assert {learning_rate(constant, step) for step in range(10)} == {0.5}
    cosine = TrainingOptions(learning_rate=0.5, steps=14, schedule="cosine", warmup_steps=4)
    rates = [learning_rate(cosine, step) for step in range(14)]
    assert rates[:4] == [0.125, 0.25, 0.375, 0.5]
    assert rates[4] == 0.5 and rates[9] == pytest.approx(0.25)
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert rates[13] == pytest.approx(0.25 * (1 + torch.cos(torch.tensor(torch.pi * 0.9)).item()))
    all_warm = TrainingOptions(learning_rate=0.5, steps=4, schedule="cosine", warmup_steps=4)
    assert learning_rate(all_warm, 3) == 0.5


def test_history_steps_are_even():
    assert history_steps(TrainingOptions(steps=400, history_points=4)) == {0, 100, 200, 300, 400}
    assert history_steps(TrainingOptions(steps=3, history_points=20)) == {0, 1, 2, 3}
