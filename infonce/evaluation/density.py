"""What the known density dM/dπ of a generator of positives adds: CE_k, the second moment, empty supports."""

from dataclasses import dataclass

import numpy as np
import torch

from infonce.data.density import class_density
from infonce.data.inputs import TupleInputs
from infonce.evaluation.risks import HeldOut
from infonce.spec.run import RunSpec
from infonce.theory import sphere
from infonce.theory.finite_search import empty_support_frequency, finite_search_difference

PAIRS_AT_MOST = 2_000_000  # of anchors and pool members in the direct quadrature for a positive density


@dataclass(frozen=True)
class FiniteSearch:
    """The search over k held-out points, for each k of the held-out risks."""

    cross_entropy: np.ndarray  # CE_k (len(negatives),)
    empty_support: np.ndarray  # how often no searched point has positive density (len(negatives),)
    second_moment: float  # E|dM/dπ|² of the pool


def finite_search(spec: RunSpec, held_out: TupleInputs, measured: HeldOut) -> FiniteSearch:
    """CE_k by the identity with the DCL risk for indicator densities, by quadrature for the strictly positive one."""
    if spec.positives == "sphere":
        return _of_sphere(spec, held_out, measured)
    identity = measured.risk("dcl").mean(axis=1)
    if spec.positives == "class":
        density = class_density(held_out.labels.cpu(), leave_own_out=True)
        anchors = held_out.sampler.anchors(measured.embedded.rows).cpu()
        probability = density.probabilities[anchors].numpy()
        empty = np.stack([empty_support_frequency(p, measured.risks.negatives) for p in probability])
        return FiniteSearch(identity, empty.mean(axis=0), density.second_moment)
    # The instance reading of `augment`: N·1{same image}; the own image is left out of the pool, so none is found.
    return FiniteSearch(identity, np.ones(len(identity)), float(len(held_out.sampler.images)))


def _of_sphere(spec: RunSpec, held_out: TupleInputs, measured: HeldOut) -> FiniteSearch:
    """The pool is π here too, and M the pool weighted by the density: CE_k - R̃ and E|dM/dπ|² both belong to them.

    What drawn positives add to R̃ they so add to CE_k as well, and the bounds between the two hold for the pool itself.
    """
    options, embedded = spec.dataset_options, measured.embedded
    directions = torch.nn.functional.normalize(held_out.images.double(), dim=1)
    count = max(1, min(len(embedded.rows), PAIRS_AT_MOST // len(embedded.pool)))
    own = embedded.own[:count]
    anchors = directions[held_out.sampler.anchors(embedded.rows[:count])]
    cosines = anchors @ directions[held_out.sampler.images].T
    density = np.exp(sphere.log_density(cosines.cpu().numpy(), options.concentration, options.ambient_dimension))
    differences = finite_search_difference(
        embedded.anchors[:count], embedded.pool, density, spec.temperature, measured.risks.negatives, exclude=own
    )
    cross_entropy = measured.risk("dcl").mean(axis=1) + differences.mean(axis=1)
    return FiniteSearch(cross_entropy, np.zeros(len(differences)), _second_moment(density, own.cpu().numpy()))


def _second_moment(density: np.ndarray, own: np.ndarray) -> float:
    """E|dM/dπ|² of the density (A, m), normalised over the pool without the anchor's own member (-1: none)."""
    rows = np.flatnonzero(own >= 0)
    kept = density.copy()
    kept[rows, own[rows]] = 0
    size = density.shape[1] - (own >= 0)
    return float((size * (kept**2).sum(axis=1) / kept.sum(axis=1) ** 2).mean())
