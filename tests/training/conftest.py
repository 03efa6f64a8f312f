"""Small real data, made once, and a maker of specs."""

import numpy as np
import pytest
import torch

from infonce.data.prepare import prepare
from infonce.data.prepared import Prepared, Split
from infonce.spec.run import DatasetOptions, RunSpec, TrainingOptions


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def digits_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    options = DatasetOptions(train_limit=120, held_out_limit=60)
    prepare("digits", options, folder / "raw", folder / "digits", progress=False)
    return folder / "digits"


@pytest.fixture(scope="session")
def digits(digits_folder) -> Prepared:
    from infonce.data.prepared import load

    return load(digits_folder)


@pytest.fixture(scope="session")
def photographs() -> Prepared:
    """Images of three channels, 12×12, whose classes differ in colour."""
    random = np.random.default_rng(0)

    def split(count):
        labels = np.arange(count) % 3
        images = random.integers(0, 120, (count, 3, 12, 12))
        images[np.arange(count), labels] += 100
        return Split(images.astype(np.uint8), labels.astype(np.int64))

    return Prepared("photographs", ("a", "b", "c"), split(48), split(24), (0.4,) * 3, (0.2,) * 3, "digest", {})


@pytest.fixture
def make_spec():
    def make(training=None, **changes) -> RunSpec:
        settings = {
            "dataset": "digits",
            "positives": "augment",
            "encoder": "mlp",
            "head": "normalize",
            "dimension": 8,
            "loss": "infonce",
            "negatives": 4,
            "temperature": 0.2,
            "tuples": 120,
            "tuple_design": "shared",
            "seed": 0,
            "encoder_options": {},
        }
        options = {"steps": 12, "batch_size": 32, "history_points": 3, **(training or {})}
        return RunSpec(**{**settings, **changes}, training=TrainingOptions(**options))

    return make
