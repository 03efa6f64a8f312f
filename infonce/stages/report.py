"""Stage `report`: the page, its figures and its tables."""

from pathlib import Path

from infonce.plan.grid import expand, load_config
from infonce.records.collect import collect
from infonce.report import Tables, build, read_tables
from infonce.spec.problems import parse_json


def run(config_json: str, partial: bool) -> None:
    """Build the report from the joined tables or, if `partial`, from the runs that exist."""
    config = load_config(parse_json(config_json))
    results = Path(config.results_folder)
    runs = expand(config)
    if partial:
        collection = collect(runs, results / "runs", partial=True)
        tables = Tables.from_arrow(collection.tables)
        for token in collection.missing:
            print(f"missing: {token}; log: {results / 'logs' / 'train' / token}.log")
        print(f"{len(runs) - len(collection.missing)} of {len(runs)} runs are there")
    else:
        tables = read_tables(results)
    page = build(tables, results / "report", config.title, [spec.columns() for spec in runs.values()])
    print(f"The report: {page.resolve().as_uri()}")
