"""The mathematics: search kernels, exact finite-k risks, bounds and their ledger. No files, no workflow, no plots."""
