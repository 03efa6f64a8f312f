"""The commands `infonce data list`, `fetch` and `verify`: for login nodes with a network and compute nodes without."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Raw data sets: what is there, fetch it, verify it.", no_args_is_help=True)

Names = Annotated[list[str], typer.Argument(help="data sets, by their names in the registry")]
Raw = Annotated[Path, typer.Option(help="folder of raw files")]
DEFAULT_RAW = Path("data/raw")


@app.command("list")
def list_(raw: Raw = DEFAULT_RAW) -> None:
    """A line for each data set: whether it is there, its size, its licence."""
    from infonce.data.commands import list_datasets

    for line in list_datasets(raw):
        typer.echo(line)


@app.command()
def fetch(
    names: Names,
    raw: Raw = DEFAULT_RAW,
    mirror: Annotated[str | None, typer.Option(help="address or folder that holds the files, tried first")] = None,
    retries: Annotated[int, typer.Option(min=1, help="attempts for each address")] = 4,
    record: Annotated[Path | None, typer.Option(help="file that says what was fetched")] = None,
) -> None:
    """Download and unpack what is not there yet; a complete folder is left as it is."""
    from infonce.data.commands import fetch_datasets
    from infonce.files import write_json

    lines = fetch_datasets(names, raw, {name: mirror for name in names if mirror}, retries)
    for line in lines:
        typer.echo(line)
    if record is not None:
        write_json(record, lines)


@app.command()
def verify(names: Names, raw: Raw = DEFAULT_RAW) -> None:
    """Read every byte and compare the digests."""
    from infonce.data.commands import verify_datasets

    for line in verify_datasets(names, raw):
        typer.echo(line)
