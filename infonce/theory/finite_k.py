"""Exact finite-k risks: expectations over k i.i.d. negatives from the pool, without Monte Carlo (Sec. 4).

With `r_j = exp((s(a,b_j)-1)/τ)`, `L(t) = mean_j exp(-t r_j)` over the pool, `r_p` the same for the positive and any
`c > 0`, Frullani's integral gives, for InfoNCE (for DCL leave out r_p):

    E log(r_p + Σ_{j≤k} r_{b_j}) = log c + ∫_0^∞ (e^{-ct} - e^{-t r_p} L(t)^k) dt/t.

`c` is the mean of the left side's argument, so that the integrand falls off like t² at 0. The trapezoidal rule in
`log t` converges geometrically, and one L serves every k and both losses.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from infonce.theory.checks import (
    Rows,
    counts,
    embeddings,
    excluded_members,
    loss_name,
    positive_number,
)
from infonce.theory.finite_search import searched_similarity
from infonce.theory.kernels import ANCHOR_BLOCK, KernelStatistics, log_mean_exp, similarity_blocks
from infonce.theory.laplace import BIN_WIDTH, BINS_PER_NODE, BinnedPool

Method = Literal["binned", "direct"]

DIRECT_STEP = 0.25  # of log t; the error of the rule is about exp(-π²/step)
CHUNK = 32  # nodes at a time
NEGLIGIBLE = 1e-20  # of an integrand


@dataclass(frozen=True)
class FiniteRisks:
    """Risks of every anchor at every k, in the paper's normalisation (with -log k), nats, given the pool."""

    negatives: tuple[int, ...]
    cross_entropy: np.ndarray  # (A,): the limit k → ∞
    infonce_difference: np.ndarray  # (len(negatives), A): R - CE, exact also where it is tiny
    dcl_difference: np.ndarray  # (len(negatives), A): R̃ - CE

    def difference(self, loss: str) -> np.ndarray:
        """R - CE of `infonce` or `dcl`, (len(negatives), A)."""
        return self.infonce_difference if loss_name(loss) == "infonce" else self.dcl_difference

    def risk(self, loss: str) -> np.ndarray:
        """R of `infonce` or `dcl`, (len(negatives), A)."""
        return self.cross_entropy + self.difference(loss)


def expected_risk(
    anchors: Rows,
    positives: Rows,
    pool: Rows,
    temperature: float,
    negatives: Iterable[int] | int,
    loss: str = "infonce",
) -> np.ndarray:
    """Mean risk R(k) over the anchors for each k, float64 (len(negatives),), by direct quadrature (measured).

    Negatives are i.i.d. uniform draws with replacement from `pool` (m, d); `anchors` and `positives` are (A, d);
    all rows are unit vectors. Accurate to 1e-10. Raises ValueError naming a bad argument.
    """
    loss_name(loss)
    return finite_risks(anchors, positives, pool, temperature, negatives, method="direct").risk(loss).mean(1)


def risk_per_anchor(
    anchors: Rows,
    positives: Rows,
    pool: Rows,
    temperature: float,
    negatives: Iterable[int] | int,
    loss: str = "infonce",
    exclude: Any = None,
    method: Method = "binned",
) -> np.ndarray:
    """Risk of each anchor at each k, float64 (len(negatives), A); see `finite_risks`, which gives both losses."""
    loss_name(loss)
    return finite_risks(anchors, positives, pool, temperature, negatives, exclude, method).risk(loss)


