"""The search among k points drawn from the pool, where the density dM/dπ is known (Sec. 3 and 4).

Its cross-entropy CE_k weighs the k points by dM/dπ, normalised over them. Here is what sets it apart from the DCL risk
with k negatives; `finite_k.empirical_kernel_cross_entropy` adds the two.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from infonce.theory.checks import Rows, counts, densities, embeddings, excluded_members, positive_number

STEP = 0.25  # of log u; the error of the rule is about exp(-π²/step)
ANCHORS = 16  # at a time
NEGLIGIBLE = 1e-20  # of an integrand


def finite_search_difference(
    anchors: Rows,
    pool: Rows,
    density: Rows,
    temperature: float,
    negatives: Iterable[int] | int,
    exclude: Any = None,
) -> np.ndarray:
    """CE_k - R̃ of each anchor, `(E_M s(a,p) - E Σ w_i s(a,ξ_i))/τ`, float64 (len(negatives), A), nats (Sec. 3 and 4).

    `w` is dM/dπ normalised over the k points ξ; where it is zero at all of them, M itself stands in for it. π is the
    pool (m, d) and M the pool weighted by `density` (A, m), up to a factor for each row, on both sides. It is 0 for a
    density that is constant on its support, for which CE_k is therefore the DCL risk. `exclude` as in `finite_risks`.
    Raises ValueError naming a bad argument.
    """
    tau = positive_number(temperature, "temperature")
    return -searched_similarity(anchors, pool, density, negatives, exclude)[1] / tau


def searched_similarity(
    anchors: Rows, pool: Rows, density: Rows, negatives: Iterable[int] | int, exclude: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """E_M s(a,p) of each anchor (A,), and by how much E Σ w_i s(a,ξ_i) exceeds it, (len(negatives), A)."""
    a, _, b = embeddings(anchors, None, pool)
    ks = counts(negatives, "negatives")
    left_out = excluded_members(exclude, len(a), b)
    r = densities(density, a, b, left_out)
    parts = []
    for start in range(0, len(a), ANCHORS):
        rows = slice(start, start + ANCHORS)
        size = len(b) - (left_out[rows] >= 0).double()[:, None]
        parts.append(_similarities(a[rows] @ b.T, r[rows], size, ks))
    mean, excess = (torch.cat(column, -1).cpu().numpy() for column in zip(*parts, strict=True))
    return mean, excess


def empty_support_frequency(support: float, negatives: Iterable[int] | int) -> np.ndarray:
    """How often none of k i.i.d. points falls where dM/dπ > 0: (1-p)^k, float64 (len(negatives),), exact.

    `support` is p, the probability under π of that set, e.g. the share of the anchor's class in the pool.
    """
    ks = np.array(counts(negatives, "negatives"), dtype=np.float64)
    if not 0 <= support <= 1:
        raise ValueError(f"support: expected a probability in [0, 1], got {support!r}")
    with np.errstate(divide="ignore"):
        return np.exp(ks * np.log1p(-np.float64(support)))


def _similarities(
    s: torch.Tensor, r: torch.Tensor, size: torch.Tensor, ks: list[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """M's mean of s (rows,), and by how much E[Σ r_i s_i / Σ r_i] over k i.i.d. points exceeds it, (len(ks), rows).

    Where every r_i is 0 nothing exceeds it.

    It is `k ∫ E[r s e^{-ur}] (E e^{-ur})^{k-1} du`; s enters less its mean under M, which makes the integrand fall
    off like u² at 0 and settles the empty support at once.
    """
    mean = (r * s).sum(1, keepdim=True) / size
    centred = r * (s - mean)
    support = r[r > 0]
    low, high = math.log(float(support.min())), math.log(float(support.max()))
    first = math.floor((0.5 * math.log(NEGLIGIBLE / max(ks)) - high) / STEP)
    last = math.ceil((math.log(-2 * math.log(NEGLIGIBLE)) - low) / STEP)
    k = torch.tensor(ks, dtype=torch.float64, device=s.device)[:, None]
    total = torch.zeros((len(ks), len(s)), dtype=torch.float64, device=s.device)
    for log_u in (STEP * i for i in range(first, last + 1)):
        u = math.exp(log_u)
        decay = torch.expm1(-u * r)
        log_transform = torch.log1p((decay.sum(1) / size[:, 0]).clamp_(min=-1.0))
        others = torch.where(k > 1, (k - 1) * log_transform, 0.0)  # (E e^{-ur})^0 is 1, also where its log is -inf
        # `centred` adds up to zero: expm1 keeps the digits of its small transform, exp those of a large u.
        kept = decay if log_u + high < 0 else torch.exp(-u * r)
        total += k * u * ((centred * kept).sum(1) / size[:, 0]) * others.exp()
    return mean[:, 0], total * STEP
