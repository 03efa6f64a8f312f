import math

import numpy as np
import pytest
import torch

from infonce.evaluation.displacement import displacement
from infonce.evaluation.embedding import EmbeddedTuples, embed_tuples
from infonce.evaluation.risks import measure_held_out, tuple_losses
from infonce.evaluation.rows import run_columns
from infonce.theory.finite_k import finite_risks
from infonce.theory.kernels import ANCHOR_BLOCK


@torch.no_grad()
def embed_one(encoder, make_inputs, index):
    return encoder(make_inputs(torch.tensor([index])).double())[0]


@pytest.mark.parametrize("loss", ["infonce", "dcl"])
def test_the_empirical_risk_against_a_naive_loop(encoder, training, spec, loss):
    rows = torch.arange(spec.tuples)
    found = tuple_losses(embed_tuples(encoder, training, rows), training, loss, spec.temperature)
    for row in range(spec.tuples):
        anchor = embed_one(encoder, training.anchor_inputs, row)
        positive = embed_one(encoder, training.positive_inputs, row)
        terms = [1.0] if loss == "infonce" else []
        for image in training.sampler.negatives(torch.tensor([row]))[0].tolist():
            negative = embed_one(encoder, training.pool_inputs, image)
            terms.append(math.exp(float(anchor @ negative - anchor @ positive) / spec.temperature))
        assert found[row] == pytest.approx(math.log(sum(terms) / spec.negatives), abs=1e-12)


def test_the_own_image_is_left_out_of_the_held_out_pool(embedded, held_out, spec):
    measured = measure_held_out(embedded, spec.temperature, [1, 7])
    for row in range(held_out.sampler.tuples):
        own = int(held_out.sampler.anchors(torch.tensor([row])))
        others = [image for image in range(len(held_out.labels)) if image != own]
        weights = torch.exp(embedded.anchors[row] @ embedded.pool[others].T / spec.temperature)
        positive = math.exp(float(embedded.anchors[row] @ embedded.positives[row]) / spec.temperature)
        expected = math.log(float(weights.mean()) / positive)
        assert measured.kernel.cross_entropy[row] == pytest.approx(expected, abs=1e-12)
        # k = 1: the expectation over one negative is a plain mean over the pool.
        one = torch.log1p(weights / positive).mean()
        assert measured.risks.risk("infonce")[0, row] == pytest.approx(float(one), abs=1e-9)


def test_the_standard_error_of_a_risk_counts_what_each_image_does_as_anchor_and_as_negative(embedded, spec):
    """At k = 1 in closed form: the loss is log(1 + e^{(s(a,b) - s(a,p))/τ}), so that its influences are means of it."""
    one = spec.model_copy(update={"negatives": 1})
    columns = run_columns(one, measure_held_out(embedded, spec.temperature, [1]), np.zeros(2))
    similarities = embedded.anchors @ embedded.pool.T - (embedded.anchors * embedded.positives).sum(1, keepdim=True)
    losses = torch.log1p(torch.exp(similarities / spec.temperature))
    losses[torch.arange(len(losses)), embedded.own] = torch.nan
    count = len(losses)
    of_pair = losses - losses.nanmean(dim=1, keepdim=True)
    as_negative = of_pair.nansum(dim=0) / (count - 1) / count
    as_anchor = (losses.nanmean(dim=1) - losses.nanmean()) / math.sqrt(count * (count - 1))
    expected = float((as_negative[embedded.own] + as_anchor).norm())
    # The logarithms of the similarities' weights are rounded to 16ths.
    assert columns["held_out_risk_se"] == pytest.approx(expected, rel=0.01)


def test_every_held_out_image_is_an_anchor_once(held_out):
    anchors = held_out.sampler.anchors(torch.arange(held_out.sampler.tuples))
    assert sorted(anchors.tolist()) == list(range(len(held_out.labels)))


def test_displacement_of_an_encoder_from_itself_and_against_a_naive_loop(encoder, training, spec):
    import copy

    other = copy.deepcopy(encoder)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter *= 1 + 0.3 * torch.rand(parameter.shape, generator=torch.Generator().manual_seed(5))
    rows = torch.arange(spec.tuples)
    before, after = embed_tuples(encoder, training, rows), embed_tuples(other, training, rows)
    nothing = displacement(before, before, training)
    assert not nothing.anchors.any() and not nothing.positives.any() and not nothing.negatives.any()

    moved = displacement(before, after, training)
    assert moved.negatives.shape == (spec.tuples, spec.negatives)
    for row in (0, 17, spec.tuples - 1):
        for place, image in enumerate(training.sampler.negatives(torch.tensor([row]))[0].tolist()):
            difference = embed_one(encoder, training.pool_inputs, image) - embed_one(other, training.pool_inputs, image)
            assert moved.negatives[row, place].item() == pytest.approx(float(difference.norm()), abs=1e-12)
    assert np.all(moved.anchors.numpy() > 0)


def test_risks_in_blocks_are_those_of_all_anchors_at_once():
    """Blocks serve the progress bar; they change no bit."""
    generator = torch.Generator().manual_seed(5)
    count = 2 * ANCHOR_BLOCK + 3
    anchors, positives, pool = (
        torch.nn.functional.normalize(torch.randn(rows, 8, dtype=torch.float64, generator=generator), dim=1)
        for rows in (count, count, 300)
    )
    own = torch.randint(-1, 300, (count,), generator=generator)
    embedded = EmbeddedTuples(torch.arange(count), anchors, positives, pool, torch.arange(300), own)
    found = measure_held_out(embedded, 0.3, [1, 8]).risks
    expected = finite_risks(anchors, positives, pool, 0.3, [1, 8], exclude=own)
    assert found.negatives == expected.negatives
    for name in ("cross_entropy", "infonce_difference", "dcl_difference"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
