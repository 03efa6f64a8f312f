"""Options that commands of several groups share."""

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_CONFIG = Path("config/config.yaml")
ConfigFiles = Annotated[list[Path], typer.Option("--configfile", help="laid over config/config.yaml, as by Snakemake")]
