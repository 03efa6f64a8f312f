"""Stage `prepare`: a data set into the form that training reads."""

from collections.abc import Sequence
from pathlib import Path

from infonce.data.prepare import prepare
from infonce.files import none_in_the_future
from infonce.spec.problems import validate_json
from infonce.spec.run import DatasetOptions


def run(
    dataset: str, options: str, raw: Path, output: Path, records: Sequence[Path] = (), code: str | None = None
) -> None:
    """Prepare `dataset` into the folder `output`, or leave there what the same `code` prepared.

    `records` are those of the downloads that it is made from.
    """
    with none_in_the_future(records):
        prepared = prepare(dataset, validate_json(DatasetOptions, options), raw, output, code=code)
    print(f"{dataset}: {len(prepared.train)} training and {len(prepared.held_out)} held-out images in {output}")
