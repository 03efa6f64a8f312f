import pytest
import torch

from infonce.data.views import make_views
from infonce.spec.run import ViewOptions

SMALL = ViewOptions()


@pytest.fixture(scope="module")
def images(digits):
    return torch.from_numpy(digits.train.images[:64])


def test_views_are_images_of_the_same_shape_in_range(images):
    views = make_views(images, 3, 0, torch.arange(64), SMALL)
    assert views.shape == images.shape
    assert views.dtype == torch.float32
    assert views.min() >= 0
    assert views.max() <= 1


def test_a_view_does_not_depend_on_its_batch_and_repeats(images):
    whole = make_views(images, 3, 5, torch.arange(64), SMALL)
    assert torch.equal(make_views(images, 3, 5, torch.arange(64), SMALL), whole)
    rows = torch.tensor([40, 3, 17])
    torch.testing.assert_close(make_views(images[rows], 3, 5, rows, SMALL), whole[rows], rtol=0, atol=1e-6)


def test_views_differ_by_epoch_key_and_sample(images):
    one = images[:1].expand(40, -1, -1, -1)
    views = [make_views(one, key, epoch, torch.arange(40), SMALL) for key, epoch in [(1, 0), (1, 1), (2, 0)]]
    rows = torch.cat(views).flatten(1)
    distances = torch.cdist(rows, rows) + 9 * torch.eye(120)
    assert distances.min() > 0.1


def test_strength_zero_is_the_image_itself(images):
    views = make_views(images, 3, 0, torch.arange(64), ViewOptions(strength=0.0))
    assert torch.equal(views, images.float() / 255)


def only(**strengths):
    return ViewOptions(**({"shift": 0.0, "zoom": 0.0, "contrast": 0.0, "noise": 0.0} | strengths))


def test_every_strength_at_zero_is_the_image_itself(images):
    views = make_views(images, 3, 0, torch.arange(64), only())
    torch.testing.assert_close(views, images.float() / 255, rtol=0, atol=1e-6)


def centre(images):
    x = torch.arange(images.shape[-1]) + 0.5
    mass = images.sum(dim=(1, 2, 3))
    return torch.stack([(images.sum(dim=(1, 2)) * x).sum(1), (images.sum(dim=(1, 3)) * x).sum(1)]) / mass


def spot(count):
    image = torch.zeros(count, 1, 16, 16, dtype=torch.uint8)
    image[:, :, 6:10, 6:10] = 200
    return image


def test_shifts_are_uniform_up_to_the_strength_and_independent_across_and_down():
    count = 4000
    moved = centre(make_views(spot(count), 3, 0, torch.arange(count), only(shift=0.125))) - 8
    assert moved.abs().max() <= 2 + 1e-4
    # Uniform on [-2, 2]: variance 4/3, and its square root's standard error below 1%.
    torch.testing.assert_close(moved.std(dim=1), torch.full((2,), (4 / 3) ** 0.5), rtol=0.04, atol=0)
    assert moved.mean(dim=1).abs().max() < 6 * (4 / 3 / count) ** 0.5
    assert torch.corrcoef(moved)[0, 1].abs() < 6 / count**0.5


def test_zoom_changes_size_about_the_centre():
    count = 500
    views = make_views(spot(count), 3, 0, torch.arange(count), only(zoom=0.3))
    area = views.sum(dim=(1, 2, 3)) / (spot(1).float() / 255).sum()
    assert centre(views).sub(8).abs().max() < 1e-4
    assert 0.7**2 * 0.97 < area.min() < 0.6
    assert 1.6 < area.max() < 1.3**2 * 1.03


def test_contrast_keeps_the_mean_and_noise_has_its_deviation():
    grey = torch.full((1000, 1, 8, 8), 128, dtype=torch.uint8)
    grey[:, :, 2] = 140
    contrasted = make_views(grey, 3, 0, torch.arange(1000), only(contrast=0.4))
    pixels = grey.float() / 255
    torch.testing.assert_close(contrasted.mean(dim=(1, 2, 3)), pixels.mean(dim=(1, 2, 3)), rtol=1e-5, atol=0)
    factor = contrasted.std(dim=(1, 2, 3)) / pixels.std(dim=(1, 2, 3))
    assert 0.6 - 1e-3 < factor.min() < 0.62
    assert 1.38 < factor.max() < 1.4 + 1e-3
    noise = make_views(grey, 3, 0, torch.arange(1000), only(noise=0.05)) - pixels
    assert float(noise.std()) == pytest.approx(0.05, rel=6 / (2 * 64_000) ** 0.5)
    assert float(noise.mean()) == pytest.approx(0, abs=6 * 0.05 / 64_000**0.5)


def test_strength_scales_what_the_views_change(images):
    pixels = images.float() / 255
    change = [
        (make_views(images, 3, 0, torch.arange(64), ViewOptions(strength=s)) - pixels).pow(2).mean()
        for s in (0.25, 1.0, 2.0)
    ]
    assert change[0] < change[1] < change[2]
