import pytest
import torch
from torchvision.transforms.v2 import functional as reference

from infonce.data import colour

FACTORS = torch.tensor([0.0, 0.2, 0.7, 1.0, 1.3, 1.8])


@pytest.fixture(scope="module")
def images():
    generator = torch.Generator().manual_seed(3)
    made = torch.rand(6, 3, 9, 11, generator=generator)
    made[0, :, :4] = made[0, :1, :4]  # grey pixels have no hue
    made[1, 0, :3] = made[1, 1, :3]  # two channels tie
    made[2] = (made[2] * 255).round() / 255
    made[3, :, 2] = 0
    made[3, :, 3] = 1
    return made


def stretch(images, factor, about):
    changed = images.clone()
    colour.stretch_(changed, factor, about)
    return changed


def hue(images, factor):
    changed = images.clone()
    colour.hue_(changed, factor)
    return changed


NAMES = {colour.BLACK: "brightness", colour.MEAN: "contrast", colour.GREY: "saturation"}


@pytest.mark.parametrize("first", NAMES)
def test_changes_agree_with_torchvision_image_by_image(images, first):
    about = (torch.arange(6) + first) % 3
    changed = stretch(images, FACTORS, about)
    for image, factor, which, found in zip(images, FACTORS.tolist(), about.tolist(), changed, strict=True):
        expected = getattr(reference, f"adjust_{NAMES[which]}")(image, factor)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("offset", [-0.5, -0.2, -0.013, 0.0, 0.1, 0.37, 0.5])
def test_hue_agrees_with_torchvision_image_by_image(images, offset):
    turns = (offset * torch.linspace(0.5, 1, 6)).clamp(-0.5, 0.5)
    changed = hue(images, turns)
    for image, turn, found in zip(images, turns.tolist(), changed, strict=True):
        torch.testing.assert_close(found, reference.adjust_hue(image, turn), rtol=0, atol=3e-6)


def test_a_full_third_of_the_circle_turns_red_to_green_to_blue():
    red = torch.tensor([1.0, 0, 0]).reshape(1, 3, 1, 1)
    green = hue(red, torch.tensor([1 / 3]))
    torch.testing.assert_close(green.flatten(), torch.tensor([0.0, 1, 0]), rtol=0, atol=1e-6)
    torch.testing.assert_close(
        hue(green, torch.tensor([1 / 3])).flatten(), torch.tensor([0.0, 0, 1]), rtol=0, atol=2e-6
    )


def test_grey_agrees_with_torchvision(images):
    torch.testing.assert_close(colour.grey(images), reference.rgb_to_grayscale(images), rtol=0, atol=1e-6)


@pytest.mark.parametrize("which", NAMES)
def test_changes_of_grey_images_agree_with_torchvision(images, which):
    single = images[:, :1]
    changed = stretch(single, FACTORS, torch.full((6,), which))
    for image, factor, found in zip(single, FACTORS.tolist(), changed, strict=True):
        expected = image if which == colour.GREY else getattr(reference, f"adjust_{NAMES[which]}")(image, factor)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
