import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GOLDEN = Path(__file__).parents[1] / "golden"


def unit(rows: Any) -> np.ndarray:
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def random_embeddings(seed: int, anchors: int, pool: int, dimension: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clustered anchors, positives near them, and a pool."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(3, dimension))
    a = unit(centres[generator.integers(3, size=anchors)] + 0.7 * generator.normal(size=(anchors, dimension)))
    p = unit(a + 0.4 * generator.normal(size=(anchors, dimension)))
    b = unit(centres[generator.integers(3, size=pool)] + 0.7 * generator.normal(size=(pool, dimension)))
    return a, p, b


@pytest.fixture(scope="session")
def golden_finite_k() -> dict[str, Any]:
    data = json.loads((GOLDEN / "finite_k.json").read_text())
    for name in ("anchors", "positives", "pool"):
        data[name] = unit(data[name])
    return data


@pytest.fixture(scope="session")
def golden_bounds() -> list[dict[str, Any]]:
    return json.loads((GOLDEN / "bounds.json").read_text())
