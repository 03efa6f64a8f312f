import pytest
import torch

from infonce.data.density import class_density
from infonce.errors import DataError

LABELS = torch.tensor([0, 1, 2, 2, 1, 2, -1, 0, 2])


@pytest.mark.parametrize("leave_own_out", [False, True])
def test_the_density_is_that_of_the_class_kernel_by_counting(leave_own_out):
    density = class_density(LABELS, leave_own_out)
    labelled = [i for i, label in enumerate(LABELS) if label >= 0]
    moments = []
    for anchor in labelled:
        pool = [i for i in labelled if not (leave_own_out and i == anchor)]
        same = [i for i in pool if LABELS[i] == LABELS[anchor]]
        expected = torch.tensor([(len(pool) / len(same) if i in same else 0.0) for i in pool], dtype=torch.float64)
        found = density.between(torch.tensor([anchor]), torch.tensor(pool))[0]
        torch.testing.assert_close(found, expected, rtol=1e-14, atol=0)
        assert found.mean() == pytest.approx(1, rel=1e-14)
        moments.append((found**2).mean())
        assert density.probabilities[anchor] == len(same) / len(pool)
    assert density.second_moment == pytest.approx(float(torch.stack(moments).mean()), rel=1e-14)
    assert density.probabilities[6].isnan()


def test_the_second_moment_is_the_number_of_classes():
    assert class_density(LABELS).second_moment == pytest.approx(3, rel=1e-14)
    assert class_density(LABELS, leave_own_out=True).second_moment > 3


def test_the_density_weighs_the_pool_as_the_positives_are_drawn():
    density = class_density(LABELS, leave_own_out=True)
    weights = density.between(torch.tensor([8]), torch.tensor([0, 1, 2, 3, 4, 5, 7]))[0] / 7
    torch.testing.assert_close(weights, torch.tensor([0, 0, 1, 1, 0, 1, 0]).double() / 3, rtol=1e-15, atol=0)


def test_what_has_no_density_is_refused():
    with pytest.raises(DataError, match="no image is labelled"):
        class_density(torch.tensor([-1, -1]))
    with pytest.raises(DataError, match="class 1 has a single image"):
        class_density(torch.tensor([0, 0, 1]), leave_own_out=True)
    assert class_density(torch.tensor([0, 0, 1])).second_moment == pytest.approx(2)
