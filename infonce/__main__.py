"""`python -m infonce` is the `infonce` command."""

import sys

if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 (said here instead of by a syntax error)
        sys.exit(f"infonce: Python 3.11 or newer is needed, this is {sys.version.split()[0]} ({sys.executable})")
    try:
        from infonce.cli import main

        main()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("infonce"):
            raise
        sys.exit(
            f"infonce: the package {error.name} is not installed for {sys.executable}; run `make environment` and "
            "`source .venv/bin/activate`"
        )
