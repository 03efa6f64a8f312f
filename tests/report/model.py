"""A small honest model of a grid: q_a(b) is log-normal with a spread that shrinks with τ, everything else follows.

R(k) - CE is coefficient/k + second/k² exactly, so the report's fits have a known answer: slope -1 and that coefficient.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from infonce.records.schemas import SCHEMAS
from infonce.report import Tables, build
from infonce.report.tabulate import records

EVALUATED = (1, 4, 16, 64, 256, 1024, 4096, 16384, 100_000, 1_000_000)


def specs(
    negatives: Iterable[int] = (1, 4, 16, 64, 256),
    temperatures: Iterable[float] = (0.1, 0.2, 0.5, 1.0),
    seeds: Iterable[int] = (0, 1),
    datasets: Iterable[str] = ("digits",),
    positives: Iterable[str] = ("augment", "class"),
    losses: Iterable[str] = ("infonce",),
    dimensions: Iterable[int] = (32,),
    tuples: Iterable[int] = (1297,),
) -> list[dict[str, Any]]:
    axes = product(datasets, positives, losses, dimensions, tuples, negatives, temperatures, seeds)
    return [
        {
            "dataset": dataset,
            "positives": positive,
            "encoder": "mlp",
            "head": "normalize",
            "dimension": d,
            "loss": loss,
            "tuples": n,
            "tuple_design": "shared",
            "negatives": k,
            "temperature": tau,
            "seed": seed,
        }
        for dataset, positive, loss, d, n, k, tau, seed in axes
    ]


def make_tables(grid: list[dict[str, Any]]) -> Tables:
    runs, curves, terms, history = [], [], [], []
    for spec in grid:
        run = _run(spec)
        runs.append(run)
        curves += _curves(run)
        terms += _terms(run)
        history += _history(run)
    return Tables(
        **{
            name: _framed(name, rows)
            for name, rows in {"runs": runs, "curves": curves, "terms": terms, "history": history}.items()
        }
    )


def _framed(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    schema = SCHEMAS[name]
    return pa.Table.from_pylist([{key: row.get(key) for key in schema.names} for row in rows], schema).to_pandas()


def _run(spec: dict[str, Any]) -> dict[str, Any]:
    tau, k, n, d = spec["temperature"], spec["negatives"], spec["tuples"], spec["dimension"]
    random = np.random.default_rng([spec["seed"], k, int(1000 * tau), n, d])
    noise = lambda scale: float(1 + scale * random.standard_normal())  # noqa: E731
    kl = 0.09 / tau**1.3 * noise(0.03)
    chi2 = math.expm1(2 * kl)
    q_positive = math.exp(0.9 / tau**0.8 * noise(0.01)) * k**0.05
    cross_entropy = -math.log(q_positive)
    coefficient = q_positive - chi2 / 2 if spec["loss"] == "infonce" else -chi2 / 2
    second = -0.5 * coefficient * (1 + q_positive)
    gap = 0.8 / tau**0.5 * (1 - math.exp(-(k**0.5) / 4)) * (1297 / n) ** 0.5 * noise(0.05)
    difference = coefficient / k + second / k**2
    held_out = cross_entropy + max(min(difference, 2 / tau), -2 / tau)
    token = "/".join(str(value) for value in spec.values())
    return spec | {
        "run": token,
        "spec_hash": f"{abs(hash(token)):016x}"[:16],
        "status": "ok",
        "steps": 400,
        "parameters": 25_000,
        "displacement": 4.0 * noise(0.1),
        "training_images": 1297,
        "held_out_images": 500,
        "tuples_effective": 1297 // (k + 2),
        "negatives_exceed_pool": False,
        "empirical_risk": held_out - gap,
        "empirical_risk_se": 0.01,
        "held_out_risk": held_out,
        "held_out_risk_se": 0.03,
        "generalisation_gap": gap,
        "generalisation_gap_se": 0.032,
        "cross_entropy": cross_entropy,
        "cross_entropy_se": 0.03,
        "risk_minus_cross_entropy": held_out - cross_entropy,
        "risk_minus_cross_entropy_se": 0.01,
        "q_positive": q_positive,
        "q_positive_se": 0.02,
        "q_min": math.exp(-1.2 / tau),
        "q_max": math.exp(1.1 / tau),
        "chi2": chi2,
        "chi2_se": 0.01,
        "kl": kl,
        "kl_se": 0.005,
        "kl_ceiling": min(2 / tau, 1 / (2 * tau**2)),
        "effective_neighbours": 499 * math.exp(-kl),
        "pool_size": 499,
        "first_order_coefficient": coefficient,
        "second_order_coefficient": second,
        "recall_at_1": min(0.99, 0.7 + 0.03 * math.log(q_positive)),
        "recall_at_5": min(0.995, 0.8 + 0.03 * math.log(q_positive)),
        "recall_at_10": min(0.999, 0.85 + 0.03 * math.log(q_positive)),
        "knn_accuracy": min(0.99, 0.75 + 0.03 * math.log(q_positive)),
        "knn_accuracy_se": 0.014,
        "mean_average_precision": min(0.99, 0.5 + 0.03 * math.log(q_positive)),
        "minimum_feature_norm": 0.4,
        "code_digest": "c0de",
        "git_commit": "0123456789abcdef",
        "git_dirty": False,
        "data_digest": "da7a",
        "python_version": "3.11.2",
        "torch_version": "2.14.1",
        "package_versions": '{"numpy": "2.3.0", "scipy": "1.17.1"}',
        "host": "node1",
        "device": "cpu",
        "precision": "float32",
        "threads": 1,
        "resumed": False,
        "attempts": 1,
        "tuples_seen": 102_400,
        "training_seconds": 2.0,
        "evaluation_seconds": 1.0,
        "peak_memory_mib": 400.0,
        "finished_at": "2026-01-01T00:00:00Z",
        "evaluation_code_digest": "e7a1",
        "evaluation_git_commit": "0123456789abcdef",
        "evaluation_git_dirty": False,
        "evaluation_python_version": "3.11.2",
        "evaluation_torch_version": "2.14.1",
        "evaluation_package_versions": '{"numpy": "2.3.0", "scipy": "1.17.1"}',
        "evaluation_host": "node1",
        "evaluation_device": "cpu",
        "evaluation_precision": "float64",
        "evaluation_finished_at": "2026-01-01T00:00:00Z",
    }


def _curves(run: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    ks = sorted({*EVALUATED, run["negatives"]})
    tau, ce, chi2, q = run["temperature"], run["cross_entropy"], run["chi2"], run["q_positive"]
    c_tau = (math.exp(-2 / tau) - 1 + 2 / tau) / (1 - math.exp(-2 / tau)) ** 2
    for loss, k in product(("infonce", "dcl"), ks):
        coefficient = q - chi2 / 2 if loss == "infonce" else -chi2 / 2
        second = -0.5 * coefficient * (1 + q)
        lower, upper = math.log1p(1 / k) - (ce + c_tau * chi2) / (k + 1), math.log1p(1 / k) + (q - 1) / (k + 1)
        if loss == "dcl":
            lower, upper = -c_tau * chi2 / k, 0.0
        difference = min(max(coefficient / k + second / k**2, lower), upper)
        envelope = -(math.expm1(2 / tau) ** 2) / (8 * k)
        rows.append(
            {key: run[key] for key in list(SCHEMAS["curves"].names)[:13]}
            | {
                "split": "held_out",
                "risk_loss": loss,
                "risk_negatives": k,
                "own_negatives": k == run["negatives"],
                "risk": ce + difference,
                "risk_se": 0.03,
                "cross_entropy": ce,
                "cross_entropy_se": 0.03,
                "difference": difference,
                "difference_accuracy": min(1e-8, 1e-7 * (1 + q + chi2 / 2) / k),
                "difference_se": 0.01 / k,
                "first_order": coefficient / k,
                "second_order": second / k**2,
                "bracket_lower": lower,
                "bracket_upper": upper,
                "envelope_lower": envelope,
                "envelope_upper": math.log1p(math.exp(2 / tau) / k) if loss == "infonce" else 0.0,
                "finite_cross_entropy": _finite(run, k) if run["positives"] == "class" else None,
                "empty_support": 0.9**k if run["positives"] == "class" else None,
            }
        )
    return rows


def _finite(run: dict[str, Any], k: int) -> float:
    """With an indicator density the finite cross-entropy is the DCL risk, exactly."""
    coefficient = -run["chi2"] / 2
    tau, chi2 = run["temperature"], run["chi2"]
    c_tau = (math.exp(-2 / tau) - 1 + 2 / tau) / (1 - math.exp(-2 / tau)) ** 2
    second = -0.5 * coefficient * (1 + run["q_positive"])
    return run["cross_entropy"] + min(max(coefficient / k + second / k**2, -c_tau * chi2 / k), 0.0)


def _terms(run: dict[str, Any]) -> list[dict[str, Any]]:
    tau, k, n = run["temperature"], run["negatives"], run["tuples"]
    gap = abs(run["risk_minus_cross_entropy"])
    sample = math.sqrt(math.log(2 / 0.05) / (2 * n))
    log_prop5 = math.log(96 / tau * math.sqrt(run["parameters"] / n)) + 0.5 * math.log(5 + 2 / tau)
    envelope = math.log(math.expm1(2 / tau)) * 2 - math.log(8 * k)
    search = math.log(40 / (tau * k) + math.log1p(math.exp(2 / tau) / k))
    largest = math.log(1.8 / tau + 0.1 * math.log(k + 1))
    rows = [
        ("Proposition 1", "Prop 1", "literal", "CE - R", "upper", envelope, gap),
        ("gap bracket", "Sec. 6", "tight", "R - CE", "upper", math.log(abs(run["q_positive"]) / k + 1e-3), None),
        ("Proposition 3", "Prop 3", "literal", "R - R̂_n - 2 Rad", "upper", math.log(12 / tau * sample), None),
        ("sample term", "Sec. 6", "tight", "R - R̂_n - 2 Rad", "upper", math.log(9.6 / tau * sample), None),
        ("Proposition 2", "Prop 2", "literal", "|CE_k - R|", "upper", search, gap),
        ("Proposition 5", "Prop 5", "literal", "Rad", "upper", log_prop5, None),
        ("Theorem 1", "Thm 1", "literal", "CE_k", "upper", log_prop5 + 1, None),
        ("Proposition 4", "Prop 4", "literal", "|ℓ(φ_θ̂) - ℓ(φ_θ_0)|", "upper", math.log(4.5 / tau), 0.4),
        ("Proposition 4", "Sec. 6", "tight", "|ℓ(φ_θ̂) - ℓ(φ_θ_0)|", "upper", math.log(2.5 / tau), 0.4),
        ("maximum over negatives", "Eq 18", "literal", "|ℓ(φ_θ̂) - ℓ(φ_θ_0)|", "upper", largest, 0.4),
        ("B_τ", "Lemma 1", "literal", "B_τ", "value", math.log(2 + 1 / min(1, tau)), None),
        ("largest norms", "Lemma 1", "measured", "max‖a‖ + max‖p‖ + max‖b‖", "value", math.log(9 + math.log(k)), None),
        ("smallest density", "Eq 8", "literal", "q_a(b)", "lower", -2 / tau, run["q_min"]),
    ]  # fmt: skip
    return [
        {key: run[key] for key in list(SCHEMAS["terms"].names)[:13]}
        | {
            "term": term,
            "equation": equation,
            "form": form,
            "quantity": quantity,
            "side": side,
            "assumptions": "(A), (C)" if equation == "Prop 5" else "(A)",
            "assumptions_met": equation != "Prop 5",
            "clipped": False,
            "vacuous": side == "upper" and log_value > math.log(4 / tau),
            "value": math.exp(log_value) if log_value < 700 else None,
            "log_value": log_value,
            "measured": measured,
            "holds": None if measured is None else True,
            "note": "the normalize head is not Lipschitz at 0" if equation == "Prop 5" else None,
        }
        for term, equation, form, quantity, side, log_value, measured in rows
    ]


def _history(run: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for step in range(0, 401, 40):
        done = 1 - math.exp(-step / 120)
        training = done * run["empirical_risk"] + (1 - done) * math.log1p(1 / run["negatives"])
        rows.append(
            {key: run[key] for key in list(SCHEMAS["history"].names)[:13]}
            | {
                "step": step,
                "epoch": step / 5,
                "training_loss": training,
                "held_out_loss": training + done * run["generalisation_gap"],
                "displacement": run["displacement"] * done**0.5,
                "learning_rate": 1e-3,
                "loss_change": 0.4 * done,
                "prop4": 4.5 / run["temperature"] * done,
                "prop4_tight": 2.5 / run["temperature"] * done,
                "eq18": (1.8 / run["temperature"] + 0.1 * math.log(run["negatives"] + 1)) * done,
            }
        )
    return rows


def changed(tables: Tables, name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Tables:
    """The tables with one of them changed."""
    return replace(tables, **{name: change(getattr(tables, name).copy())})


def failed(tables: Tables, run: str, status: str, message: str) -> Tables:
    """The tables with one run ended without numbers: a row in `runs`, none elsewhere."""
    results = [field.name for field in SCHEMAS["runs"] if field.metadata[b"kind"] == b"result" and field.nullable]
    rows = records(tables.runs)
    for row in rows:
        if row["run"] == run:
            row.update(dict.fromkeys(results), status=status, message=message)
    return Tables(
        runs=_framed("runs", rows),
        curves=tables.curves[tables.curves["run"] != run],
        terms=tables.terms[tables.terms["run"] != run],
        history=tables.history,
    )


@dataclass(frozen=True)
class Built:
    folder: Path
    tables: Tables
    requested: list[dict[str, Any]]

    @property
    def page(self) -> str:
        return (self.folder / "report.html").read_text(encoding="utf-8")


def faulty_grid() -> tuple[Tables, list[dict[str, Any]]]:
    requested = specs(positives=("class",)) + specs(
        positives=("augment",), losses=("dcl",), negatives=(4, 64), temperatures=(0.2, 1.0)
    )
    present = [spec for spec in requested if not _is(spec, negatives=4, temperature=0.5, seed=1)]
    tables = make_tables(present)
    run = tables.runs[(tables.runs["negatives"] == 16) & (tables.runs["temperature"] == 0.1)]["run"].iloc[0]
    return failed(tables, run, "diverged", "the loss was not finite at step 12"), requested


def _is(spec: dict[str, Any], **values: Any) -> bool:
    return all(spec[key] == value for key, value in values.items())


@cache
def small_report(base: Path) -> Built:
    """The report of the grid with faults, built once in a session."""
    tables, requested = faulty_grid()
    folder = base / "small-report"
    build(tables, folder, "A small grid", requested, jobs=1)
    return Built(folder, tables, requested)
