"""What jobs ask for: more for what needs more, twice as much for each further attempt, or the configured number."""

from types import SimpleNamespace

import pytest

from infonce.plan.costs import evaluation_cost, training_cost
from infonce.plan.workflow import Workflow
from infonce.spec.evaluation import EvaluationOptions
from infonce.spec.run import RunSpec, TrainingOptions
from tests.workflow.conftest import SMALL

OPTIONS = EvaluationOptions()


def run(**changes) -> RunSpec:
    values = {
        "dataset": "cifar10",
        "positives": "augment",
        "encoder": "convnet",
        "head": "normalize",
        "dimension": 64,
        "loss": "infonce",
        "negatives": 256,
        "temperature": 0.5,
        "tuples": 10_000,
        "tuple_design": "shared",
        "seed": 7,
    }
    return RunSpec(**values | changes)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"encoder": "mlp"}, {"encoder": "resnet18"}),
        ({"dataset": "digits", "tuples": 1000}, {"dataset": "cifar10", "tuples": 1000}),
        ({"negatives": 1}, {"negatives": 65_536}),
        ({}, {"training": TrainingOptions(steps=4000)}),
    ],
)
def test_a_larger_run_asks_for_more_time_to_train(less, more):
    assert training_cost(run(**less), 0, 1).minutes < training_cost(run(**more), 0, 1).minutes


@pytest.mark.parametrize(
    ("less", "more"),
    [({"tuples": 1000}, {"tuples": 50_000}), ({"encoder": "mlp"}, {"encoder": "resnet18"})],
)
def test_a_larger_run_asks_for_more_time_to_evaluate(less, more):
    assert evaluation_cost(run(**less), OPTIONS, 0, 1).minutes < evaluation_cost(run(**more), OPTIONS, 0, 1).minutes


def test_a_larger_data_set_asks_for_more_memory():
    small, large = run(dataset="digits", tuples=1000), run(dataset="stl10", tuples=1000)
    for gpus in (0, 1):
        assert training_cost(small, gpus, 1).memory_mib < training_cost(large, gpus, 1).memory_mib


def test_a_gpu_is_faster_and_an_unknown_encoder_counts_as_the_costliest():
    assert training_cost(run(), 1, 1).minutes < training_cost(run(), 0, 1).minutes
    assert training_cost(run(encoder="mine"), 0, 1) == training_cost(run(encoder="resnet18"), 0, 1)


def test_each_attempt_asks_for_twice_as_much():
    workflow = Workflow(SMALL)
    wildcards = SimpleNamespace(**next(iter(workflow.runs.values())).axes())
    for ask in (workflow.training_memory, workflow.training_minutes, workflow.evaluation_memory):
        first, second, third = (ask(wildcards, attempt=attempt) for attempt in (1, 2, 3))
        assert (second, third) == (2 * first, 4 * first)


def test_a_configured_number_is_the_first_request():
    workflow = Workflow(SMALL | {"resources": {"train": {"memory_mib": 700, "minutes": 3}}})
    wildcards = SimpleNamespace(**next(iter(workflow.runs.values())).axes())
    assert workflow.training_memory(wildcards, attempt=1) == 700
    assert workflow.training_minutes(wildcards, attempt=2) == 6
    assert workflow.evaluation_memory(wildcards, attempt=1) > 700


@pytest.mark.parametrize(
    ("training", "gpus", "device"), [("auto", 0, "auto"), ("auto", 1, "cuda"), ("cpu", 1, "cpu"), ("cuda", 0, "cuda")]
)
def test_a_job_with_a_gpu_is_told_to_use_it(training, gpus, device):
    values = SMALL | {"training": {"device": training}, "resources": {"train": {"gpus": gpus}}}
    assert Workflow(values).device("train") == device
