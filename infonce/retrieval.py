"""Search quality that users know, from unit embeddings and labels; nearest means largest inner product."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class SearchQuality:
    """Per-query figures, each a float64 tensor of length Q; their means are what is reported."""

    recall: dict[int, Tensor]  # K → 1 where one of the K nearest has the query's label
    average_precision: Tensor  # over the whole ranking


def search_quality(
    queries: Tensor, query_labels: Tensor, gallery: Tensor, gallery_labels: Tensor, own: Tensor | None = None
) -> SearchQuality:
    """Recall at 1, 5 and 10 and average precision of each query's ranking of the gallery.

    queries (Q, d) and gallery (G, d) are unit rows; `own` (Q,) is the gallery index of the query's own image,
    which is left out of its ranking. Queries without any match have recall and precision 0.
    """
    recall: dict[int, list[Tensor]] = {1: [], 5: [], 10: []}
    precision = []
    for rows in torch.arange(len(queries), device=queries.device).split(1024):
        similarity = queries[rows] @ gallery.T
        matches = query_labels[rows, None] == gallery_labels[None, :]
        if own is not None:
            similarity[torch.arange(len(rows)), own[rows]] = -torch.inf
            matches[torch.arange(len(rows)), own[rows]] = False
        ranked = matches.gather(1, similarity.argsort(dim=1, descending=True, stable=True)).double()
        for depth, parts in recall.items():
            parts.append(ranked[:, :depth].amax(dim=1))
        ranks = torch.arange(1, ranked.shape[1] + 1, device=ranked.device)
        found = ranked.cumsum(dim=1)
        precision.append((ranked * found / ranks).sum(dim=1) / found[:, -1].clamp(min=1))
    return SearchQuality({depth: torch.cat(parts) for depth, parts in recall.items()}, torch.cat(precision))


def nearest_neighbour_vote(
    queries: Tensor, query_labels: Tensor, gallery: Tensor, gallery_labels: Tensor, neighbours: int
) -> Tensor:
    """1 for each query whose `neighbours` nearest gallery members vote for its label, else 0; float64 (Q,).

    A tie goes to the smaller label, as in scikit-learn.
    """
    classes = int(gallery_labels.max()) + 1
    neighbours = min(neighbours, len(gallery))
    correct = []
    for rows in torch.arange(len(queries), device=queries.device).split(1024):
        nearest = (queries[rows] @ gallery.T).topk(neighbours, dim=1).indices
        labels = gallery_labels[nearest]
        votes = torch.zeros(len(rows), classes, dtype=torch.float64, device=queries.device)
        votes.scatter_add_(1, labels, torch.ones_like(labels, dtype=torch.float64))
        smaller_first = torch.arange(classes, device=queries.device) / (2 * classes)
        votes -= smaller_first  # less than half a vote: it decides between equal counts only
        correct.append((votes.argmax(dim=1) == query_labels[rows]).double())
    return torch.cat(correct)
