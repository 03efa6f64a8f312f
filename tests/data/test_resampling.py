import pytest
import torch
from torch.nn import functional
from torchvision.transforms.v2 import functional as reference

from infonce.data.resampling import blur, crop_and_enlarge, gaussian_matrix, resample, resampling_matrix

BOXES = torch.tensor([[0, 0, 16, 20], [3, 5, 7, 4], [15, 19, 1, 1], [0, 7, 16, 3], [9, 0, 2, 20], [1, 1, 15, 19]])


@pytest.fixture(scope="module")
def images():
    return torch.rand(6, 3, 16, 20, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("flip", [False, True])
def test_crops_agree_with_torchvision_box_by_box(images, flip):
    top, left, height, width = BOXES.T
    found = crop_and_enlarge(images, top, left, height, width, torch.full((6,), flip))
    for image, box, view in zip(images, BOXES.tolist(), found, strict=True):
        expected = reference.resized_crop(image, *box, size=[16, 20], antialias=True)
        expected = reference.horizontal_flip(expected) if flip else expected
        torch.testing.assert_close(view, expected, rtol=0, atol=1e-5)


def test_pixels_outside_the_box_have_no_influence(images):
    top, left, height, width = BOXES[1:2].T
    other = torch.zeros_like(images[:1])
    other[..., 3:10, 5:9] = images[:1, :, 3:10, 5:9]
    flip = torch.tensor([False])
    torch.testing.assert_close(
        crop_and_enlarge(images[:1], top, left, height, width, flip),
        crop_and_enlarge(other, top, left, height, width, flip),
        rtol=0,
        atol=1e-6,
    )


@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("kernel", [3, 9])
def test_blur_agrees_with_torchvision(images, sigma, kernel):
    sigmas = sigma * torch.linspace(0.5, 1, 6)
    found = blur(images, sigmas, kernel)
    for image, one, view in zip(images, sigmas.tolist(), found, strict=True):
        expected = reference.gaussian_blur(image, [kernel, kernel], [one, one])
        torch.testing.assert_close(view, expected, rtol=0, atol=1e-6)


def test_blurring_weights_are_means_without_numbers_that_processors_are_slow_with():
    weights = gaussian_matrix(torch.linspace(0.1, 2, 40), 9, 96)
    torch.testing.assert_close(weights.sum(dim=2), torch.ones(40, 96), rtol=0, atol=1e-6)
    assert weights[weights > 0].min() > 1e-13


@pytest.mark.parametrize("out", [4, 7, 16, 30])
def test_resampling_a_whole_line_agrees_with_torch(images, out):
    whole = [torch.zeros(6), torch.full((6,), 16.0)], [torch.zeros(6), torch.full((6,), 20.0)]
    down = resampling_matrix(*whole[0], 16, out)
    across = resampling_matrix(*whole[1], 20, out)
    expected = functional.interpolate(images, (out, out), mode="bilinear", antialias=True)
    torch.testing.assert_close(resample(images, down, across), expected, rtol=0, atol=2e-6)


def test_resampling_a_part_is_resampling_what_is_cut_out_away_from_its_edges(images):
    start, length = torch.full((6,), 2.0), torch.full((6,), 12.0)
    down = resampling_matrix(start, length, 16, 6)
    expected = functional.interpolate(images[:, :, 2:14], (6, 20), mode="bilinear", antialias=True)
    across = torch.eye(20).expand(6, -1, -1)
    torch.testing.assert_close(resample(images, down, across)[:, :, 1:-1], expected[:, :, 1:-1], rtol=0, atol=2e-6)
