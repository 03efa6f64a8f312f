"""Rows of the tables `runs` and `curves` from what was measured."""

import math
from typing import Any

import numpy as np

from infonce.evaluation.density import FiniteSearch
from infonce.evaluation.risks import HeldOut
from infonce.losses import LOSSES
from infonce.spec.run import RunSpec
from infonce.theory.bounds import eq11, gap_bracket, kl_ceiling, prop1
from infonce.theory.finite_k import accuracy, first_order_coefficient, second_order_coefficient
from infonce.theory.kernels import standard_error


def run_columns(spec: RunSpec, held_out: HeldOut, empirical_losses: np.ndarray) -> dict[str, Any]:
    """The headline numbers of a run, each with its standard error where it is a mean over anchors or tuples."""
    kernel, risks = held_out.kernel, held_out.risks
    at = risks.negatives.index(spec.negatives)
    columns: dict[str, Any] = {
        **mean_columns("empirical_risk", empirical_losses),
        **_mean_over_pool("held_out_risk", held_out.risk(spec.loss)[at], held_out.influence[spec.loss][at], held_out),
        **_mean_over_pool("cross_entropy", kernel.cross_entropy, kernel.pool_influence, held_out),
        **mean_columns("risk_minus_cross_entropy", risks.difference(spec.loss)[at]),
        **mean_columns("q_positive", kernel.q_positive),
        **mean_columns("chi2", kernel.chi2),
        **mean_columns("kl", kernel.kl),
        "q_min": finite(kernel.q_min.min()),
        "q_max": finite(kernel.q_max.max()),
        "kl_ceiling": kl_ceiling(spec.temperature),
        "effective_neighbours": float(kernel.effective_neighbours.mean()),
        "pool_size": int(kernel.pool_size.min()),
        "first_order_coefficient": finite(first_order_coefficient(kernel, spec.loss).mean()),
        "second_order_coefficient": finite(second_order_coefficient(kernel, spec.loss).mean()),
    }
    columns["generalisation_gap"] = columns["held_out_risk"] - columns["empirical_risk"]
    # Training tuples and held-out anchors share no image, so their errors are independent.
    errors = (columns["held_out_risk_se"], columns["empirical_risk_se"])
    columns["generalisation_gap_se"] = None if None in errors else math.hypot(*errors)
    return columns


def curve_rows(spec: RunSpec, held_out: HeldOut, search: FiniteSearch) -> list[dict[str, Any]]:
    """Rows of `curves`: for both losses and every k, the held-out risk beside its limit and what bounds the two."""
    kernel = held_out.kernel
    limit = _mean_over_pool("cross_entropy", kernel.cross_entropy, kernel.pool_influence, held_out)
    rows = []
    for loss in LOSSES:
        first = first_order_coefficient(kernel, loss).mean()
        second = second_order_coefficient(kernel, loss).mean()
        for at, k in enumerate(held_out.risks.negatives):
            rows.append(
                {
                    "split": "held_out",
                    "risk_loss": loss,
                    "risk_negatives": k,
                    "own_negatives": k == spec.negatives,
                    **_mean_over_pool("risk", held_out.risk(loss)[at], held_out.influence[loss][at], held_out),
                    **limit,
                    **mean_columns("difference", held_out.risks.difference(loss)[at]),
                    "difference_accuracy": accuracy(float(kernel.q_positive.mean()), float(kernel.chi2.mean()), k),
                    "first_order": finite(first / k),
                    "second_order": finite(second / k**2),
                    **_bounds_of_difference(held_out, loss, k),
                    "finite_cross_entropy": finite(search.cross_entropy[at]),
                    "empty_support": float(search.empty_support[at]),
                }
            )
    return rows


def mean_columns(name: str, values: np.ndarray) -> dict[str, float | None]:
    """The columns `name` and `name_se` of independent values."""
    return {name: finite(values.mean()), f"{name}_se": finite(standard_error(values))}


def finite(value: float) -> float | None:
    """`value`, or None where it is not finite: tables hold finite numbers or null."""
    return float(value) if math.isfinite(value) else None


def _mean_over_pool(name: str, values: np.ndarray, influence: np.ndarray, held_out: HeldOut) -> dict[str, float | None]:
    """As `mean_columns`; the error counts the sampling of the pool as well, by its members' influence on the mean."""
    error = standard_error(values, influence, held_out.embedded.own.cpu().numpy())
    return {name: finite(values.mean()), f"{name}_se": finite(error)}


def _bounds_of_difference(held_out: HeldOut, loss: str, k: int) -> dict[str, float | None]:
    """Literal envelope and tight bracket of risk - cross-entropy."""
    kernel, tau = held_out.kernel, held_out.temperature
    limit, q_positive, chi2 = (float(x.mean()) for x in (kernel.cross_entropy, kernel.q_positive, kernel.chi2))
    bracket = gap_bracket(limit, q_positive, chi2, k, tau, loss)
    least, most = prop1(k, tau) if loss == "infonce" else eq11(k, tau)
    return {
        "bracket_lower": finite(bracket[0]),
        "bracket_upper": finite(bracket[1]),
        "envelope_lower": finite(-most),
        "envelope_upper": finite(-least),
    }
