"""Stage `collect`: the tables of all runs, joined."""

from pathlib import Path

from infonce.data.prepared import MANIFEST
from infonce.files import none_in_the_future
from infonce.plan.grid import expand, load_config
from infonce.records.collect import collect
from infonce.records.tables import write_arrow
from infonce.spec.problems import parse_json


def run(config_json: str) -> None:
    """Join the tables of every run of the grid below the results folder."""
    config = load_config(parse_json(config_json))
    results = Path(config.results_folder)
    runs = expand(config)
    inputs = [file for token in runs for file in (results / "runs" / token).glob("*.*")]
    inputs += (Path(config.data_folder) / "prepared").glob(f"*/{MANIFEST}")
    with none_in_the_future(inputs):
        collection = collect(runs, results / "runs")
        for name, table in collection.tables.items():
            write_arrow(results / f"{name}.parquet", name, table)
    print(f"{collection.tables['runs'].num_rows} runs joined")
    for token in collection.strays:
        print(f"not of this grid, left out: {results / 'runs' / token}")
