"""Pools: which images a step embeds, and that negatives are drawn as the theory says."""

import pytest
import torch

from infonce.data.inputs import TupleInputs
from infonce.training import source as source_module
from infonce.training.pools import pool_of_tuples, step_pool
from infonce.training.source import TupleSource


def source_of(prepared, spec, fixed=True):
    return TupleSource(TupleInputs("train", prepared, spec, "cpu", "training"), fixed)


@pytest.mark.parametrize(("rows", "members"), [(3, "few"), (120, "all")])
@pytest.mark.parametrize("positives", ["augment", "class"])
def test_negatives_of_the_tuples_stand_where_the_pool_says(digits, make_spec, rows, members, positives):
    spec = make_spec(positives=positives)
    source = source_of(digits, spec)
    rows = torch.arange(rows)
    pool = pool_of_tuples(source, rows, epoch=0)
    assert (len(pool.places) < 13) == (members == "few")
    images = source.images[pool.places[pool.negatives_of(slice(1, 3))]]
    assert torch.equal(images, source.sampler.negatives(rows[1:3]))


def test_kept_inputs_are_those_made_anew(digits, make_spec, monkeypatch):
    spec, rows = make_spec(), torch.tensor([5, 0, 7])
    kept = source_of(digits, spec)
    monkeypatch.setattr(source_module, "KEPT_BYTES", {})
    fresh = source_of(digits, spec)
    assert kept._kept and not fresh._kept
    for part in ("anchors", "positives", "pool", "negative_places"):
        assert torch.equal(getattr(kept, part)(rows, 0), getattr(fresh, part)(rows, 0)), part


def test_a_pool_of_a_size_never_gives_the_own_image_and_is_uniform(digits, make_spec):
    spec = make_spec(negatives=4000)
    source = source_of(digits, spec, fixed=False)
    rows = torch.arange(120)
    pool = step_pool(source, rows, 0, 10, seed=3, step=5)
    assert len(set(pool.places.tolist())) == 10
    negatives = pool.places[pool.negatives_of(slice(0, 120))]
    anchors = source.anchor_places(rows, 0)
    assert not (negatives == anchors[:, None]).any()
    inside = torch.isin(anchors, pool.places)
    assert inside.sum() == 10
    for row in (int(torch.nonzero(inside)[0]), int(torch.nonzero(~inside)[0])):
        allowed = pool.places[pool.places != anchors[row]]
        counts = (negatives[row, :, None] == allowed).sum(0).double()
        expected = 4000 / len(allowed)
        assert ((counts - expected) ** 2 / expected).sum() < 30  # χ² with at most 9 degrees of freedom
    assert not torch.equal(negatives[0], negatives[1])


def test_a_pool_depends_on_seed_and_step_alone(digits, make_spec):
    source, rows = source_of(digits, make_spec()), torch.arange(8)
    places = [step_pool(source, rows, 0, 30, seed, step).places for seed, step in ((0, 1), (0, 1), (0, 2), (1, 1))]
    assert torch.equal(places[0], places[1])
    assert not torch.equal(places[0], places[2]) and not torch.equal(places[0], places[3])
    one = step_pool(source, rows, 0, 30, 0, 1).negatives_of(slice(2, 3))
    assert torch.equal(one, step_pool(source, rows, 0, 30, 0, 1).negatives_of(slice(0, 8))[2:3])


def test_a_size_as_large_as_the_images_means_all(digits, make_spec):
    source, rows = source_of(digits, make_spec()), torch.arange(120)
    assert torch.equal(step_pool(source, rows, 0, 500, 0, 0).places, step_pool(source, rows, 0, "all", 0, 0).places)
