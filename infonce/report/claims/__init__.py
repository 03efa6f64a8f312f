"""The nine claims, one file each, in the order of the report."""

from infonce.report.claims import ledger, rate

CLAIMS = [rate.CLAIM, ledger.CLAIM]
