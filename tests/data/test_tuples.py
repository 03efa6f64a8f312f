import pytest
import torch
from scipy import stats

from infonce.data.tuples import TupleSampler
from infonce.errors import DataError

LABELS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 1] * 5)
DESIGNS = [("augment", "shared"), ("class", "shared"), ("augment", "disjoint"), ("class", "disjoint")]


def sampler(positives="augment", design="shared", labels=LABELS, tuples=8, negatives=3, seed=1):
    return TupleSampler(labels, positives, tuples, negatives, design, seed)


def uniform_p_value(draws: torch.Tensor, categories: int) -> float:
    return stats.chisquare(torch.bincount(draws.flatten(), minlength=categories).numpy()).pvalue


@pytest.mark.parametrize(("positives", "design"), DESIGNS)
def test_shapes_ranges_and_the_anchor_is_never_its_negative(positives, design):
    made = sampler(positives, design)
    for epoch in range(50):
        rows = torch.arange(8)
        anchors, negatives = made.anchors(rows, epoch), made.negatives(rows, epoch)
        assert anchors.shape == (8,)
        assert negatives.shape == (8, 3)
        assert not (negatives == anchors[:, None]).any()
        assert negatives.min() >= 0
        assert negatives.max() < len(LABELS)


@pytest.mark.parametrize(("positives", "design"), DESIGNS)
def test_a_row_does_not_depend_on_its_batch_and_repeats(positives, design):
    made, again = sampler(positives, design), sampler(positives, design)
    rows = torch.tensor([5, 0, 7])
    for name in ("anchors", "positives", "negatives"):
        whole = getattr(made, name)(torch.arange(8), 4)
        assert torch.equal(getattr(again, name)(rows, 4), whole[rows])
        assert torch.equal(getattr(made, name)(rows[1:2], 4), whole[:1])
        assert not torch.equal(getattr(made, name)(torch.arange(8), 5), whole)
        assert not torch.equal(getattr(sampler(positives, design, seed=2), name)(torch.arange(8), 4), whole)


def test_anchors_are_drawn_without_replacement():
    made = sampler(tuples=len(LABELS))
    for epoch in range(3):
        anchors = made.anchors(torch.arange(len(LABELS)), epoch)
        assert torch.equal(anchors.sort().values, torch.arange(len(LABELS)))


def test_every_image_is_an_anchor_equally_often():
    made = sampler(tuples=4)
    first = torch.stack([made.anchors(torch.arange(4), epoch) for epoch in range(1500)])
    assert uniform_p_value(first[:, 0], len(LABELS)) > 1e-4
    assert uniform_p_value(first[:, 3], len(LABELS)) > 1e-4


@pytest.mark.parametrize("positives", ["augment", "class"])
def test_negatives_are_uniform_over_the_other_images_and_independent(positives):
    made = sampler(positives, tuples=1, negatives=60_000)
    row = torch.tensor([0])
    negatives, own = made.negatives(row)[0], int(made.anchors(row)[0])
    others = negatives - (negatives > own).long()
    assert uniform_p_value(others, len(LABELS) - 1) > 1e-4
    pairs = others[0::2] * (len(LABELS) - 1) + others[1::2]
    assert uniform_p_value(pairs, (len(LABELS) - 1) ** 2) > 1e-4


def test_a_smaller_k_gives_the_first_of_a_larger_ones_negatives():
    rows = torch.arange(8)
    assert torch.equal(sampler(negatives=3).negatives(rows), sampler(negatives=90).negatives(rows)[:, :3])


def test_class_positives_are_uniform_over_the_other_images_of_the_class():
    made = sampler("class", tuples=1)
    row = torch.tensor([0])
    others = torch.nonzero(LABELS == 0).flatten()
    ranks = []
    for epoch in range(6000):
        anchor, positive = int(made.anchors(row, epoch)), int(made.positives(row, epoch))
        assert anchor != positive
        assert LABELS[anchor] == LABELS[positive]
        if LABELS[anchor] == 0:
            others_of_anchor = others[others != anchor]
            ranks.append(int((others_of_anchor == positive).nonzero()))
    assert len(ranks) > 2000
    assert uniform_p_value(torch.tensor(ranks), len(others) - 1) > 1e-4


