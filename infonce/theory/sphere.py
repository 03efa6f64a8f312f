"""The synthetic data set: π uniform on S^{D-1}, M(a, ·) = von Mises-Fisher with mean direction a and concentration κ.

All in closed form by modified Bessel functions, in log space. With ν = D/2 - 1 and

    ψ_D(κ) = log E_{b~π} e^{κ⟨a,b⟩} = log( Γ(ν+1) (2/κ)^ν I_ν(κ) ),

the density of M with respect to π is `exp(κ⟨a,b⟩ - ψ_D(κ))`. Every function raises ValueError naming a bad argument.
"""

import math
from typing import Any

import numpy as np
from scipy.special import gammaln, ive

from infonce.theory.checks import count, positive_number

LARGEST_CONCENTRATION = 1e9  # beyond it scipy's scaled Bessel function loses digits


def log_mean_exp_cosine(concentration: float, dimension: int) -> float:
    """ψ_D(κ), the log of the mean of e^{κ⟨a,b⟩} over b uniform on S^{D-1}: between 0 and κ."""
    kappa, d = _checked(concentration, dimension)
    order = d / 2 - 1
    scaled = float(ive(order, kappa))
    if scaled > 1e-290:
        return float(gammaln(order + 1)) + order * math.log(2 / kappa) + math.log(scaled) + kappa
    return _series(kappa, order)


def log_density(cosine: Any, concentration: float, dimension: int) -> np.ndarray:
    """log dM/dπ at points with that cosine ⟨a,b⟩ to the anchor, any shape, in nats (closed form; Sec. 2)."""
    values = np.asarray(cosine, dtype=np.float64)
    if not np.isfinite(values).all() or (np.abs(values) > 1 + 1e-5).any():
        raise ValueError("cosine: expected numbers in [-1, 1], got values outside it")
    return concentration * values - log_mean_exp_cosine(concentration, dimension)


def log_second_moment(concentration: float, dimension: int) -> float:
    """log E|dM/dπ|² = ψ_D(2κ) - 2ψ_D(κ) (closed form; Sec. 2)."""
    _checked(2 * concentration, dimension)
    return log_mean_exp_cosine(2 * concentration, dimension) - 2 * log_mean_exp_cosine(concentration, dimension)


def second_moment(concentration: float, dimension: int) -> float:
    """E|dM/dπ|², at least 1 (closed form; Sec. 2)."""
    return math.exp(log_second_moment(concentration, dimension))


def mean_cosine(concentration: float, dimension: int) -> float:
    """E⟨a,p⟩ for p ~ M(a, ·): I_{ν+1}(κ)/I_ν(κ) (closed form)."""
    kappa, d = _checked(concentration, dimension)
    order = d / 2 - 1
    below, above = float(ive(order, kappa)), float(ive(order + 1, kappa))
    if above > 1e-290:
        return above / below
    # Both underflow, so ν is far above κ: the continued fraction 1/(2(ν+1)/κ + 1/(2(ν+2)/κ + ...)) takes few terms.
    ratio = 0.0
    for term in range(100, 0, -1):
        ratio = 1 / (2 * (order + term) / kappa + ratio)
    return ratio


def identity_cross_entropy(concentration: float, dimension: int, temperature: float) -> float:
    """CE of the identity embedding: `-E⟨a,p⟩/τ + ψ_D(1/τ)`, nats (closed form; Sec. 3).

    At κ = 1/τ the search kernel is M itself, and CE is as small as any embedding's: minus the entropy of M.
    """
    tau = positive_number(temperature, "temperature")
    return -mean_cosine(concentration, dimension) / tau + log_mean_exp_cosine(1 / tau, dimension)


def _checked(concentration: float, dimension: int) -> tuple[float, int]:
    kappa, d = positive_number(concentration, "concentration"), count(dimension, "dimension")
    if kappa > LARGEST_CONCENTRATION:
        raise ValueError(f"concentration: expected at most {LARGEST_CONCENTRATION:g}, got {kappa}")
    if d < 2:
        raise ValueError(f"dimension: expected at least 2, got {d}")
    return kappa, d


def _series(kappa: float, order: float) -> float:
    """ψ where I_ν(κ) underflows: log Σ_j (κ²/4)^j / (j! (ν+1)_j), all terms positive."""
    total, term, j = 1.0, 1.0, 0
    while term > 1e-17 * total:
        j += 1
        term *= kappa**2 / 4 / (j * (order + j))
        total += term
    return math.log(total)
