"""The command line: one command for each stage, so that any job of the workflow can be replayed by hand.

Each command imports its stage when it is called; `infonce --help` needs no torch.
"""

import errno
import sys
from pathlib import Path
from typing import Annotated

import typer

from infonce import __version__
from infonce.cluster import commands as cluster
from infonce.data import cli as data
from infonce.errors import InfonceError
from infonce.options import DEFAULT_CONFIG, ConfigFiles

app = typer.Typer(
    name="infonce",
    help="A benchmark of similarity-search generalisation under the InfoNCE loss.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(cluster.app, name="cluster")
app.command()(cluster.status)
app.add_typer(data.app, name="data")

Spec = Annotated[str, typer.Option(help="the run's settings as JSON, as the workflow logs them")]
Data = Annotated[Path, typer.Option(help="manifest.json of the prepared data set")]
Weights = Annotated[Path, typer.Option(help="weights.safetensors in the run's folder; its other files lie beside it")]
Threads = Annotated[int, typer.Option(min=1, help="processor threads")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda")]
ConfigJson = Annotated[str, typer.Option("--config", help="the configuration as JSON, as the workflow logs it")]
OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


@app.command()
def prepare(
    dataset: Annotated[str, typer.Option(help="name of the data set")],
    raw: Annotated[Path, typer.Option(help="folder of downloaded files")],
    output: Annotated[Path, typer.Option(help="manifest.json of the folder to make")],
    options: Annotated[str, typer.Option(help="options of the data set as JSON")] = "{}",
    code: Annotated[
        str | None, typer.Option(help="digest of the preparing code; what other code made is remade")
    ] = None,
    records: Annotated[list[Path] | None, typer.Argument(help="records of the downloads")] = None,
) -> None:
    """Bring a data set into the form that training reads."""
    from infonce.stages.prepare import run

    run(dataset, options, raw, output.parent, records or [], code)


@app.command()
def train(
    spec: Spec,
    data: Data,
    weights: Weights,
    code: Annotated[str, typer.Option(help="digest of the training code, recorded with the run")] = "",
    threads: Threads = 1,
    device: Device = "auto",
) -> None:
    """Train the encoder of one run."""
    from infonce.stages.train import run

    run(spec, data.parent, weights.parent, code, threads, device)


@app.command()
def evaluate(
    spec: Spec,
    data: Data,
    weights: Weights,
    options: Annotated[str, typer.Option(help="settings of the evaluation as JSON")] = "{}",
    code: Annotated[str, typer.Option(help="digest of the evaluating code, recorded with the run")] = "",
    threads: Threads = 1,
    device: Device = "auto",
) -> None:
    """Measure one run: risks, cross-entropies, search quality and every term of the bounds."""
    from infonce.stages.evaluate import run

    run(spec, data.parent, weights.parent, options, code, threads, device)


@app.command()
def collect(config: ConfigJson) -> None:
    """Join the tables of all runs of a grid."""
    from infonce.stages.collect import run

    run(config)


@app.command()
def report(
    config: ConfigJson,
    partial: Annotated[bool, typer.Option(help="report what exists and list what is missing")] = False,
) -> None:
    """Build the page, its figures and its tables."""
    from infonce.stages.report import run

    run(config, partial)


@app.command()
def check(configfile: ConfigFiles = []) -> None:  # noqa: B006
    """Check configuration files and say what their grid is, without running anything."""
    from infonce.plan.workflow import Workflow
    from infonce.spec.source import read_config_files

    files = [DEFAULT_CONFIG, *configfile]
    workflow = Workflow(read_config_files(files), files)
    typer.echo(f"{len(workflow.runs)} runs; the configuration is well.")


@app.command()
def doctor(configfile: ConfigFiles = []) -> None:  # noqa: B006
    """Look at programs, machine, folders and files; each line says well, or what is wrong and what to do."""
    from infonce.doctor import examine

    if wrong := cluster.tell(examine([DEFAULT_CONFIG, *configfile], Path.cwd())):
        raise InfonceError(f"{wrong} of the lines above {'is' if wrong == 1 else 'are'} wrong")


@app.command()
def reference() -> None:
    """Write the configuration's reference and JSON schema anew from the types."""
    from infonce.files import write_text
    from infonce.spec.document import config_schema, with_reference

    page = Path("config/README.md")
    write_text(page, with_reference(page.read_text(encoding="utf-8")))
    write_text(Path("workflow/schemas/config.schema.json"), config_schema())


@app.command()
def version() -> None:
    """The version of this program."""
    typer.echo(__version__)


def main() -> None:
    """Entry point of the `infonce` command: errors for people are printed without a traceback, exit status 1."""
    try:
        app()
    except InfonceError as error:
        typer.echo(f"infonce: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        if error.errno not in OF_THE_DISK:
            raise
        place = f"{error.filename}: " if error.filename else ""
        typer.echo(f"infonce: {place}{error.strerror}; make room or mend the rights, then run it again", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
