"""The density dM/dπ of `class` positives, exactly: 1{same class}/P(class)."""

from dataclasses import dataclass

import torch

from infonce.errors import DataError


@dataclass(frozen=True)
class ClassDensity:
    """dM/dπ(a, ·) for anchors a among the labelled images of a split."""

    labels: torch.Tensor
    """int64 (N,), -1 = unlabelled."""
    probabilities: torch.Tensor
    """float64 (N,): P(class of image a) in the pool that a searches; NaN where a is unlabelled."""
    second_moment: float
    """E|dM/dπ|²: the number of classes, a little more where the anchor's own image is left out."""

    def between(self, anchors: torch.Tensor, pool: torch.Tensor) -> torch.Tensor:
        """float64 (A, P): the density between images given by index; 0 where the classes differ."""
        same = self.labels[anchors, None] == self.labels[pool]
        return same / self.probabilities[anchors, None]


def class_density(labels: torch.Tensor, leave_own_out: bool = False) -> ClassDensity:
    """The density with respect to the labelled images of a split.

    With N labelled images, N_c of them in class c, P(c) = N_c/N and E|dM/dπ|² = Σ_c P(c)/P(c), the number
    of classes. With `leave_own_out` the pool of an anchor is all other images and its positive one of the
    N_c - 1 others, so that P = (N_c - 1)/(N - 1), and E|dM/dπ|² = Σ_c (N_c/N)·(N - 1)/(N_c - 1).

    Raises DataError where nothing is labelled, or where a class has a single image and it is left out.
    """
    labels = torch.as_tensor(labels, dtype=torch.int64)
    labelled = labels >= 0
    total = int(labelled.sum())
    if total == 0:
        raise DataError("no image is labelled, so `class` positives have no density")
    sizes = torch.bincount(labels[labelled]).to(torch.float64)
    own = 1 if leave_own_out else 0
    if leave_own_out and bool((sizes == 1).any()):
        alone = int(torch.nonzero(sizes == 1)[0])
        raise DataError(f"class {alone} has a single image, so nothing of it is left for a positive")
    of_class = (sizes - own) / (total - own)
    probabilities = torch.where(labelled, of_class[labels.clamp_min(0)], torch.nan)
    second_moment = float((1 / probabilities[labelled]).mean())
    return ClassDensity(labels, probabilities, second_moment)
