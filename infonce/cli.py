"""The command line (placeholder until the stages exist)."""


def main() -> None:
    """Entry point of the `infonce` command."""
