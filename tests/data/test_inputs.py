import pytest
import torch

from infonce.data.inputs import TupleInputs
from infonce.errors import DataError
from infonce.spec.run import ViewOptions

ROWS = torch.arange(40)


@pytest.fixture
def make_inputs(digits, make_spec):
    def make(split="train", purpose="training", **changes):
        return TupleInputs(split, digits, make_spec(**changes), "cpu", purpose)

    return make


def normalised(prepared, images):
    return (torch.as_tensor(images).float() / 255 - prepared.mean[0]) / prepared.std[0]


def test_class_inputs_are_the_images_of_the_tuples(make_inputs, digits):
    inputs = make_inputs(positives="class")
    for images, given in [
        (inputs.sampler.anchors(ROWS, 2), inputs.anchor_inputs(ROWS, 2)),
        (inputs.sampler.positives(ROWS, 2), inputs.positive_inputs(ROWS, 2)),
        (ROWS, inputs.pool_inputs(ROWS, 2)),
    ]:
        assert given.dtype == torch.float32
        torch.testing.assert_close(given, normalised(digits, digits.train.images[images]), rtol=1e-6, atol=1e-6)


def test_normalised_training_images_have_mean_zero_and_deviation_one(make_inputs):
    pool = make_inputs(positives="class").pool_inputs(torch.arange(1297))
    assert float(pool.mean()) == pytest.approx(0, abs=1e-5)
    assert float(pool.std(correction=0)) == pytest.approx(1, abs=1e-5)


def test_augment_gives_independent_views_of_one_image(make_inputs, digits):
    inputs = make_inputs()
    anchors, positives = inputs.anchor_inputs(ROWS), inputs.positive_inputs(ROWS)
    pool = inputs.pool_inputs(inputs.sampler.anchors(ROWS))
    for first, second in [(anchors, positives), (anchors, pool), (positives, pool)]:
        assert (first - second).flatten(1).norm(dim=1).min() > 0.5


@pytest.mark.parametrize("positives", ["augment", "class"])
def test_inputs_repeat_do_not_depend_on_the_batch_and_change_by_epoch(make_inputs, positives):
    inputs, again = make_inputs(positives=positives), make_inputs(positives=positives)
    few = torch.tensor([31, 4])
    for name in ("anchor_inputs", "positive_inputs", "pool_inputs"):
        whole = getattr(inputs, name)(ROWS, 3)
        assert torch.equal(getattr(again, name)(ROWS, 3), whole)
        torch.testing.assert_close(getattr(again, name)(few, 3), whole[few], rtol=0, atol=5e-6)
        if not (positives == "class" and name == "pool_inputs"):
            assert not torch.isclose(getattr(inputs, name)(ROWS, 4), whole).flatten(1).all(dim=1).any()


def test_anchor_and_positive_show_the_anchors_own_image(make_inputs, digits):
    inputs = make_inputs(view_options=ViewOptions(strength=0.2))
    own = normalised(digits, digits.train.images[inputs.sampler.anchors(ROWS)]).flatten(1)
    for views in (inputs.anchor_inputs(ROWS), inputs.positive_inputs(ROWS)):
        assert torch.equal(torch.cdist(views.flatten(1), own).argmin(dim=1), ROWS)


def test_seed_and_purpose_name_the_streams(make_inputs):
    base = make_inputs().anchor_inputs(ROWS)
    for other in (make_inputs(seed=8), make_inputs(purpose="evaluation")):
        assert not torch.equal(other.sampler.anchors(ROWS), make_inputs().sampler.anchors(ROWS))
        assert not torch.equal(other.anchor_inputs(ROWS), base)


def test_temperature_loss_and_encoder_leave_the_tuples_alone(make_inputs):
    base = make_inputs()
    other = make_inputs(temperature=1.0, loss="dcl", encoder="linear", negatives=99)
    assert torch.equal(base.anchor_inputs(ROWS), other.anchor_inputs(ROWS))
    assert torch.equal(base.sampler.negatives(ROWS), other.sampler.negatives(ROWS)[:, :16])


def test_held_out_images_are_anchors_once_each(make_inputs, digits):
    for positives in ("augment", "class"):
        inputs = make_inputs("held_out", "evaluation", positives=positives, tuple_design="disjoint", tuples=2)
        assert inputs.sampler.tuples == 500
        anchors = inputs.sampler.anchors(torch.arange(500))
        assert torch.equal(anchors.sort().values, torch.arange(500))
        assert torch.equal(inputs.labels, torch.from_numpy(digits.held_out.labels))


def test_view_options_reach_the_views(make_inputs, digits):
    inputs = make_inputs(view_options=ViewOptions(strength=0.0))
    own = normalised(digits, digits.train.images[inputs.sampler.anchors(ROWS)])
    torch.testing.assert_close(inputs.positive_inputs(ROWS), own, rtol=1e-5, atol=1e-5)


def test_too_many_tuples_are_refused(make_inputs):
    with pytest.raises(DataError, match="largest number of tuples is 1297"):
        make_inputs(tuples=1298)


def test_sphere_positives_lie_around_the_anchors_direction(sphere, sphere_options, make_spec):
    spec = make_spec(dataset="sphere", positives="sphere", dataset_options=sphere_options, tuples=4000)
    inputs = TupleInputs("train", sphere, spec, "cpu", "training")
    rows = torch.arange(4000)
    anchors, positives = inputs.anchor_inputs(rows), inputs.positive_inputs(rows)
    assert positives.dtype == torch.float32
    assert torch.equal(anchors, torch.from_numpy(sphere.train.images)[inputs.sampler.anchors(rows)])
    assert torch.equal(inputs.pool_inputs(rows), torch.from_numpy(sphere.train.images))
    cosine = torch.nn.functional.cosine_similarity(anchors, positives)
    # I_{5/2}(8)/I_{3/2}(8), from the closed forms of half-integer Bessel functions.
    assert float(cosine.mean()) == pytest.approx(0.7679, abs=0.012)
    logs = torch.stack([anchors.norm(dim=1).log(), positives.norm(dim=1).log()])
    assert torch.corrcoef(logs)[0, 1].abs() < 6 / 4000**0.5
    assert float(logs[1].std()) == pytest.approx(0.7, abs=6 * 0.7 / 8000**0.5)
    assert not torch.isclose(inputs.positive_inputs(rows, 1), positives).all(dim=1).any()
