"""Stage `prepare`: a data set into the form that training reads."""

from pathlib import Path

from infonce.data.prepare import prepare
from infonce.spec.problems import validate_json
from infonce.spec.run import DatasetOptions


def run(dataset: str, options: str, raw: Path, output: Path) -> None:
    """Prepare `dataset` into the folder `output`."""
    prepared = prepare(dataset, validate_json(DatasetOptions, options), raw, output)
    print(f"{dataset}: {len(prepared.train)} training and {len(prepared.held_out)} held-out images in {output}")
