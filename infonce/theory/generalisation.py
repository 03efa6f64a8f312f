"""How far a held-out risk can be from an empirical one: Prop 3 and 5, Lemma 1, Theorem 1, and our sharper forms.

n = training tuples, k = negatives, τ = temperature, δ = what the probability of failure may be, d_θ = parameters,
R_θ = radius of the ball around the initial parameters. Values in nats. Every function raises ValueError naming a bad
argument; powers and exponentials that overflow are taken in log space.
"""

import math
from typing import Any

import numpy as np

from infonce.theory.checks import count, loss_name, non_negative_number, positive_number, probability
from infonce.theory.stability import checked_lengths, log_best_power_mean


def loss_range(k: int, temperature: float, loss: str = "infonce") -> float:
    """Largest minus smallest loss: `log((1/k + e^{2/τ})/(1/k + e^{-2/τ}))`, for DCL `4/τ` (tight; Sec. 6)."""
    return largest_loss(k, temperature, loss) - _extreme_loss(k, -2 / float(temperature), loss)


def largest_loss(k: int, temperature: float, loss: str = "infonce") -> float:
    """The largest loss that a tuple can have: `log(1/k + e^{2/τ})`, for DCL `2/τ` (exact)."""
    return _extreme_loss(k, 2 / positive_number(temperature, "temperature"), loss)


def prop3_sample(n: int, temperature: float, delta: float) -> float:
    """Last term of `R ≤ R̂_n + 2 Rad + (12/τ) sqrt(log(2/δ)/(2n))`, with probability 1-δ (literal; Prop 3)."""
    return 12 / positive_number(temperature, "temperature") * _deviation(n, delta)


def tight_sample(n: int, k: int, temperature: float, delta: float, loss: str = "infonce") -> float:
    """`3·range·sqrt(log(2/δ)/(2n))` with the exact range of the loss (tight; Sec. 6)."""
    return 3 * loss_range(k, temperature, loss) * _deviation(n, delta)


def b_tau(anchor_norms: Any, positive_norms: Any, negative_norms: Any, temperature: float) -> float:
    """B_τ = rms‖a‖ + rms‖p‖ + (mean_{i,j} ‖b_ij‖^{2/(1∧τ)})^{(1∧τ)/2} (literal; Lemma 1).

    Norms of the encoder's inputs over the training tuples, of any shape; the mean runs over all of them.
    """
    power = 2 / min(1.0, positive_number(temperature, "temperature"))
    a, p, b = _norms(anchor_norms, positive_norms, negative_norms)
    with np.errstate(divide="ignore"):
        log_mean = np.logaddexp.reduce(power * np.log(b), axis=None) - math.log(b.size)
    return float(_rms(a) + _rms(p) + np.exp(log_mean / power))


def prop5_rademacher(
    n: int, temperature: float, parameters: int, radius: float, b_tau: float, lipschitz: float
) -> float:
    """Rad ≤ `(96/τ) sqrt(d_θ/n) min{A sqrt(log 3 + 1), sqrt(log(1+2A) + 1)}`, `A = e R_θ B_τ C_Φ` (literal; Prop 5)."""
    tau = positive_number(temperature, "temperature")
    size = (
        math.e
        * non_negative_number(radius, "radius")
        * non_negative_number(b_tau, "b_tau")
        * non_negative_number(lipschitz, "lipschitz")
    )
    of_ball = min(size * math.sqrt(math.log(3) + 1), math.sqrt(math.log1p(2 * size) + 1))
    return 96 / tau * math.sqrt(count(parameters, "parameters") / count(n, "n")) * of_ball


