"""What the known density dM/dπ of a generator of positives adds: CE_k, the second moment, empty supports."""

from dataclasses import dataclass

import numpy as np
import torch

from infonce.data.density import class_density
from infonce.data.inputs import TupleInputs
from infonce.evaluation.risks import HeldOut
from infonce.spec.run import RunSpec
from infonce.theory import sphere
from infonce.theory.finite_k import empirical_kernel_cross_entropy_per_anchor, empty_support_frequency

PAIRS_AT_MOST = 2_000_000  # of anchors and pool members in the direct quadrature for a positive density


@dataclass(frozen=True)
class FiniteSearch:
    """The search over k held-out points, for each k of the held-out risks."""

    cross_entropy: np.ndarray  # CE_k (len(negatives),)
    empty_support: np.ndarray  # how often no searched point has positive density (len(negatives),)
    second_moment: float  # E|dM/dπ|²


def finite_search(spec: RunSpec, held_out: TupleInputs, measured: HeldOut) -> FiniteSearch:
    """CE_k by the identity with the DCL risk for indicator densities, by quadrature for the strictly positive one."""
    if spec.positives == "sphere":
        return _of_sphere(spec, held_out, measured)
    identity = measured.risks.risk("dcl").mean(axis=1)
    if spec.positives == "class":
        density = class_density(held_out.labels.cpu(), leave_own_out=True)
        anchors = held_out.sampler.anchors(measured.embedded.rows).cpu()
        probability = density.probabilities[anchors].numpy()
        empty = np.stack([empty_support_frequency(p, measured.risks.negatives) for p in probability])
        return FiniteSearch(identity, empty.mean(axis=0), density.second_moment)
    # The instance reading of `augment`: N·1{same image}; the own image is left out of the pool, so none is found.
    return FiniteSearch(identity, np.ones(len(identity)), float(len(held_out.sampler.images)))


def _of_sphere(spec: RunSpec, held_out: TupleInputs, measured: HeldOut) -> FiniteSearch:
    options, embedded = spec.dataset_options, measured.embedded
    directions = torch.nn.functional.normalize(held_out.images.double(), dim=1)
    count = max(1, min(len(embedded.rows), PAIRS_AT_MOST // len(embedded.pool)))
    anchors = directions[held_out.sampler.anchors(embedded.rows[:count])]
    cosines = anchors @ directions[held_out.sampler.images].T
    density = sphere.log_density(cosines.cpu().numpy(), options.concentration, options.ambient_dimension)
    values = empirical_kernel_cross_entropy_per_anchor(
        embedded.anchors[:count],
        embedded.pool,
        np.exp(density),
        spec.temperature,
        measured.risks.negatives,
        exclude=embedded.own[:count],
    )
    second_moment = sphere.second_moment(options.concentration, options.ambient_dimension)
    return FiniteSearch(values.mean(axis=1), np.zeros(len(values)), second_moment)
