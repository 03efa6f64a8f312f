"""How far training moved the embedding of every point of every tuple: what Prop 4 and Eq 18 are about."""

from dataclasses import dataclass

from torch import Tensor

from infonce.data.inputs import TupleInputs
from infonce.evaluation.embedding import EmbeddedTuples, negatives_in_pool

MOST_TUPLES = 512  # the bounds are means over tuples; more add cost and little accuracy
FEWEST_TUPLES, NEGATIVES_AT_MOST = 64, 2**22  # numbers that belong to negatives, so that memory does not grow with k


def tuples_for(k: int, most: int) -> int:
    """Of how many tuples numbers of each negative are kept: at most `most`, fewer where k is above 2²²/`most`."""
    return min(most, max(FEWEST_TUPLES, NEGATIVES_AT_MOST // k))


@dataclass(frozen=True)
class Displacement:
    """‖φ(z) - φ'(z)‖ at the points of tuples, float64."""

    anchors: Tensor  # (B,)
    positives: Tensor  # (B,)
    negatives: Tensor  # (B, k)


def displacement(before: EmbeddedTuples, after: EmbeddedTuples, inputs: TupleInputs) -> Displacement:
    """Displacements between two encoders' embeddings of the same tuples, of the first 512 at most (`tuples_for`)."""
    rows = slice(0, tuples_for(inputs.spec.negatives, MOST_TUPLES))
    return Displacement(
        (after.anchors[rows] - before.anchors[rows]).norm(dim=1),
        (after.positives[rows] - before.positives[rows]).norm(dim=1),
        (after.pool - before.pool).norm(dim=1)[negatives_in_pool(after, inputs, rows)],
    )