def finite_risks(
    anchors: Rows,
    positives: Rows,
    pool: Rows,
    temperature: float,
    negatives: Iterable[int] | int,
    exclude: Any = None,
    method: Method = "binned",
    watch: Callable[[range], Iterable[int]] = iter,
) -> FiniteRisks:
    """InfoNCE and DCL risks of every anchor at every k, from one pass over the similarities (measured; Sec. 4).

    `exclude` (A,) leaves one pool member out for each anchor (-1: none). `method="direct"` sums over the whole pool
    at every node of the quadrature (accurate to 1e-10); `"binned"` sorts the log weights into narrow bins with
    their moments first and is within its `accuracy` of it, near the cost of one pass. Memory does not grow with A·m.
    `watch` hands on the blocks of anchors one by one, and may show how far they are. Raises ValueError naming a bad
    argument.
    """
    tau = positive_number(temperature, "temperature")
    a, p, b = embeddings(anchors, positives, pool)
    assert p is not None
    ks = counts(negatives, "negatives")
    if method not in ("binned", "direct"):
        raise ValueError(f"method: expected 'binned' or 'direct', got {method!r}")
    left_out = excluded_members(exclude, len(a), b)
    log_positive = ((a * p).sum(1) - 1) / tau
    factory = _direct if method == "direct" else _binned
    parts = []
    for start in watch(range(0, len(a), ANCHOR_BLOCK)):
        rows = slice(start, start + ANCHOR_BLOCK)
        parts.append(_risks(factory(a[rows], b, tau, left_out[rows]), log_positive[rows], ks))
    ce, infonce, dcl = (torch.cat(column, -1).cpu().numpy() for column in zip(*parts, strict=True))
    return FiniteRisks(tuple(ks), ce, infonce, dcl)


def accuracy(q_positive: float, chi2: float, k: int) -> float:
    """How far R - CE by bins may be from the direct quadrature, nats: `min{1e-8, 1e-7 (1 + q + χ²/2)/k}`.

    Measured, not proved (a property test): bins are as exact for the terms of the order 1/k as for the weights.
    """
    return min(1e-8, 1e-7 * (1 + q_positive + chi2 / 2) / k)


def first_order_coefficient(statistics: KernelStatistics, loss: str = "infonce") -> np.ndarray:
    """c₁ of each anchor in `R - CE = c₁/k + c₂/k² + O(k⁻³)`: q_a(p) - χ²/2, for DCL -χ²/2 (tight; Sec. 4)."""
    minus_half_chi2 = -statistics.chi2 / 2
    return minus_half_chi2 + statistics.q_positive if loss_name(loss) == "infonce" else minus_half_chi2


def second_order_coefficient(statistics: KernelStatistics, loss: str = "infonce") -> np.ndarray:
    """c₂ of each anchor: μ₃/3 - ¾(χ²)², for InfoNCE with -q²/2 + qχ² added, q = q_a(p) (tight; docs/theory.md)."""
    chi2, q = statistics.chi2, statistics.q_positive
    of_dcl = statistics.third_moment / 3 - 0.75 * chi2**2
    return of_dcl - q**2 / 2 + q * chi2 if loss_name(loss) == "infonce" else of_dcl


@dataclass(frozen=True)
class _Transform:
    """The Laplace transform L of the weights r of a block of anchors, at the nodes log t = step·i."""

    complement: Callable[[int, int], torch.Tensor]  # (first node, nodes) -> 1 - L (rows, nodes)
    log_mean: torch.Tensor  # (rows,): log of the mean of r
    log_range: tuple[float, float]  # of log r over the block
    step: float


