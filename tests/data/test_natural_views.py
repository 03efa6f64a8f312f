import pytest
import torch
from scipy import stats
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as reference

from infonce.data.natural_views import (
    _JITTER_ORDERS,
    NaturalParameters,
    apply,
    natural_parameters,
    natural_strengths,
)
from infonce.data.views import make_views
from infonce.spec.run import ViewOptions

NATURAL = ViewOptions(recipe="natural-1")


def images(count, side, channels=3):
    generator = torch.Generator().manual_seed(side)
    return torch.randint(0, 256, (count, channels, side, side), dtype=torch.uint8, generator=generator)


def one_by_one(image: torch.Tensor, parameters: NaturalParameters, row: int) -> torch.Tensor:
    """The view as torchvision makes it, one operation after the other."""
    p = {name: getattr(parameters, name)[row].item() for name in NaturalParameters._fields}
    side = image.shape[-1]
    box = [int(p[name]) for name in ("top", "left", "height", "width")]
    view = reference.resized_crop(image.float() / 255, *box, size=[side, side], antialias=True)
    if p["flip"]:
        view = reference.horizontal_flip(view)
    if p["jitter"]:
        for change in _JITTER_ORDERS[p["order"]]:
            name = ("brightness", "contrast", "saturation", "hue")[change]
            view = getattr(reference, f"adjust_{name}")(view, p[name])
    if p["grey"]:
        view = reference.rgb_to_grayscale(view, num_output_channels=3)
    if p["blur"]:
        view = reference.gaussian_blur(view, [side // 10 | 1] * 2, [p["sigma"]] * 2)
    return view


@pytest.mark.parametrize("side", [32, 96])
def test_whole_views_agree_with_torchvision_parameter_by_parameter(side):
    count = 48
    batch = images(count, side)
    strengths = natural_strengths(side, NATURAL)
    parameters = natural_parameters(side, side, 5, 2, torch.arange(count), strengths)
    views = apply(batch, parameters)
    assert torch.equal(views, make_views(batch, 5, 2, torch.arange(count), NATURAL))
    for row in range(count):
        expected = one_by_one(batch[row], parameters, row)
        # Three changes after a hue near a grey pixel may each enlarge float32's rounding.
        torch.testing.assert_close(views[row], expected, rtol=0, atol=1e-4)
    assert parameters.grey.any()
    assert parameters.flip.any()
    assert bool(parameters.blur.any()) == (side == 96)


def test_the_recipe_is_simclrs_for_each_size():
    small, large = natural_strengths(32, NATURAL), natural_strengths(96, NATURAL)
    assert small == (0.08, 0.5, 0.8, 0.4, 0.4, 0.4, 0.1, 0.2, 0.0)
    assert large == (0.08, 0.5, 0.8, 0.8, 0.8, 0.8, 0.2, 0.2, 0.5)
    assert natural_strengths(64, NATURAL) == large
    assert natural_strengths(63, NATURAL) == small


def test_every_strength_can_be_set_and_is_scaled():
    chosen = {
        "smallest_crop": 0.5,
        "flip": 0.4,
        "jitter": 0.6,
        "brightness": 0.1,
        "contrast": 0.2,
        "saturation": 0.3,
        "hue": 0.05,
        "grey": 0.7,
        "blur": 0.9,
    }
    options = ViewOptions(recipe="natural-1", **chosen)
    assert natural_strengths(32, options)._asdict() == pytest.approx(chosen)
    half = natural_strengths(32, options.model_copy(update={"strength": 0.5}))
    assert half._asdict() == pytest.approx(
        {name: value / 2 for name, value in chosen.items()} | {"smallest_crop": 0.75}
    )
    double = natural_strengths(32, options.model_copy(update={"strength": 2.0}))
    assert double.flip == 0.4
    assert double.brightness == pytest.approx(0.2)
    assert double.smallest_crop == pytest.approx(0.01)


def test_the_parameters_have_the_distributions_of_torchvisions():
    count, side = 6000, 32
    strengths = natural_strengths(side, NATURAL)
    p = natural_parameters(side, side, 11, 0, torch.arange(count), strengths)
    image = torch.zeros(3, side, side)
    torch.manual_seed(0)  # torchvision draws from the global stream
    crop = v2.RandomResizedCrop(side, scale=(0.08, 1.0))
    drawn = [crop.make_params([image]) for _ in range(count)]
    for name in ("top", "left", "height", "width"):
        reference_values = [one[name] for one in drawn]
        assert stats.ks_2samp(getattr(p, name).numpy(), reference_values).pvalue > 1e-4, name
    for name, share in (("flip", 0.5), ("jitter", 0.8), ("grey", 0.2)):
        assert stats.binomtest(int(getattr(p, name).sum()), count, share).pvalue > 1e-4, name
    assert stats.chisquare(torch.bincount(p.order, minlength=24).numpy()).pvalue > 1e-4
    for name in ("brightness", "contrast", "saturation"):
        assert stats.kstest((getattr(p, name).double().numpy() - 0.6) / 0.8, "uniform").pvalue > 1e-4, name
    assert stats.kstest((p.hue.double().numpy() + 0.1) / 0.2, "uniform").pvalue > 1e-4
    assert stats.kstest((p.sigma.double().numpy() - 0.1) / 1.9, "uniform").pvalue > 1e-4
    assert (p.top + p.height <= side).all()
    assert (p.left + p.width <= side).all()
    assert (p.height >= 1).all()


def test_factors_start_at_zero_where_the_range_would_be_negative():
    options = ViewOptions(recipe="natural-1", brightness=1.5)
    p = natural_parameters(32, 32, 1, 0, torch.arange(3000), natural_strengths(32, options))
    assert 0 <= p.brightness.min() < 0.01
    assert 2.49 < p.brightness.max() <= 2.5


@pytest.mark.parametrize("side", [32, 96])
def test_a_view_does_not_depend_on_its_batch_repeats_and_differs(side):
    batch = images(40, side)
    whole = make_views(batch, 3, 1, torch.arange(40), NATURAL)
    assert torch.equal(make_views(batch, 3, 1, torch.arange(40), NATURAL), whole)
    rows = torch.tensor([33, 2, 18])
    torch.testing.assert_close(make_views(batch[rows], 3, 1, rows, NATURAL), whole[rows], rtol=0, atol=1e-5)
    for key, epoch in [(3, 2), (4, 1)]:
        other = make_views(batch, key, epoch, torch.arange(40), NATURAL)
        assert not torch.isclose(other, whole, atol=1e-3).flatten(1).all(dim=1).any()


@pytest.mark.parametrize("side", [32, 96])
def test_views_do_not_depend_on_the_number_of_threads_and_leave_it(side):
    batch = images(40, side)
    alone = make_views(batch, 3, 0, torch.arange(40), NATURAL)
    torch.set_num_threads(2)
    try:
        assert torch.equal(make_views(batch, 3, 0, torch.arange(40), NATURAL), alone)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_views_are_in_range_and_float():
    views = make_views(images(64, 32), 3, 0, torch.arange(64), ViewOptions(recipe="natural-1", strength=2.0))
    assert views.dtype == torch.float32
    assert views.min() >= -1e-6
    assert views.max() <= 1 + 1e-6


def test_strength_zero_is_the_image_itself():
    batch = images(8, 32)
    options = ViewOptions(recipe="natural-1", strength=0.0)
    assert torch.equal(make_views(batch, 3, 0, torch.arange(8), options), batch.float() / 255)


def test_grey_images_get_what_grey_images_can_have():
    batch = images(20, 32, channels=1)
    views = make_views(batch, 3, 0, torch.arange(20), NATURAL)
    assert views.shape == batch.shape
    parameters = natural_parameters(32, 32, 3, 0, torch.arange(20), natural_strengths(32, NATURAL))
    quiet = parameters._replace(hue=torch.zeros(20), saturation=torch.ones(20), grey=torch.zeros(20, dtype=torch.bool))
    coloured = apply(batch.expand(-1, 3, -1, -1).contiguous(), quiet)
    torch.testing.assert_close(views, coloured[:, :1], rtol=0, atol=2e-4)


def test_the_recipe_of_a_run_is_part_of_its_identity(make_spec):
    plain, natural = make_spec(), make_spec(view_options=NATURAL)
    assert plain.content_hash != natural.content_hash
    stronger = make_spec(view_options=NATURAL.model_copy(update={"hue": 0.3}))
    assert stronger.content_hash != natural.content_hash
