"""How far a risk at finite k can be from the cross-entropy: Prop 1 and 2, Eq 8, 11 and 12, Lemma 4, and our own.

Throughout k = negatives ≥ 1, τ = temperature > 0, values in nats. Every function raises ValueError naming a bad
argument. What overflows float64 at small τ is computed in log space and is infinite only where it truly exceeds 1e308.
"""

import math

import numpy as np

from infonce.theory.checks import count, loss_name, positive_number


def prop1(k: int, temperature: float) -> tuple[float, float]:
    """(lower, upper) bounds of CE - R: `-log(1 + e^{2/τ}/k)` and `(e^{2/τ} - 1)²/(8k)` (literal; Prop 1)."""
    k, tau = count(k, "k"), positive_number(temperature, "temperature")
    return -_log_one_plus_largest_weight(k, tau), _exp(log_prop1_upper(k, tau))


def log_prop1_upper(k: int, temperature: float) -> float:
    """Natural logarithm of `(e^{2/τ} - 1)²/(8k)` (literal; Prop 1 and Eq 11)."""
    k, tau = count(k, "k"), positive_number(temperature, "temperature")
    return 2 * (2 / tau + math.log(-math.expm1(-2 / tau))) - math.log(8 * k)


def eq8(temperature: float) -> tuple[float, float]:
    """(lower, upper) bounds of q_a(b): `e^{-2/τ}` and `e^{2/τ}` (literal; Eq 8)."""
    exponent = 2 / positive_number(temperature, "temperature")
    return _exp(-exponent), _exp(exponent)


def prop2_bias(k: int, temperature: float, second_moment: float) -> float:
    """Upper bound of |CE_k - R|: `(4/(τk)) E|dM/dπ|² + log(1 + e^{2/τ}/k)` (literal; Prop 2)."""
    literal = eq12(k, temperature, second_moment)
    return literal + _log_one_plus_largest_weight(k, float(temperature))


def eq11(k: int, temperature: float) -> tuple[float, float]:
    """(lower, upper) bounds of CE - R̃ for DCL: 0 and `(e^{2/τ} - 1)²/(8k)` (literal; Eq 11)."""
    return 0.0, _exp(log_prop1_upper(k, temperature))


def lemma4(temperature: float) -> float:
    """Upper bound of CE - R̃ for DCL at every k: `2/τ` (literal; Lemma 4)."""
    return 2 / positive_number(temperature, "temperature")


def eq12(k: int, temperature: float, second_moment: float) -> float:
    """Upper bound of |CE_k - R̃|: `(4/(τk)) E|dM/dπ|²` (literal; Eq 12)."""
    k, tau = count(k, "k"), positive_number(temperature, "temperature")
    return 4 / (tau * k) * checked_second_moment(second_moment)


def tight_bias(k: int, temperature: float, second_moment: float, indicator: bool = False) -> float:
    """Upper bound of CE_k - R: `min((4 E|dM/dπ|² - 2)/(τk), 2/τ)`, 0 for an indicator density (tight; Sec. 6).

    R̃ ≤ R, so the logarithm of Prop 2 is not needed on this side; for an indicator density CE_k = R̃.
    """
    k, tau = count(k, "k"), positive_number(temperature, "temperature")
    moment = checked_second_moment(second_moment)
    return 0.0 if indicator else min((4 * moment - 2) / (tau * k), 2 / tau)


def kl_ceiling(temperature: float) -> float:
    """K*(τ), the largest KL(Q(a,·)‖π) of any embedding on the sphere: `D - 1 - log D`, `D = (2/τ)/(1 - e^{-2/τ})`.

    The largest KL of the exponential tilting of a two-point law on {-1, 1}; sharp, and below both 2/τ and 1/(2τ²)
    (tight; Sec. 6).
    """
    c = 2 / positive_number(temperature, "temperature")
    excess = (c + math.expm1(-c)) / -math.expm1(-c)  # D - 1
    if excess < 1e-2:  # the series keeps the digits that excess - log1p(excess) cancels
        return sum((-1) ** j * excess**j / j for j in range(2, 9))
    return excess - math.log1p(excess)


def c_tau(temperature: float) -> float:
    """`(e^{-2/τ} - 1 + 2/τ)/(1 - e^{-2/τ})²`: `log y ≥ y - 1 - c_τ (y-1)²` for all y ≥ e^{-2/τ} (tight; Sec. 6)."""
    return curvature(-2 / positive_number(temperature, "temperature"))


def curvature(log_minimum: float) -> float:
    """The smallest c with `log y ≥ y - 1 - c (y-1)²` for all y ≥ m, from log m ≤ 0; at m = e^{-2/τ} it is c_τ.

    With the measured smallest q in place of e^{-2/τ} it gives a sharper bracket (measured).
    """
    if not (math.isfinite(log_minimum) and log_minimum <= 0):
        raise ValueError(f"log_minimum: expected a finite number of at most 0, got {log_minimum}")
    if log_minimum > -1e-4:  # the series, where the quotient below loses its digits
        return 0.5 - log_minimum / 3 + log_minimum**2 / 12
    return (math.expm1(log_minimum) - log_minimum) / math.expm1(log_minimum) ** 2


def gap_bracket(
    cross_entropy: float,
    q_positive: float,
    chi2: float,
    k: int,
    temperature: float,
    loss: str = "infonce",
    log_minimum: float | None = None,
) -> tuple[float, float]:
    """(lower, upper) bounds of R - CE from means over anchors of -log q_a(p), q_a(p) and χ² (tight; Sec. 6).

    InfoNCE: `log(1+1/k) - (CE + c E χ²)/(k+1)` and `log(1+1/k) + (E q_a(p) - 1)/(k+1)`; DCL: `-c E χ²/k` and 0.
    `c` is c_τ, or `curvature(log_minimum)` where the smallest log q is known.
    """
    k = count(k, "k")
    c = c_tau(temperature) if log_minimum is None else curvature(min(log_minimum, 0.0))
    if loss_name(loss) == "dcl":
        return -c * chi2 / k, 0.0
    chance = math.log1p(1 / k)
    return chance - (cross_entropy + c * chi2) / (k + 1), chance + (q_positive - 1) / (k + 1)


def gap_limit(k: int, temperature: float) -> float:
    """`2/τ + log(1 + 1/k)`: |R - CE| never exceeds it, for either loss (tight; Sec. 6)."""
    return 2 / positive_number(temperature, "temperature") + math.log1p(1 / count(k, "k"))


def checked_second_moment(second_moment: float) -> float:
    """E|dM/dπ|², at least one by Jensen's inequality."""
    value = positive_number(second_moment, "second_moment")
    if value < 1 - 1e-9:
        raise ValueError(f"second_moment: expected at least 1, as dM/dπ has mean one, got {value}")
    return max(value, 1.0)


def _log_one_plus_largest_weight(k: int, tau: float) -> float:
    """log(1 + e^{2/τ}/k)."""
    return float(np.logaddexp(0.0, 2 / tau - math.log(k)))


def _exp(exponent: float) -> float:
    """e^exponent, infinite above the range of float64."""
    return math.exp(exponent) if exponent < 709.7 else math.inf
