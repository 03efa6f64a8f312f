"""Stage `collect`: the tables of all runs, joined."""

from pathlib import Path

from infonce.plan.grid import expand, load_config
from infonce.records.collect import collect
from infonce.records.tables import write_arrow
from infonce.spec.problems import parse_json


def run(config_json: str) -> None:
    """Join the tables of every run of the grid below the results folder."""
    config = load_config(parse_json(config_json))
    results = Path(config.results_folder)
    collection = collect(expand(config), results / "runs")
    for name, table in collection.tables.items():
        write_arrow(results / f"{name}.parquet", name, table)
    print(f"{collection.tables['runs'].num_rows} runs joined")
    for token in collection.strays:
        print(f"not of this grid, left out: {results / 'runs' / token}")
