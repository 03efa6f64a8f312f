"""The commands `infonce cluster …` and `infonce status`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infonce.errors import ClusterError
from infonce.options import DEFAULT_CONFIG, ConfigFiles

if TYPE_CHECKING:
    from infonce.cluster.surroundings import Finding

app = typer.Typer(help="Before, during and after a run on a Slurm cluster.", no_args_is_help=True)

Profile = Annotated[Path, typer.Option(help="folder of the profile")]


def tell(findings: "Iterable[Finding]") -> int:
    """Print a line for each finding as it comes; returns how many are not well."""
    wrong = 0
    for finding in findings:
        wrong += not finding.well
        typer.echo(f"{'well ' if finding.well else 'WRONG'}  {finding.name}: {finding.text}")
    return wrong


@app.command()
def check(
    configfile: ConfigFiles = [],  # noqa: B006
    profile: Profile = Path("slurm"),
    submit: Annotated[bool, typer.Option(help="run a job of a few seconds that looks for this folder")] = False,
) -> None:
    """Try all that the grid needs of this cluster; each line says well, or what to set."""
    from infonce.cluster.check import check
    from infonce.cluster.site import read_site, read_workflow

    site = read_site(profile)
    workflow = read_workflow(site, [DEFAULT_CONFIG, *configfile])
    if wrong := tell(check(site, workflow, Path.cwd(), submit)):
        raise ClusterError(f"{wrong} of the lines above want a change before the first job")


@app.command()
def cost(configfile: ConfigFiles = []) -> None:  # noqa: B006
    """Hours of GPUs, or of cores, that the grid takes: estimated, and by what finished runs took."""
    from rich.console import Console

    from infonce.cluster.cost import cost
    from infonce.plan.workflow import Workflow
    from infonce.spec.source import read_config_files

    files = [DEFAULT_CONFIG, *configfile]
    Console(soft_wrap=True).print(cost(Workflow(read_config_files(files), files), Path.cwd()))


@app.command()
def recover() -> None:
    """After Snakemake was killed: end the jobs that it left in the queue and unlock the folder."""
    from infonce.cluster.recover import recover

    for line in recover(Path.cwd()):
        typer.echo(line)


def status(
    configfile: ConfigFiles = [],  # noqa: B006
    everything: Annotated[bool, typer.Option("--all", help="list every run that is not done")] = False,
) -> None:
    """Show the grid as a table: done, failed, running, waiting and missing runs, and the time left."""
    from rich.console import Console

    from infonce.cluster.status import status
    from infonce.plan.workflow import Workflow
    from infonce.spec.source import read_config_files

    files = [DEFAULT_CONFIG, *configfile]
    workflow = Workflow(read_config_files(files), files)
    console = Console(soft_wrap=True)
    console.print(status(workflow, Path.cwd(), everything))
