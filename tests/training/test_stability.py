"""The bounds along training are those of the definition, tuple by tuple, between θ_0 and the parameters of the step."""

import math

import pytest
import torch

from infonce.data.inputs import TupleInputs
from infonce.encoders.encoder import encoder_of
from infonce.theory.bounds import eq18, prop4
from infonce.training import stability
from infonce.training.loop import train
from infonce.training.trainer import Trainer

SETTINGS = [{}, {"loss": "dcl", "positives": "class"}, {"negatives": 40, "tuple_design": "shared", "temperature": 0.05}]


def of_the_definition(spec, digits, initial, final, count):
    """Means over the first `count` tuples, written as loops: change of the loss, Prop 4 and Eq 18."""
    inputs = TupleInputs("train", digits, spec, "cpu", "training")
    encoders = []
    for weights in (initial, final):
        encoder = encoder_of(spec, digits.input_shape)
        encoder.load_state_dict(weights)
        encoders.append(encoder.double().eval())
    rows, changes, averaging, maximising = [], [], [], []
    for row in range(count):
        at = torch.tensor([row])
        points = [
            inputs.anchor_inputs(at),
            inputs.positive_inputs(at),
            inputs.pool_inputs(inputs.sampler.negatives(at)[0]),
        ]
        with torch.no_grad():
            before, after = ([encoder(point.double()) for point in points] for encoder in encoders)
        losses = []
        for anchor, positive, negatives in (before, after):
            terms = [float((anchor[0] @ (b - positive[0])) / spec.temperature) for b in negatives]
            terms += [0.0] if spec.loss == "infonce" else []
            losses.append(math.log(sum(map(math.exp, terms)) / spec.negatives))
        moved = [
            [float((new - old).norm()) for new, old in zip(*pair, strict=True)]
            for pair in zip(after, before, strict=True)
        ]
        tau = spec.temperature
        changes.append(abs(losses[1] - losses[0]))
        averaging.append(float(prop4(moved[0][0], moved[1][0], moved[2], tau, max(1.0, 2 / tau))))
        maximising.append(float(eq18(moved[0][0], moved[1][0], moved[2], tau)))
        rows.append(row)
    return [sum(values) / len(rows) for values in (changes, averaging, maximising)]


@pytest.mark.parametrize("changes", SETTINGS, ids=str)
def test_the_last_row_is_that_of_the_definition(changes, digits, make_spec):
    spec = make_spec(**changes)
    result = train(spec, digits, "cpu", progress=False)
    expected = of_the_definition(spec, digits, result.initial, result.final, spec.tuples)
    last = result.history[-1]
    assert [last[name] for name in ("loss_change", "prop4", "eq18")] == pytest.approx(expected, rel=2e-5)


def test_nothing_has_moved_at_the_start_and_every_later_row_keeps_the_bounds(digits, make_spec):
    first, *later = train(make_spec(), digits, "cpu", progress=False).history
    assert {name: first[name] for name in stability.COLUMNS} == dict.fromkeys(stability.COLUMNS, 0.0)
    assert later
    for row in later:
        assert 0 < row["loss_change"] <= min(row["prop4_tight"], row["eq18"])
        assert row["prop4_tight"] <= row["prop4"]


def test_many_negatives_mean_fewer_tuples(digits, make_spec, monkeypatch):
    monkeypatch.setattr(stability, "NEGATIVES_AT_MOST", 4 * 20)
    spec = make_spec()
    result = train(spec, digits, "cpu", progress=False)
    expected = of_the_definition(spec, digits, result.initial, result.final, 20)
    last = result.history[-1]
    assert [last[name] for name in ("loss_change", "prop4", "eq18")] == pytest.approx(expected, rel=2e-5)


def test_an_embedding_that_is_not_finite_is_no_exception(digits, make_spec):
    trainer = Trainer(make_spec(), digits)
    trainer.place(torch.device("cpu"))
    with torch.no_grad():
        trainer.parameters[0].fill_(math.inf)
    assert all(math.isnan(value) for value in trainer.stability().values())
