"""Another number of threads may add up in another order; what comes of it stays within the documented tolerance."""

import pytest

from infonce.training.loop import train

TOLERANCE = 1e-4  # docs/reliability.md


@pytest.mark.parametrize("encoder", ["mlp", "convnet"])
def test_trainings_agree_across_thread_counts(encoder, photographs, make_spec):
    spec = make_spec(
        {"steps": 10, "optimizer": "sgd", "learning_rate": 0.05}, dataset="cifar10", encoder=encoder, tuples=48
    )
    one, *others = (train(spec, photographs, "cpu", threads=threads, progress=False) for threads in (1, 2, 3))
    moved = distance(one.final, one.initial)
    assert moved > 0.01
    for other in others:
        assert distance(one.final, other.final) <= TOLERANCE * moved
        for ours, theirs in zip(one.history, other.history, strict=True):
            for column in ("training_loss", "held_out_loss", "displacement"):
                assert theirs[column] == pytest.approx(ours[column], rel=TOLERANCE, abs=TOLERANCE), column


def distance(weights, others):
    return float(sum(((weights[name] - others[name]).double() ** 2).sum() for name in weights) ** 0.5)
