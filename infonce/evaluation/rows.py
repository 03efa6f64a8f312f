"""Rows of the tables `runs` and `curves` from what was measured."""

from typing import Any

import numpy as np

from infonce.evaluation.risks import HeldOut, mean_and_error
from infonce.losses import LOSSES
from infonce.spec.run import RunSpec
from infonce.theory.bounds import eq11, gap_bracket, kl_ceiling, prop1
from infonce.theory.finite_k import first_order_coefficient, second_order_coefficient
from infonce.theory.kernels import standard_error


def run_columns(spec: RunSpec, held_out: HeldOut, empirical_losses: np.ndarray) -> dict[str, Any]:
    """The headline numbers of a run, each with its standard error where it is a mean over anchors or tuples."""
    kernel, risks, own = held_out.kernel, held_out.risks, held_out.embedded.own.cpu().numpy()
    at = risks.negatives.index(spec.negatives)
    columns: dict[str, Any] = {
        **_mean("empirical_risk", empirical_losses),
        **_mean("held_out_risk", risks.risk(spec.loss)[at]),
        **_mean("cross_entropy", kernel.cross_entropy),
        "cross_entropy_pool_se": standard_error(kernel.cross_entropy, kernel.pool_influence, own),
        **_mean("risk_minus_cross_entropy", risks.difference(spec.loss)[at]),
        **_mean("q_positive", kernel.q_positive),
        **_mean("chi2", kernel.chi2),
        **_mean("kl", kernel.kl),
        "q_min": float(kernel.q_min.min()),
        "q_max": float(kernel.q_max.max()),
        "kl_ceiling": kl_ceiling(spec.temperature),
        "effective_neighbours": float(kernel.effective_neighbours.mean()),
        "pool_size": int(kernel.pool_size.min()),
        "first_order_coefficient": float(first_order_coefficient(kernel, spec.loss).mean()),
        "second_order_coefficient": float(second_order_coefficient(kernel, spec.loss).mean()),
    }
    columns["generalisation_gap"] = columns["held_out_risk"] - columns["empirical_risk"]
    errors = (columns["held_out_risk_se"], columns["empirical_risk_se"])
    # Training tuples and held-out anchors share no image, so their errors are independent.
    columns["generalisation_gap_se"] = None if None in errors else float(np.hypot(*errors))
    return columns


def curve_rows(
    spec: RunSpec,
    held_out: HeldOut,
    finite_cross_entropy: np.ndarray | None,
    empty_support: np.ndarray | None,
) -> list[dict[str, Any]]:
    """Rows of `curves`: for both losses and every k, the held-out risk beside its limit and what bounds the two.

    `finite_cross_entropy` and `empty_support` (len(negatives),) are CE_k and how often no searched point has
    positive density, where the generator's density is known.
    """
    rows = []
    for loss in LOSSES:
        first = float(first_order_coefficient(held_out.kernel, loss).mean())
        second = float(second_order_coefficient(held_out.kernel, loss).mean())
        for at, k in enumerate(held_out.risks.negatives):
            rows.append(
                {
                    "split": "held_out",
                    "risk_loss": loss,
                    "risk_negatives": k,
                    "own_negatives": k == spec.negatives,
                    **_mean("risk", held_out.risks.risk(loss)[at]),
                    **_mean("cross_entropy", held_out.kernel.cross_entropy),
                    **_mean("difference", held_out.risks.difference(loss)[at]),
                    "first_order": first / k,
                    "second_order": second / k**2,
                    **_bounds_of_difference(held_out, loss, k),
                    "finite_cross_entropy": None if finite_cross_entropy is None else float(finite_cross_entropy[at]),
                    "empty_support": None if empty_support is None else float(empty_support[at]),
                }
            )
    return rows


def _bounds_of_difference(held_out: HeldOut, loss: str, k: int) -> dict[str, float | None]:
    """Literal envelope and tight bracket of risk - cross-entropy."""
    tau, kernel = held_out.temperature, held_out.kernel
    bracket: tuple[float | None, float | None] = (None, None)
    if loss == "infonce":
        bracket = gap_bracket(
            float(kernel.cross_entropy.mean()),
            float(kernel.q_positive.mean()),
            float(kernel.chi2.mean()),
            k,
            tau,
        )
        least, most = prop1(k, tau)
    else:
        least, most = eq11(k, tau)
    return {
        "bracket_lower": finite(bracket[0]),
        "bracket_upper": finite(bracket[1]),
        "envelope_lower": finite(-most),
        "envelope_upper": finite(-least),
    }


def finite(value: float | None) -> float | None:
    """`value`, or None where it is not finite: tables hold finite numbers or null."""
    return float(value) if value is not None and np.isfinite(value) else None


def _mean(name: str, values: np.ndarray) -> dict[str, float | None]:
    mean, error = mean_and_error(values)
    return {name: finite(mean), f"{name}_se": error}
