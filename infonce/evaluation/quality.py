"""Search quality on held-out images, for data sets that have labels."""

from typing import Any

import torch
from torch import Tensor

from infonce.data.inputs import TupleInputs
from infonce.encoders.encoder import Encoder
from infonce.evaluation.embedding import embed
from infonce.evaluation.rows import mean_columns
from infonce.retrieval import nearest_neighbour_vote, search_quality


def search_columns(
    encoder: Encoder, training: TupleInputs, held_out: TupleInputs, rows: Tensor, neighbours: int
) -> dict[str, Any]:
    """Columns of `runs`: recall and mean average precision in the held-out split, kNN accuracy by the training split.

    Images are embedded as they are, without views. Unlabelled images are neither queries nor found.
    """
    labelled = (held_out.labels >= 0).nonzero().flatten()
    gallery = (training.labels >= 0).nonzero().flatten()
    if len(labelled) == 0 or len(gallery) == 0:
        return {}
    embedded = embed(encoder, held_out.image_inputs, labelled)
    place = torch.full_like(held_out.labels, -1)
    place[labelled] = torch.arange(len(labelled), device=labelled.device)
    own = place[held_out.sampler.anchors(rows)]
    own = own[own >= 0]
    queries, query_labels = embedded[own], held_out.labels[labelled][own]
    found = search_quality(queries, query_labels, embedded, held_out.labels[labelled], own)
    vote = nearest_neighbour_vote(
        queries, query_labels, embed(encoder, training.image_inputs, gallery), training.labels[gallery], neighbours
    )
    columns = {f"recall_at_{depth}": float(values.mean()) for depth, values in found.recall.items()}
    columns["mean_average_precision"] = float(found.average_precision.mean())
    return columns | mean_columns("knn_accuracy", vote.cpu().numpy())
