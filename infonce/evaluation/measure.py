"""All numbers of one run, from its weights and its data."""

import copy
from dataclasses import dataclass
from typing import Any

import torch

from infonce.data.inputs import TupleInputs
from infonce.data.prepared import Prepared
from infonce.encoders.encoder import Encoder, encoder_of
from infonce.evaluation.density import finite_search
from infonce.evaluation.embedding import embed_tuples
from infonce.evaluation.measurements import measurements_of
from infonce.evaluation.quality import search_columns
from infonce.evaluation.risks import measure_held_out, tuple_losses
from infonce.evaluation.rows import curve_rows, run_columns
from infonce.spec.evaluation import EvaluationOptions
from infonce.spec.run import RunSpec
from infonce.theory.ledger import Term, ledger
from infonce.training.device import resolve, threads_set
from infonce.training.source import HELD_OUT_PURPOSE, TRAINING_PURPOSE

Weights = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Evaluation:
    """Result columns of `runs`, rows of `curves`, and the ledger."""

    run: dict[str, Any]
    curves: list[dict[str, Any]]
    terms: list[Term]


def evaluate(
    spec: RunSpec,
    prepared: Prepared,
    initial: Weights,
    final: Weights,
    options: EvaluationOptions,
    device: str,
    threads: int,
) -> Evaluation:
    """Measure the encoder with weights `final`, trained from `initial`; similarities and all after them in float64."""
    where = resolve(device)
    with threads_set(threads), torch.no_grad():
        before, after = (_encoder(spec, prepared, weights, options, where) for weights in (initial, final))
        training = TupleInputs("train", prepared, spec, where, TRAINING_PURPOSE)
        held_out = TupleInputs("held_out", prepared, spec, where, HELD_OUT_PURPOSE)

        training_rows = torch.arange(training.sampler.tuples, device=where)
        trained = embed_tuples(after, training, training_rows)
        losses = tuple_losses(trained, training, spec.loss, spec.temperature).cpu().numpy()

        rows = torch.arange(min(held_out.sampler.tuples, options.anchors_limit or 2**62), device=where)
        searched = embed_tuples(after, held_out, rows)
        negatives = sorted({*options.negatives, spec.negatives})
        measured = measure_held_out(searched, spec.temperature, negatives)
        search = finite_search(spec, held_out, measured)
        told = measurements_of(spec, options, before, after, training, trained, losses, measured, search)

        run = {
            "training_images": len(prepared.train),
            "held_out_images": len(prepared.held_out),
            "tuples_effective": training.sampler.effective,
            "negatives_exceed_pool": training.sampler.negatives_exceed_pool,
            "minimum_feature_norm": told.minimum_feature_norm,
            **run_columns(spec, measured, losses),
            **search_columns(after, training, held_out, rows, options.neighbours),
        }
    return Evaluation(run, curve_rows(spec, measured, search), ledger(told))


def _encoder(
    spec: RunSpec, prepared: Prepared, weights: Weights, options: EvaluationOptions, device: torch.device
) -> Encoder:
    encoder = encoder_of(spec, prepared.input_shape)
    encoder.load_state_dict(copy.copy(weights))
    precision = torch.float64 if options.precision == "float64" else torch.float32
    return encoder.to(device=device, dtype=precision).eval()
