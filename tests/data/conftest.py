import pytest
import torch

from infonce.data.prepare import prepare
from infonce.data.prepared import Prepared
from infonce.spec.run import DatasetOptions, RunSpec


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def digits(tmp_path_factory) -> Prepared:
    folder = tmp_path_factory.mktemp("prepared")
    return prepare("digits", DatasetOptions(), folder / "raw", folder / "digits", progress=False)


@pytest.fixture(scope="session")
def sphere_options() -> DatasetOptions:
    return DatasetOptions(points=4000, ambient_dimension=5, concentration=8.0, norm_sigma=0.7)


@pytest.fixture(scope="session")
def sphere(tmp_path_factory, sphere_options) -> Prepared:
    folder = tmp_path_factory.mktemp("prepared")
    return prepare("sphere", sphere_options, folder / "raw", folder / "sphere", progress=False)


@pytest.fixture
def make_spec():
    def make(**changes) -> RunSpec:
        settings = {
            "dataset": "digits",
            "positives": "augment",
            "encoder": "mlp",
            "head": "normalize",
            "dimension": 8,
            "loss": "infonce",
            "negatives": 16,
            "temperature": 0.2,
            "tuples": 500,
            "tuple_design": "shared",
            "seed": 7,
        }
        return RunSpec(**(settings | changes))

    return make
