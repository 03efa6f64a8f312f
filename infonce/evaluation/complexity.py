"""A lower estimate of the Rademacher complexity of a small encoder's loss class on the run's own tuples."""

import torch

from infonce.data.inputs import TupleInputs
from infonce.encoders.encoder import Encoder
from infonce.evaluation.embedding import embed_tuples
from infonce.evaluation.risks import tuple_losses
from infonce.random import stream_key
from infonce.spec.evaluation import EvaluationOptions
from infonce.spec.run import RunSpec
from infonce.theory.rademacher import LowerEstimate, rademacher_lower


def complexity_from_below(
    spec: RunSpec, options: EvaluationOptions, before: Encoder, inputs: TupleInputs, radius: float
) -> LowerEstimate | None:
    """Gradient ascent over random signs in the ball of `radius` around θ_0; None for encoders above the size limit."""
    if sum(parameter.numel() for parameter in before.parameters()) > options.rademacher_parameters:
        return None
    rows = torch.arange(inputs.sampler.tuples, device=inputs.device)

    def losses(encoder: torch.nn.Module) -> torch.Tensor:
        assert isinstance(encoder, Encoder)
        return tuple_losses(embed_tuples(encoder, inputs, rows), inputs, spec.loss, spec.temperature)

    with torch.enable_grad():
        return rademacher_lower(
            before, losses, radius, stream_key(spec.seed, "Rademacher signs"), options.rademacher_draws
        )
