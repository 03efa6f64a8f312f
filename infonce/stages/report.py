"""Stage `report`: the page, its figures and its tables."""

from pathlib import Path

from infonce.cluster.queue import queue_or_reason
from infonce.cluster.states import State, states
from infonce.files import none_in_the_future
from infonce.plan.workflow import Workflow
from infonce.records.collect import collect
from infonce.report import Tables, build, read_tables
from infonce.spec.problems import parse_json


def run(config_json: str, partial: bool) -> None:
    """Build the report from the joined tables or, if `partial`, from the runs that exist."""
    workflow = Workflow(parse_json(config_json))
    results = Path(workflow.results)
    with none_in_the_future(results.glob("*.parquet")):
        tables = _existing(workflow, results) if partial else read_tables(results)
        requested = [spec.columns() for spec in workflow.runs.values()]
        page = build(tables, results / "report", workflow.config.title, requested)
    print(f"The report: {page.resolve().as_uri()}")


def _existing(workflow: Workflow, results: Path) -> Tables:
    """The tables of the runs that are done; every other run is listed with its state and its log."""
    collection = collect(workflow.runs, results / "runs", partial=True)
    queued, unknown = queue_or_reason()
    if unknown:
        print(unknown)
    for found in states(workflow, Path.cwd(), queued, snakemake_is_at_work=False):
        if found.state is not State.DONE:
            log = found.log if found.log.exists() else "none yet"
            print(f"{found.state}: {found.spec.token}; log: {log}")
    print(f"{len(workflow.runs) - len(collection.missing)} of {len(workflow.runs)} runs are there")
    return Tables.from_arrow(collection.tables)
