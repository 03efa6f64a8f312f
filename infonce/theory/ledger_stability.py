"""Terms of the ledger about how a loss follows the embedding: Prop 4 against Eq 18, on the run's own displacements."""

import math
from typing import Any

import numpy as np

from infonce.theory import generalisation, stability
from infonce.theory.ledger_entries import Measurements, Term, bound


def stability_terms(m: Measurements) -> list[Term]:
    """Means over the tuples of the bounds on |ℓ(φ_θ̂) - ℓ(φ_θ_0)|; none where no displacement was measured."""
    if m.displacement_anchor is None or m.displacement_positive is None or m.displacement_negatives is None:
        return []
    moved = (m.displacement_anchor, m.displacement_positive, m.displacement_negatives)
    tau, beta = m.temperature, stability.literal_beta(m.temperature)
    log_literal = stability.log_prop4(*moved, tau, beta)
    tight, rival = stability.tight_prop4(*moved, tau), stability.eq18(*moved, tau)
    log_mean = float(np.logaddexp.reduce(log_literal) - math.log(len(log_literal)))
    return [
        _term(m, "Proposition 4", "Prop 4", "literal", np.exp(log_literal), f"β = max(1, 2/τ) = {beta:g}", log_mean),
        _term(m, "Proposition 4", "Sec. 6", "tight", tight, "β of each tuple optimised"),
        _term(m, "maximum over negatives", "Eq 18", "literal", rival, "the max-type rival (Lei et al., 2023)"),
    ]


def _term(
    m: Measurements, term: str, equation: str, form: str, values: Any, note: str, log_value: float | None = None
) -> Term:
    differences = m.loss_difference
    return bound(
        term,
        equation,
        form,
        "|ℓ(φ_θ̂) - ℓ(φ_θ_0)|",
        "upper",
        float(np.mean(values)),
        log_value=log_value,
        measured=None if differences is None else float(np.mean(differences)),
        holds=None if differences is None else bool((np.asarray(differences) <= values + 1e-9).all()),
        trivial=generalisation.loss_range(m.negatives, m.temperature, m.loss),
        note=f"mean over {len(values)} tuples, held against each; {note}",
    )
