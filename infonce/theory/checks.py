"""Checked inputs of the mathematics. Every refusal names the argument, what was given and what is expected."""

import math
import operator
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import torch

Rows: TypeAlias = torch.Tensor | np.ndarray

UNIT_TOLERANCE = 1e-5  # float32 rows are unit to about 3e-7; rows normalised in bfloat16 are off by 4e-3
LOSSES = ("infonce", "dcl")


def as_float64(values: Any, name: str, dimensions: int) -> torch.Tensor:
    """`values` as a finite float64 tensor with that many dimensions, none of them empty, on its own device."""
    try:
        if not isinstance(values, torch.Tensor):
            values = torch.from_numpy(np.array(values, dtype=np.float64))
        tensor = values.detach().to(torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name}: expected an array of numbers, got {type(values).__name__}") from error
    if tensor.ndim != dimensions or 0 in tensor.shape:
        raise ValueError(f"{name}: expected {dimensions} non-empty dimension(s), got shape {tuple(tensor.shape)}")
    finite = torch.isfinite(tensor)
    if not bool(finite.all()):
        place = tuple(int(i) for i in (~finite).nonzero()[0])
        raise ValueError(f"{name}: expected finite numbers, got {float(tensor[place])} at index {place}")
    return tensor


def unit_rows(rows: Rows, name: str) -> torch.Tensor:
    """Embeddings (count, d) on the unit sphere as float64.

    Rows within `UNIT_TOLERANCE` of unit length are accepted and normalised once more in float64, so that
    similarities of float32 embeddings stay in [-1, 1].
    """
    tensor = as_float64(rows, name, 2)
    norms = torch.linalg.vector_norm(tensor, dim=1)
    worst = int((norms - 1).abs().argmax())
    if abs(float(norms[worst]) - 1) > UNIT_TOLERANCE:
        raise ValueError(
            f"{name}: expected rows of unit length (within {UNIT_TOLERANCE:g}), "
            f"got length {float(norms[worst]):.6g} in row {worst}"
        )
    return tensor / norms[:, None]


def embeddings(
    anchors: Rows, positives: Rows | None, pool: Rows
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """Unit anchors (A, d), positives (A, d) or None, and pool (m, d) of the same width on the same device."""
    a, b = unit_rows(anchors, "anchors"), unit_rows(pool, "pool")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"pool: expected the anchors' width {a.shape[1]}, got shape {tuple(b.shape)}")
    p = None if positives is None else unit_rows(positives, "positives")
    if p is not None and p.shape != a.shape:
        raise ValueError(f"positives: expected the anchors' shape {tuple(a.shape)}, got {tuple(p.shape)}")
    for name, other in (("pool", b), ("positives", p)):
        if other is not None and other.device != a.device:
            raise ValueError(f"{name}: expected the anchors' device {a.device}, got {other.device}")
    return a, p, b


def excluded_members(exclude: Any, anchors: int, pool: torch.Tensor) -> torch.Tensor:
    """For each anchor the pool member that is left out, int64 (A,), -1 for none."""
    if exclude is None:
        return torch.full((anchors,), -1, dtype=torch.int64, device=pool.device)
    index = torch.as_tensor(exclude)
    if index.shape != (anchors,) or index.dtype.is_floating_point or index.dtype.is_complex:
        raise ValueError(
            f"exclude: expected {anchors} integers, one for each anchor, "
            f"got shape {tuple(index.shape)} of {index.dtype}"
        )
    index = index.to(pool.device, torch.int64)
    members = pool.shape[0]
    if int(index.min()) < -1 or int(index.max()) >= members:
        wrong = int(index.min()) if int(index.min()) < -1 else int(index.max())
        raise ValueError(f"exclude: expected -1 or a pool index below {members}, got {wrong}")
    if members == 1 and int(index.max()) == 0:
        raise ValueError("exclude: leaves an anchor with an empty pool; expected at least two pool members")
    return index


def densities(density: Rows, anchors: torch.Tensor, pool: torch.Tensor, excluded: torch.Tensor) -> torch.Tensor:
    """dM/dπ (A, m) scaled to mean one over each anchor's pool; 0 at the excluded member."""
    r = as_float64(density, "density", 2)
    if r.shape != (len(anchors), len(pool)):
        raise ValueError(f"density: expected shape {(len(anchors), len(pool))}, got {tuple(r.shape)}")
    if float(r.min()) < 0:
        raise ValueError(f"density: expected numbers of at least 0, got {float(r.min())}")
    r = r.to(pool.device, copy=True)
    rows = (excluded >= 0).nonzero()[:, 0]
    r[rows, excluded[rows]] = 0.0
    total = r.sum(1)
    if float(total.min()) <= 0:
        raise ValueError(f"density: expected a number above 0 in every row, row {int(total.argmin())} is all zero")
    return r / (total / (len(pool) - (excluded >= 0).double()))[:, None]


def positive_number(value: Any, name: str) -> float:
    """A finite number above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected a number above 0, got {value!r}") from error
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name}: expected a finite number above 0, got {number}")
    return number


def non_negative_number(value: Any, name: str) -> float:
    """A finite number, zero allowed."""
    return 0.0 if value == 0 else positive_number(value, name)


def count(value: Any, name: str) -> int:
    """A whole number of at least one."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise ValueError(f"{name}: expected a whole number of at least 1, got {value!r}") from error
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"{name}: expected a whole number of at least 1, got {value!r}")
    return number


def counts(values: Iterable[Any] | int, name: str) -> list[int]:
    """A list of whole numbers, each at least one; a single number is a list of one."""
    numbers = [values] if isinstance(values, int) else list(values)
    if not numbers:
        raise ValueError(f"{name}: expected at least one whole number, got an empty list")
    return [count(number, name) for number in numbers]


def probability(value: Any, name: str) -> float:
    """A number strictly between zero and one."""
    number = positive_number(value, name)
    if number >= 1:
        raise ValueError(f"{name}: expected a number strictly between 0 and 1, got {number}")
    return number


def loss_name(value: str) -> str:
    """`infonce` or `dcl`."""
    if value not in LOSSES:
        raise ValueError(f"loss: expected one of {', '.join(LOSSES)}, got {value!r}")
    return value