def _risks(
    transform: _Transform, log_positive: torch.Tensor, ks: list[int]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(CE, R - CE, R̃ - CE) of a block of anchors."""
    log_k = torch.tensor(ks, dtype=torch.float64, device=log_positive.device)[:, None].log()
    log_dcl_mean = log_k + transform.log_mean  # log c, (len(ks), rows)
    log_infonce_mean = torch.logaddexp(log_dcl_mean, log_positive)
    infonce, dcl = torch.zeros_like(log_dcl_mean), torch.zeros_like(log_dcl_mean)
    low, high = transform.log_range
    # Below the first node both integrands are about k (t r_max)², above the last one exp(-t r_min).
    first = [math.floor((0.5 * math.log(NEGLIGIBLE / k) - high) / transform.step) for k in ks]
    last = math.ceil((math.log(-math.log(NEGLIGIBLE)) - low) / transform.step)
    pending = set(range(len(ks)))
    for start in range(min(first), last + CHUNK, CHUNK):
        log_t = torch.arange(start, start + CHUNK, device=log_k.device).double() * transform.step
        log_transform = torch.log1p(-transform.complement(start, CHUNK).clamp_(max=1.0))
        of_positive = (log_t + log_positive[:, None]).exp()
        for i in [i for i in pending if first[i] < start + CHUNK]:
            log_power = ks[i] * log_transform
            infonce[i] += (_exponential(log_t, log_infonce_mean[i]) - (log_power - of_positive).exp()).sum(1)
            dcl[i] += (_exponential(log_t, log_dcl_mean[i]) - log_power.exp()).sum(1)
            if float(log_power[:, -1].max()) < math.log(NEGLIGIBLE):
                pending.remove(i)  # L^k bounds all four terms from here on, by Jensen's inequality
        if not pending:
            break
    infonce = infonce * transform.step + (log_infonce_mean - log_dcl_mean)
    return transform.log_mean - log_positive, infonce, dcl * transform.step


def _exponential(log_t: torch.Tensor, log_c: torch.Tensor) -> torch.Tensor:
    """exp(-c t), (rows, nodes)."""
    return (-(log_t + log_c[:, None]).exp()).exp()


def _direct(anchors: torch.Tensor, pool: torch.Tensor, tau: float, excluded: torch.Tensor) -> _Transform:
    """The transform summed over the whole pool at every node."""
    size = (len(pool) - (excluded >= 0).double())[:, None]
    blocks = [
        block.sub_(1).div_(tau).index_put_((pairs[0], pairs[1]), block.new_tensor(-torch.inf))
        for _, block, pairs in similarity_blocks(anchors, pool, excluded)
    ]

    def complement(first_node: int, nodes: int) -> torch.Tensor:
        log_t = [DIRECT_STEP * i for i in range(first_node, first_node + nodes)]
        sums = [torch.stack([-torch.expm1(-(x + v).exp()).sum(1) for v in log_t], 1) for x in blocks]
        return torch.stack(sums).sum(0) / size

    finite = [block[block.isfinite()] for block in blocks]
    low, high = min(float(x.min()) for x in finite if len(x)), max(float(x.max()) for x in finite if len(x))
    return _Transform(complement, log_mean_exp(anchors, pool, tau, excluded) - 1 / tau, (low, high), DIRECT_STEP)


def _binned(anchors: torch.Tensor, pool: torch.Tensor, tau: float, excluded: torch.Tensor) -> _Transform:
    """The transform of the binned log weights."""
    binned = BinnedPool(len(anchors), 2 / tau, pool.device)
    for _, block, pairs in similarity_blocks(anchors, pool, excluded):
        binned.add(block.sub_(1).div_(tau), pairs)
    return _Transform(binned.complement, binned.log_mean(), binned.log_range(), BINS_PER_NODE * BIN_WIDTH)


def empirical_kernel_cross_entropy(
    anchors: Rows, pool: Rows, density: Rows, temperature: float, negatives: Iterable[int] | int
) -> np.ndarray:
    """CE_k of a search over k pool points, mean over anchors, float64 (len(negatives),) (measured; Sec. 3 and 4).

    `density` (A, m) holds dM/dπ of every anchor at every pool point, up to a factor for each row. Accurate to 1e-10.
    Raises ValueError naming a bad argument.
    """
    return empirical_kernel_cross_entropy_per_anchor(anchors, pool, density, temperature, negatives).mean(1)


def empirical_kernel_cross_entropy_per_anchor(
    anchors: Rows,
    pool: Rows,
    density: Rows,
    temperature: float,
    negatives: Iterable[int] | int,
    exclude: Any = None,
) -> np.ndarray:
    """CE_k of each anchor, `E[-Σ w_i s(a,ξ_i)/τ + log (1/k) Σ exp(s(a,ξ_i)/τ)]`, float64 (len(negatives), A).

    Arguments as those of `finite_search_difference`. The logarithm is that of the DCL risk of a positive at the anchor.
    """
    tau = positive_number(temperature, "temperature")
    mean, excess = searched_similarity(anchors, pool, density, negatives, exclude)
    logarithm = finite_risks(anchors, anchors, pool, tau, negatives, exclude, "direct").risk("dcl") + 1 / tau
    return logarithm - (mean + excess) / tau
