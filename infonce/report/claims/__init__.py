"""The nine claims, one file each, in the order of the report."""

from infonce.report.claims import averaging, gap, ledger, norms, quality, rate, search, stopping, temperature

CLAIMS = [module.CLAIM for module in (rate, temperature, search, gap, averaging, norms, ledger, stopping, quality)]