def log_tuple_sensitivity(
    anchor_norms: Any, positive_norms: Any, negative_norms: Any, temperature: float
) -> np.ndarray:
    """log of `2‖a‖ + ‖p‖ + min_β e^{2/(βτ)} (mean_j ‖b_j‖^β)^{1/β}` for each tuple (n,) (tight; Sec. 6).

    Norms of the encoder's inputs: anchors and positives (n,), negatives (n, k). The sum times C_Φ/τ bounds the change
    of the tuple's loss by the change of the parameters.
    """
    tau = positive_number(temperature, "temperature")
    a, p, b = _norms(anchor_norms, positive_norms, negative_norms)
    if a.ndim != 1 or p.shape != a.shape or b.shape[:-1] != a.shape:
        raise ValueError(f"negative_norms: expected shapes (n,), (n,), (n, k), got {a.shape}, {p.shape}, {b.shape}")
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(2 * a + p), log_best_power_mean(b, tau))


def tight_rademacher(
    n: int,
    k: int,
    temperature: float,
    parameters: int,
    radius: float,
    log_sensitivity: Any,
    lipschitz: float,
    loss: str = "infonce",
) -> float:
    """Rad ≤ `12 sqrt(d_θ/n) ∫_0^{min(range, ḠR_θ)} sqrt(log(1 + 2ḠR_θ/ε)) dε` (tight; Sec. 6).

    `Ḡ = (C_Φ/τ) rms(e^{log_sensitivity})` over the tuples; the range is that of the loss at k. By Dudley's integral.
    """
    from scipy.integrate import quad  # takes a fifth of a second, for which most evaluations have no use

    tau, spread = positive_number(temperature, "temperature"), loss_range(k, temperature, loss)
    size = non_negative_number(radius, "radius") * non_negative_number(lipschitz, "lipschitz") / tau
    logs = np.asarray(log_sensitivity, dtype=np.float64)
    log_rms = float(np.logaddexp.reduce(2 * logs, axis=None) - math.log(logs.size)) / 2
    if size == 0 or log_rms == -math.inf:
        return 0.0
    log_diameter = math.log(size) + log_rms
    log_upper = min(math.log(spread), log_diameter)
    # ε = e^{log_upper - v} turns the integral into one over v of e^{-v} times a slowly growing root
    log_ratio = math.log(2) + log_diameter - log_upper
    integral, _ = quad(
        lambda v: math.exp(-v) * math.sqrt(np.logaddexp(0.0, log_ratio + v)), 0, 60, epsabs=0, epsrel=1e-11, limit=200
    )
    return 12 * math.sqrt(count(parameters, "parameters") / count(n, "n")) * math.exp(log_upper) * integral


def dyadic_radius(displacement: float, smallest: float) -> tuple[float, int]:
    """(radius, j): the first of `smallest·2^j`, j = 0, 1, ..., that is at least ‖θ̂-θ_0‖ (tight; Sec. 6).

    A radius that is found after training is paid for by `dyadic_confidence`; `smallest` must be fixed before it.
    """
    unit = positive_number(smallest, "smallest")
    ratio = non_negative_number(displacement, "displacement") / unit
    index = max(0, math.ceil(math.log2(ratio))) if ratio > 0 else 0
    return unit * 2.0**index, index


def dyadic_confidence(delta: float, index: int) -> float:
    """δ_j = δ/((j+1)(j+2)), which add up to δ over j = 0, 1, ... (tight; Sec. 6)."""
    return probability(delta, "delta") / ((index + 1) * (index + 2))


def _extreme_loss(k: int, exponent: float, loss: str) -> float:
    if loss_name(loss) == "dcl":
        return exponent
    return float(np.logaddexp(-math.log(count(k, "k")), exponent))


def _deviation(n: int, delta: float) -> float:
    """sqrt(log(2/δ)/(2n))."""
    return math.sqrt(math.log(2 / probability(delta, "delta")) / (2 * count(n, "n")))


def _norms(anchor: Any, positive: Any, negative: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    named = {"anchor_norms": anchor, "positive_norms": positive, "negative_norms": negative}
    for name, values in named.items():
        if np.size(values) == 0:
            raise ValueError(f"{name}: expected at least one norm, got shape {np.shape(values)}")
    a, p, b = (checked_lengths(values, name) for name, values in named.items())
    return a, p, b


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt((values**2).mean()))
