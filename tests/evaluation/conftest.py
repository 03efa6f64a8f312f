import pytest
import torch

from infonce.data.inputs import TupleInputs
from infonce.data.prepare import prepare
from infonce.encoders.encoder import encoder_of
from infonce.evaluation.embedding import embed_tuples
from infonce.spec.run import DatasetOptions, RunSpec
from infonce.training.source import HELD_OUT_PURPOSE, TRAINING_PURPOSE

OPTIONS = DatasetOptions(train_limit=60, held_out_limit=40)


def spec_with(**changes) -> RunSpec:
    values = {
        "dataset": "digits",
        "positives": "augment",
        "encoder": "mlp",
        "head": "normalize",
        "dimension": 6,
        "loss": "infonce",
        "negatives": 5,
        "temperature": 0.3,
        "tuples": 50,
        "tuple_design": "shared",
        "seed": 3,
        "dataset_options": OPTIONS,
    }
    return RunSpec(**(values | changes))


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    return prepare("digits", OPTIONS, folder / "raw", folder / "prepared", progress=False)


@pytest.fixture(params=["augment", "class"])
def spec(request):
    return spec_with(positives=request.param)


@pytest.fixture
def encoder(spec, prepared):
    return encoder_of(spec, prepared.input_shape).double().eval()


@pytest.fixture
def training(spec, prepared):
    return TupleInputs("train", prepared, spec, "cpu", TRAINING_PURPOSE)


@pytest.fixture
def held_out(spec, prepared):
    return TupleInputs("held_out", prepared, spec, "cpu", HELD_OUT_PURPOSE)


@pytest.fixture
def embedded(encoder, held_out):
    return embed_tuples(encoder, held_out, torch.arange(held_out.sampler.tuples))
