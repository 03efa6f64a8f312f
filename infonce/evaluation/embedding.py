"""Embeddings of tuples and pools, in blocks, in the precision of the evaluation."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from infonce.data.inputs import TupleInputs
from infonce.encoders.encoder import Encoder
from infonce.progress import watched

BLOCK = 1024


@dataclass(frozen=True)
class EmbeddedTuples:
    """Unit rows in float64; `own` is the pool member that is the anchor's own image."""

    rows: Tensor  # (A,) rows of the tuples
    anchors: Tensor  # (A, d)
    positives: Tensor  # (A, d)
    pool: Tensor  # (m, d): the images that negatives are drawn from
    place_of_image: Tensor  # (N,) where an image of the split stands in the pool, -1 where it is not in it
    own: Tensor  # (A,) index into the pool, -1 where the own image is not in it


def embed_tuples(encoder: Encoder, inputs: TupleInputs, rows: Tensor) -> EmbeddedTuples:
    """Embed the anchors and positives of `rows` and the whole pool of `inputs`."""
    images = inputs.sampler.images.to(inputs.device)
    place = torch.full((len(inputs.labels),), -1, dtype=torch.int64, device=inputs.device)
    place[images] = torch.arange(len(images), device=inputs.device)
    return EmbeddedTuples(
        rows,
        embed(encoder, inputs.anchor_inputs, rows),
        embed(encoder, inputs.positive_inputs, rows),
        embed(encoder, inputs.pool_inputs, images),
        place,
        place[inputs.sampler.anchors(rows)],
    )


def embed(encoder: Encoder, make_inputs: Callable[[Tensor], Tensor], indices: Tensor) -> Tensor:
    """Unit rows (B, d) in float64 of the inputs that `make_inputs` gives for `indices` (B,)."""
    precision = next(encoder.parameters()).dtype
    batches = watched(indices.split(BLOCK), "embeddings", "batch")
    blocks = [encoder(make_inputs(batch).to(precision)).double() for batch in batches]
    embedded = torch.cat(blocks)
    return embedded / embedded.norm(dim=1, keepdim=True)


def negatives_in_pool(embedded: EmbeddedTuples, inputs: TupleInputs, rows: slice) -> Tensor:
    """Pool members (B, k) that are the negatives of `rows`."""
    images = inputs.sampler.negatives(embedded.rows[rows])
    return embedded.place_of_image[images].to(embedded.pool.device)


def negative_similarities(embedded: EmbeddedTuples, inputs: TupleInputs, rows: slice) -> Tensor:
    """Similarities (B, k) of the anchors of `rows` to their own negatives; no tensor of size B·k·d is made."""
    return (embedded.anchors[rows] @ embedded.pool.T).gather(1, negatives_in_pool(embedded, inputs, rows))