def test_augment_positives_are_the_anchors_own_image():
    made = sampler("augment")
    rows = torch.arange(8)
    assert torch.equal(made.positives(rows, 2), made.anchors(rows, 2))


def test_unlabelled_images_take_no_part_in_class_tuples_and_full_part_in_the_others():
    labels = LABELS.clone()
    labels[::2] = -1
    made = sampler("class", labels=labels, tuples=30, negatives=40)
    rows = torch.arange(30)
    for images in (made.anchors(rows), made.positives(rows), made.negatives(rows)):
        assert (labels[images] >= 0).all()
    assert made.effective == 30 // 42
    views = sampler("augment", labels=labels, tuples=60, negatives=40)
    assert torch.equal(views.anchors(torch.arange(60)).sort().values, torch.arange(60))


@pytest.mark.parametrize("positives", ["augment", "class"])
def test_disjoint_tuples_share_no_image(positives):
    made = sampler(positives, "disjoint", tuples=8, negatives=4)
    rows = torch.arange(8)
    for epoch in range(20):
        parts = [made.anchors(rows, epoch), made.negatives(rows, epoch).flatten()]
        if positives == "class":
            parts.append(made.positives(rows, epoch))
            assert torch.equal(LABELS[parts[0]], LABELS[parts[2]])
        used = torch.cat(parts)
        assert len(used.unique()) == len(used)
    assert made.effective == 8


def test_disjoint_negatives_and_anchors_have_the_classes_of_the_data():
    made = sampler("class", "disjoint", tuples=6, negatives=4)
    rows = torch.arange(6)
    counts = torch.zeros(3, dtype=torch.int64)
    for epoch in range(600):
        counts += torch.bincount(LABELS[made.negatives(rows, epoch)].flatten(), minlength=3)
    share = torch.bincount(LABELS) / len(LABELS)
    # Draws of an epoch are without replacement, so the binomial error is an upper limit.
    error = (share * (1 - share) / counts.sum()) ** 0.5
    assert ((counts / counts.sum() - share).abs() < 5 * error).all()


def test_what_a_strict_reading_allows_is_told():
    assert sampler(tuples=60, negatives=4).effective == 10
    assert sampler(tuples=60, negatives=59).negatives_exceed_pool is False
    assert sampler(tuples=60, negatives=60).negatives_exceed_pool is True
    assert sampler(tuples=2, negatives=500).negatives(torch.arange(2)).shape == (2, 500)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tuples": 61}, "61 shared tuples.*there are 60; the largest number of tuples is 60"),
        (
            {"design": "disjoint", "tuples": 16},
            "need 64 images, there are 60; the largest number of tuples is 15 with 3 negatives, "
            "the largest number of negatives 2 with 16 tuples",
        ),
        ({"design": "disjoint", "tuples": 13, "positives": "class"}, "need 65 images.*tuples is 12"),
        (
            {"design": "disjoint", "tuples": 12, "positives": "class"},
            "too few images of class.*tuples for this seed is",
        ),
        ({"design": "disjoint", "tuples": 60}, r"largest number of negatives 0 with 60 tuples|\(none\)"),
        ({"positives": "class", "labels": torch.tensor([0, 0, 1]), "tuples": 2}, "class 1 has a single image"),
        ({"positives": "class", "labels": torch.full((5,), -1)}, "0 images can be anchors"),
        ({"tuples": 0}, "0 tuples"),
    ],
)
def test_what_the_images_cannot_give_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        sampler(**arguments)


def test_the_largest_disjoint_number_that_is_named_works():
    with pytest.raises(DataError) as refusal:
        sampler("class", "disjoint", tuples=12)
    largest = int(str(refusal.value).split()[-1])
    assert 1 <= largest < 12
    sampler("class", "disjoint", tuples=largest)
    with pytest.raises(DataError):
        sampler("class", "disjoint", tuples=largest + 1)
