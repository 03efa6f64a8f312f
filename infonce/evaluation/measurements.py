"""What the ledger of bounds is told about a run."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from infonce.data.inputs import TupleInputs
from infonce.encoders import registry
from infonce.encoders.encoder import Encoder
from infonce.evaluation.complexity import complexity_from_below
from infonce.evaluation.density import FiniteSearch
from infonce.evaluation.displacement import MOST_TUPLES, displacement, tuples_for
from infonce.evaluation.embedding import EmbeddedTuples, embed_tuples
from infonce.evaluation.risks import HeldOut, tuple_losses
from infonce.spec.evaluation import EvaluationOptions
from infonce.spec.run import RunSpec
from infonce.theory.bounds import dyadic_radius
from infonce.theory.ledger import Measurements
from infonce.theory.ledger_generalisation import SMALLEST_RADIUS


def measurements_of(
    spec: RunSpec,
    options: EvaluationOptions,
    before: Encoder,
    after: Encoder,
    inputs: TupleInputs,
    trained: EmbeddedTuples,
    losses: np.ndarray,
    held_out: HeldOut,
    search: FiniteSearch,
) -> Measurements:
    """Collect the plain numbers that the terms need; `before` and `after` are the encoder at θ_0 and θ̂.

    `trained` and `losses` are the training tuples embedded by `after` and their losses.
    """
    at = held_out.risks.negatives.index(spec.negatives)
    rows = trained.rows[: tuples_for(spec.negatives, MOST_TUPLES)]
    untrained = embed_tuples(before, inputs, rows)
    moved = displacement(untrained, trained, inputs)
    losses_before = tuple_losses(untrained, inputs, spec.loss, spec.temperature).cpu().numpy()
    norms = _input_norms(inputs, trained.rows[: tuples_for(spec.negatives, spec.tuples)])
    distance = _parameter_distance(before, after)
    radius, _ = dyadic_radius(distance, SMALLEST_RADIUS)
    complexity = complexity_from_below(spec, options, before, inputs, radius)
    return Measurements(
        loss=spec.loss,
        generator=spec.positives,
        head=spec.head,
        temperature=spec.temperature,
        negatives=spec.negatives,
        tuples=spec.tuples,
        delta=options.confidence_delta,
        second_moment=search.second_moment,
        empirical_risk=float(losses.mean()),
        infonce_risk=float(held_out.risk("infonce")[at].mean()),
        dcl_risk=float(held_out.risk("dcl")[at].mean()),
        cross_entropy=float(held_out.kernel.cross_entropy.mean()),
        q_positive=float(held_out.kernel.q_positive.mean()),
        chi2=float(held_out.kernel.chi2.mean()),
        kl=float(held_out.kernel.kl.mean()),
        log_q_min=float(held_out.kernel.log_q_min.min()),
        log_q_max=float(held_out.kernel.log_q_max.max()),
        finite_cross_entropy=float(search.cross_entropy[at]),
        parameters=sum(parameter.numel() for parameter in after.parameters()),
        displacement=distance,
        operator_norms=_operator_norms(spec, before),
        operator_norm_factors=tuple(factor for _, factor in before.layers()) or None,
        anchor_norms=norms[0],
        positive_norms=norms[1],
        negative_norms=norms[2],
        independent_tuples=spec.tuple_design == "disjoint",
        tuples_effective=inputs.sampler.effective,
        minimum_feature_norm=least_feature_norm(after, inputs, trained.rows),
        displacement_anchor=moved.anchors.cpu().numpy(),
        displacement_positive=moved.positives.cpu().numpy(),
        displacement_negatives=moved.negatives.cpu().numpy(),
        loss_difference=np.abs(losses[: len(rows)] - losses_before),
        rademacher_lower=complexity.value if complexity else None,
        rademacher_lower_se=complexity.standard_error if complexity else None,
    )


def least_feature_norm(encoder: Encoder, inputs: TupleInputs, rows: Tensor) -> float:
    """The smallest ‖f(z)‖ over the anchors, before the head: `normalize` is not Lipschitz at 0."""
    precision = next(encoder.parameters()).dtype
    norms = [encoder.features(inputs.anchor_inputs(part).to(precision)).norm(dim=1).min() for part in rows.split(1024)]
    return float(torch.stack(norms).min())


def _input_norms(inputs: TupleInputs, rows: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """‖z‖ of what the encoder is given: anchors (T,), positives (T,), negatives (T, k)."""
    images = inputs.sampler.images.to(inputs.device)
    of_image = torch.zeros(len(inputs.labels), dtype=torch.float64, device=inputs.device)
    of_image[images] = _norms(inputs.pool_inputs, images)
    return (
        _norms(inputs.anchor_inputs, rows).cpu().numpy(),
        _norms(inputs.positive_inputs, rows).cpu().numpy(),
        of_image[inputs.sampler.negatives(rows)].cpu().numpy(),
    )


def _norms(make_inputs: Callable[[Tensor], Tensor], indices: Tensor) -> Tensor:
    return torch.cat([make_inputs(part).double().flatten(1).norm(dim=1) for part in indices.split(1024)])


def _parameter_distance(before: Encoder, after: Encoder) -> float:
    pairs = zip(before.parameters(), after.parameters(), strict=True)
    return float(sum((p - q).double().square().sum() for p, q in pairs) ** 0.5)


def _operator_norms(spec: RunSpec, encoder: Encoder) -> tuple[float, ...] | None:
    """Spectral norms of θ_0's layers where the encoder is Lipschitz in θ: a ReLU network without biases."""
    if not registry.encoder(spec.encoder).lipschitz:
        return None
    return tuple(float(torch.linalg.matrix_norm(matrix, 2)) for matrix, _ in encoder.layers())
