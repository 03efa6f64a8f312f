"""The ledger of a run: every term of the theory with its value, and whether this run meets what it assumes."""

from infonce.theory.ledger_entries import Measurements, Term
from infonce.theory.ledger_gap import gap_terms
from infonce.theory.ledger_generalisation import generalisation_terms
from infonce.theory.ledger_stability import stability_terms

__all__ = ["Measurements", "Term", "ledger"]


def ledger(measurements: Measurements) -> list[Term]:
    """Every term of Sec. 5 and 6 for one run, literal, tight and measured; ValueError names a bad measurement."""
    return gap_terms(measurements) + stability_terms(measurements) + generalisation_terms(measurements)
