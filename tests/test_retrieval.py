import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier

from infonce.retrieval import nearest_neighbour_vote, search_quality


def unit_rows(count: int, dimension: int, seed: int) -> torch.Tensor:
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    return torch.from_numpy(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.fixture
def embedded():
    labels = torch.from_numpy(np.random.default_rng(3).integers(0, 4, 120))
    return unit_rows(120, 5, 1), labels


def test_recall_and_average_precision_against_naive_loops(embedded):
    points, labels = embedded
    own = torch.arange(len(points))
    quality = search_quality(points, labels, points, labels, own)
    for query in range(len(points)):
        others = [j for j in range(len(points)) if j != query]
        similarity = (points[query] @ points[others].T).numpy()
        matches = (labels[others] == labels[query]).numpy()
        order = np.argsort(-similarity)
        for depth in (1, 5, 10):
            assert quality.recall[depth][query] == float(matches[order[:depth]].any())
        expected = average_precision_score(matches, similarity)
        assert quality.average_precision[query].item() == pytest.approx(expected, abs=1e-12)


def test_the_own_image_is_left_out():
    points = unit_rows(6, 3, 5)
    labels = torch.arange(6)
    quality = search_quality(points, labels, points, labels, torch.arange(6))
    assert quality.recall[10].sum() == 0  # every label occurs once, so only the own image could match
    assert quality.average_precision.sum() == 0
    with_own = search_quality(points, labels, points, labels)
    assert with_own.recall[1].sum() == 6


@pytest.mark.parametrize("neighbours", [1, 2, 7, 20])
def test_vote_agrees_with_scikit_learn(embedded, neighbours):
    points, labels = embedded
    gallery, gallery_labels = (
        unit_rows(200, 5, 9),
        torch.from_numpy(np.random.default_rng(4).integers(0, 4, 200)),
    )
    classifier = KNeighborsClassifier(neighbours, algorithm="brute", metric="cosine")
    expected = classifier.fit(gallery.numpy(), gallery_labels.numpy()).predict(points.numpy()) == labels.numpy()
    vote = nearest_neighbour_vote(points, labels, gallery, gallery_labels, neighbours)
    assert vote.tolist() == expected.astype(float).tolist()


def test_more_neighbours_than_the_gallery_has():
    points = unit_rows(4, 3, 2)
    labels = torch.tensor([0, 0, 0, 1])
    assert nearest_neighbour_vote(points, labels, points, labels, 50).tolist() == [1, 1, 1, 0]
