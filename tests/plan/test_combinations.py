"""What no job could do with its values is refused by the check, at the file, line and key that name it."""

import json
from pathlib import Path

import pytest

from infonce.errors import ConfigError, DataError
from infonce.plan.grid import expand, load_config
from infonce.spec.config import Config
from infonce.spec.problems import validate
from infonce.spec.source import Sources, read_config_files
from infonce.stages import prepare, train
from tests.workflow.conftest import SMALL

DEFAULT = Path(__file__).parents[2] / "config" / "config.yaml"
ONE = SMALL | {
    "positives": ["augment"],
    "negatives": [4],
    "temperatures": [1],
    "tuples": [20],
    "training": {"steps": 2, "batch_size": 8, "history_points": 1},
    "dataset_options": {},
}
SPHERE = {"datasets": ["sphere"], "positives": ["sphere"]}


def refusal(values) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(values)
    return str(caught.value)


def trained(values, folder) -> str:
    """Prepare and train the only run of a configuration, checked or not; the status it ends with."""
    (run,) = expand(validate(Config, values)).values()
    data = folder / "data"
    prepare.run(run.dataset, run.dataset_options.model_dump_json(exclude_defaults=True), folder / "raw", data)
    train.run(run.canonical_json(), data, folder, "", 1)
    return json.loads((folder / "training.json").read_text())["results"]["status"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            SPHERE | {"encoders": ["resnet18"]},
            r"encoders[0]: 'resnet18' is refused: the encoder 'resnet18' needs images",
        ),
        (SPHERE | {"encoders": ["convnet"]}, "encoders[0]: 'convnet' is refused: the encoder 'convnet' needs images"),
        ({"heads": ["lift"], "dimensions": [1]}, "dimensions[0]: 1 is refused: the head 'lift' needs an embedding"),
        ({"encoders": ["resnet18"], "heads": ["lift"]}, "heads[0]: 'lift' is refused: the encoder 'resnet18' cannot"),
        (
            {"positives": ["class"], "dataset_options": {"digits": {"held_out": 19}}},
            "positives[0]: 'class' is refused: positives of the same class need two labelled images of each, 20 in "
            "all, and dataset_options.digits.held_out leaves 19",
        ),
        (
            SPHERE | {"tuples": [1], "dataset_options": {"sphere": {"points": 1}}},
            "dataset_options.sphere.points: 1 is refused: a split needs at least 2 images",
        ),
        (
            SPHERE | {"dataset_options": {"sphere": {"points": 50, "held_out": 1}}},
            "dataset_options.sphere.held_out: 1 is refused: a split needs at least 2 images",
        ),
        (
            {
                "view_options": {"digits": {"recipe": "natural-1", "blur": 1}},
                "dataset_options": {"digits": {"resize": 1}},
            },
            "view_options.digits.blur: 1.0 is refused: an image of one pixel cannot be blurred",
        ),
        ({"tuples": [1298]}, "tuples[0]: 1298 is refused: digits with positives 'augment'"),
    ],
)
def test_what_every_training_would_refuse_is_refused_by_the_check(changes, message, tmp_path):
    assert message in refusal(ONE | changes)
    with pytest.raises((ConfigError, DataError, RuntimeError)):
        trained(ONE | changes, tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"heads": ["lift"], "dimensions": [2]},
        {"dimensions": [1]},
        {"positives": ["class"], "dataset_options": {"digits": {"held_out": 20}}},
        {"positives": ["class"], "dataset_options": {"digits": {"held_out": 1777}}},
        {"positives": ["class"], "dataset_options": {"digits": {"train_limit": 20, "held_out_limit": 20}}},
        {"dataset_options": {"digits": {"held_out": 10}}},
        {"dataset_options": {"digits": {"resize": 1}}, "encoders": ["convnet"]},
        {
            "view_options": {"digits": {"recipe": "natural-1", "blur": 1}},
            "dataset_options": {"digits": {"resize": 2}},
        },
        SPHERE | {"tuples": [2], "dataset_options": {"sphere": {"points": 2, "held_out": 2}}},
    ],
)
def test_what_is_just_possible_passes_and_trains(changes, tmp_path):
    load_config(ONE | changes)
    assert trained(ONE | changes, tmp_path) == "ok"


def test_images_without_labels_are_none_of_a_class():
    few = {"datasets": ["stl10"], "positives": ["class"], "tuples": [10]}
    options = {"dataset_options": {"stl10": {"train_limit": 210}}}
    assert "dataset_options.stl10.train_limit leaves 10" in refusal(ONE | few | options)
    load_config(ONE | few | {"dataset_options": {"stl10": {"train_limit": 420}}})


def test_a_concentration_that_the_evaluation_refuses_is_refused():
    message = refusal(ONE | SPHERE | {"dataset_options": {"sphere": {"concentration": 2e9}}})
    assert "dataset_options.sphere.concentration: 2000000000.0 is refused" in message


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("slices:\n  - encoders: [resnet18]\n    heads: [normalize, lift]\n", 3, "slices[0].heads[1]: 'lift'"),
        ("heads: [lift]\nslices:\n  - seeds: [1]\n  - encoders: [resnet18]\n", 4, "slices[1].encoders[0]: 'resnet18'"),
        ("slices:\n  - heads: [lift]\n    dimensions: [1]\n", 3, "slices[0].dimensions[0]: 1"),
        ("slices:\n  - datasets: sphere\n    positives: [sphere, class]\n", 3, "slices[0].positives[1]: 'class'"),
        ("slices:\n  - tuples: 9999\n", 2, "slices[0].tuples[0]: 9999"),
        ("slices:\n  - tuple_designs: [disjoint]\n", 2, "slices[0].tuple_designs[0]: 'disjoint'"),
    ],
)
def test_an_error_of_a_slice_is_located_in_the_slice(tmp_path, text, line, key):
    mine = tmp_path / "mine.yaml"
    mine.write_text(text)
    files = [DEFAULT, mine]
    values = read_config_files(files)
    with pytest.raises(ConfigError) as caught:
        load_config(values, Sources(files, values))
    assert str(caught.value).startswith(f"{mine}, line {line}: {key} is refused: ")


def test_the_given_grids_pass():
    for name in ("config.yaml", "paper.yaml"):
        load_config(read_config_files([DEFAULT, DEFAULT.with_name(name)]))
