"""The stages of the workflow: each reads files, calls the package, and writes files."""
