"""How much a loss changes when the embedding moves: Prop 4 (averages over negatives), its sharper form, and Eq 18.

A displacement is `Δ = ‖φ(z) - φ'(z)‖` at one point. Displacements of anchors and positives have any shape (...), those
of the negatives (..., k): the mean and the maximum run over the last axis. Results have the shape (...).
Every function raises ValueError naming a bad argument.
"""

from typing import Any

import numpy as np

from infonce.theory.checks import positive_number

SECTIONS = 32  # golden-section steps shrink the interval of 1/β to 2·10⁻⁷; any β is valid, the best within 10⁻¹²


def prop4(
    displacement_anchor: Any, displacement_positive: Any, displacement_negatives: Any, temperature: float, beta: float
) -> Any:
    """Upper bound of |ℓ(φ) - ℓ(φ')|: `(4/τ)Δ_a + (1/τ)Δ_p + (3/τ) e^{2/(βτ)} (mean_j Δ_j^β)^{1/β}`, β ≥ 1 (literal).

    Infinite only where the value exceeds the range of float64; `log_prop4` then has its logarithm.
    """
    with np.errstate(over="ignore"):
        return np.exp(log_prop4(displacement_anchor, displacement_positive, displacement_negatives, temperature, beta))


def log_prop4(
    displacement_anchor: Any, displacement_positive: Any, displacement_negatives: Any, temperature: float, beta: float
) -> Any:
    """Natural logarithm of `prop4`; -inf where nothing moves."""
    tau = positive_number(temperature, "temperature")
    if positive_number(beta, "beta") < 1:
        raise ValueError(f"beta: expected a number of at least 1, got {beta}")
    anchor, positive, negatives = _displacements(displacement_anchor, displacement_positive, displacement_negatives)
    logs = log_weighted_power_mean(_log(negatives), tau, np.float64(1 / beta))
    return _log_sum((4, anchor), (1, positive), (3, logs)) - np.log(tau)


def literal_beta(temperature: float) -> float:
    """The β that Prop 4 is evaluated at, `max(1, 2/τ)`: the factor `e^{2/(βτ)}` is then at most e (literal)."""
    return max(1.0, 2 / positive_number(temperature, "temperature"))


def tight_prop4(
    displacement_anchor: Any, displacement_positive: Any, displacement_negatives: Any, temperature: float
) -> Any:
    """`(2/τ)Δ_a + (1/τ)Δ_p + (1/τ) min_{β≥1} e^{2/(βτ)} (mean_j Δ_j^β)^{1/β}`, β of each tuple (tight; Sec. 6)."""
    tau = positive_number(temperature, "temperature")
    anchor, positive, negatives = _displacements(displacement_anchor, displacement_positive, displacement_negatives)
    return np.exp(_log_sum((2, anchor), (1, positive), (1, log_best_power_mean(negatives, tau))) - np.log(tau))


def eq18(displacement_anchor: Any, displacement_positive: Any, displacement_negatives: Any, temperature: float) -> Any:
    """The max-type rival (Lei et al., 2023): `(√6/τ) sqrt(Δ_a² + Δ_p² + max_j Δ_j²)` (literal; Eq 18)."""
    tau = positive_number(temperature, "temperature")
    anchor, positive, negatives = _displacements(displacement_anchor, displacement_positive, displacement_negatives)
    return np.sqrt(6.0) / tau * np.sqrt(anchor**2 + positive**2 + negatives.max(-1) ** 2)


def log_best_power_mean(values: np.ndarray, tau: float) -> Any:
    """log of `min_β e^{2/(βτ)} (mean_j v_j^β)^{1/β}` over β in [1, ∞], for values (..., k) ≥ 0: (...).

    Its logarithm is convex in 1/β (a perspective of a log-sum-exp), so a golden-section search finds the minimum.
    β = ∞ is the maximum over j, so the result never exceeds that.
    """
    logs = _log(values)
    low, high = np.zeros(logs.shape[:-1]), np.ones(logs.shape[:-1])
    golden = (np.sqrt(5.0) - 1) / 2
    left, right = 1 - golden + low, golden * high
    at_left, at_right = (log_weighted_power_mean(logs, tau, x) for x in (left, right))
    best = np.minimum(*(log_weighted_power_mean(logs, tau, x) for x in (low, high)))
    for _ in range(SECTIONS):
        leftwards = at_left <= at_right
        low, high = np.where(leftwards, low, left), np.where(leftwards, right, high)
        best = np.minimum(best, np.where(leftwards, at_left, at_right))
        fresh = np.where(leftwards, high - golden * (high - low), low + golden * (high - low))
        at_fresh = log_weighted_power_mean(logs, tau, fresh)
        left, right = np.where(leftwards, fresh, right), np.where(leftwards, left, fresh)
        at_left, at_right = np.where(leftwards, at_fresh, at_right), np.where(leftwards, at_left, at_fresh)
    return best


def log_weighted_power_mean(logs: np.ndarray, tau: float, inverse_beta: Any) -> Any:
    """log of `e^{2/(βτ)} (mean_j v_j^β)^{1/β}` from log v (..., k) and 1/β in [0, 1] of shape (...)."""
    top = logs.max(-1)
    level = np.where(np.isfinite(top), top, 0.0)
    x = np.asarray(inverse_beta)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.exp((logs - level[..., None]) / x).mean(-1)
        spread = np.where(x[..., 0] > 0, x[..., 0] * np.log(mean), 0.0)
    return np.where(np.isfinite(top), level + spread + 2 * x[..., 0] / tau, -np.inf)


def _displacements(anchor: Any, positive: Any, negatives: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    named = {"displacement_anchor": anchor, "displacement_positive": positive, "displacement_negatives": negatives}
    a, p, b = (checked_lengths(values, name) for name, values in named.items())
    if b.ndim == 0 or b.shape[-1] == 0:
        raise ValueError(
            f"displacement_negatives: expected at least one negative on the last axis, got shape {b.shape}"
        )
    if not (a.shape == p.shape == b.shape[:-1]):
        raise ValueError(
            f"displacement_negatives: expected shape (..., k) with anchors and positives of shape (...), "
            f"got {b.shape}, {a.shape} and {p.shape}"
        )
    return a, p, b


def checked_lengths(values: Any, name: str) -> np.ndarray:
    """Finite lengths of at least zero, float64."""
    lengths = np.asarray(values, dtype=np.float64)
    if not np.isfinite(lengths).all() or (lengths < 0).any():
        wrong = lengths[~(np.isfinite(lengths) & (lengths >= 0))].flat[0]
        raise ValueError(f"{name}: expected finite lengths of at least 0, got {wrong}")
    return lengths


def _log(values: Any) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(values)


def _log_sum(anchor: tuple[int, Any], positive: tuple[int, Any], negatives: tuple[int, Any]) -> Any:
    """log(c_a Δ_a + c_p Δ_p + c_b e^x) from (c_a, Δ_a), (c_p, Δ_p) and (c_b, x)."""
    (c_a, a), (c_p, p), (c_b, x) = anchor, positive, negatives
    return np.logaddexp(_log(c_a * a + c_p * p), x + np.log(c_b))
