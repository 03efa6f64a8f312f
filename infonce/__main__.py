"""`python -m infonce` is the `infonce` command."""

from infonce.cli import main

if __name__ == "__main__":
    main()
