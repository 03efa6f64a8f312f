import json

import numpy as np
import pytest

from infonce.theory import bounds
from tests.theory.conftest import GOLDEN

CASES = json.loads((GOLDEN / "bounds.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"tau{case['tau']}-k{case['k']}")
def test_golden_values(case):
    n, k, tau, delta = case["n"], case["k"], case["tau"], case["delta"]
    norms = [case[f"{name}_norms"] for name in ("anchor", "positive", "negative")]
    size = bounds.b_tau(*norms, tau)
    moved = [case[f"displacement_{name}"] for name in ("anchor", "positive", "negatives")]
    lower, upper = bounds.prop1(k, tau)
    got = {
        "prop1_ce_minus_risk_lower": lower,
        "prop1_ce_minus_risk_upper": upper,
        "prop2_bias": bounds.prop2_bias(k, tau, case["second_moment"]),
        "prop3_sample": bounds.prop3_sample(n, tau, delta),
        "loss_range": bounds.loss_range(k, tau),
        "tight_sample": bounds.tight_sample(n, k, tau, delta),
        "b_tau": size,
        "prop5_rademacher": bounds.prop5_rademacher(n, tau, case["d_theta"], case["radius"], size, case["c_phi"]),
        "eq18_rhs": bounds.eq18(*moved, tau),
        "c_tau": bounds.c_tau(tau),
        "kl_ceiling": bounds.kl_ceiling(tau),
    }
    for name, value in got.items():
        assert value == pytest.approx(case[name], rel=1e-9), name
    for beta, value in case["prop4_rhs"].items():
        assert bounds.prop4(*moved, tau, float(beta)) == pytest.approx(value, rel=1e-9), beta


def test_golden_brackets(golden_finite_k):
    for row in golden_finite_k["by_tau"]:
        assert bounds.kl_ceiling(row["tau"]) == pytest.approx(row["kl_ceiling"], rel=1e-9)
        for entry in row["risks"]:
            got = bounds.gap_bracket(row["ce_limit"], row["q_positive"], row["chi2"], entry["k"], row["tau"])
            np.testing.assert_allclose(got, (entry["gap_lower"], entry["gap_upper"]), rtol=1e-9)
