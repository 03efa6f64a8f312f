"""Whole runs: results, history, the ways to end, and the same bytes twice."""

import math
import multiprocessing
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from infonce.data.inputs import TupleInputs
from infonce.data.prepared import Prepared, Split
from infonce.encoders.encoder import encoder_of
from infonce.errors import DeviceError
from infonce.losses import infonce_loss
from infonce.records.schemas import HISTORY, columns_of_kind
from infonce.training import history as history_module
from infonce.training.loop import train


def run(spec, prepared, **more):
    return train(spec, prepared, "cpu", threads=1, progress=False, **more)


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture
def result(digits, make_spec):
    return run(make_spec(), digits)


def test_the_result_of_a_run(result, make_spec, digits):
    assert (result.status, result.message, result.notes) == ("ok", None, ())
    assert (result.steps, result.tuples_seen) == (12, 12 * 32)
    assert result.parameters == 64 * 256 + 256 * 8
    assert (result.threads, result.precision, result.deterministic) == (1, "float32", True)
    assert result.device.startswith("cpu") and result.driver is None and result.peak_device_memory_mib is None
    assert not result.resumed and result.attempts == 1
    assert 0 < result.seconds_per_step < result.seconds
    assert same(result.initial, encoder_of(make_spec(), digits.input_shape).state_dict())
    moved = sum((result.final[name] - result.initial[name]).square().sum().item() for name in result.initial)
    assert result.displacement == pytest.approx(math.sqrt(moved), rel=1e-5)


def test_history_has_the_columns_of_its_table(result):
    assert [row["step"] for row in result.history] == [0, 4, 8, 12]
    assert [row["epoch"] for row in result.history] == [0, 4 / 3, 8 / 3, 4]
    for row in result.history:
        assert [*row] == columns_of_kind(HISTORY, "result")
    assert result.history[0]["displacement"] == 0
    assert result.history[-1]["displacement"] == result.displacement
    losses = [row["training_loss"] for row in result.history]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("split", ["train", "held_out"])
def test_history_losses_are_those_of_the_definition(split, result, digits, make_spec):
    spec = make_spec()
    encoder = encoder_of(spec, digits.input_shape)
    encoder.load_state_dict(result.final)
    inputs = TupleInputs(split, digits, spec, "cpu", {"train": "training", "held_out": "held-out"}[split])
    rows = torch.arange(inputs.sampler.tuples)
    with torch.no_grad():
        anchors, positives = encoder(inputs.anchor_inputs(rows)), encoder(inputs.positive_inputs(rows))
        negatives = encoder(inputs.pool_inputs(inputs.sampler.negatives(rows).flatten())).view(len(rows), 4, 8)
    losses = infonce_loss((anchors * positives).sum(1), (anchors[:, None] * negatives).sum(2), 0.2)
    column = {"train": "training_loss", "held_out": "held_out_loss"}[split]
    assert result.history[-1][column] == pytest.approx(losses.mean().item(), abs=1e-5)


def test_history_of_many_tuples_follows_a_fixed_sample(digits, make_spec, monkeypatch):
    monkeypatch.setattr(history_module, "LARGEST_SAMPLE", 40)
    sampled = run(make_spec(), digits)
    assert sampled.history == run(make_spec(), digits).history
    monkeypatch.undo()
    whole = run(make_spec(), digits)
    assert same(sampled.final, whole.final)
    difference = sampled.history[-1]["training_loss"] - whole.history[-1]["training_loss"]
    assert 0 < abs(difference) < 1


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"loss": "dcl", "head": "lift", "positives": "class"},
        {"training": {"optimizer": "sgd", "learning_rate": 0.1, "schedule": "cosine", "warmup_steps": 3}},
        {"training": {"optimizer": "adamw", "weight_decay": 0.1, "gradient_clip": 0.5}},
        {"training": {"tuples_drawn": "each_epoch", "pool": 30}},
        {"training": {"tuples_drawn": "each_epoch"}, "negatives": 300},
    ],
    ids=str,
)
def test_the_same_bytes_twice_and_others_for_another_seed(changes, digits, make_spec):
    first, second = run(make_spec(**changes), digits), run(make_spec(**changes), digits)
    assert same(first.final, second.final) and first.history == second.history
    assert first.status == "ok" and first.history[-1]["training_loss"] < first.history[0]["training_loss"]
    assert not same(first.final, run(make_spec(**changes, seed=1), digits).final)


def test_whatever_the_global_generators_hold(digits, make_spec):
    first = run(make_spec(), digits)
    before = torch.get_rng_state()
    torch.rand(5)
    np.random.default_rng().random(5)
    assert same(first.final, run(make_spec(), digits).final)
    torch.set_rng_state(before)


@pytest.mark.parametrize(
    "training",
    [
        {"pool": 30},
        {"tuples_drawn": "each_epoch"},
        {"optimizer": "sgd"},
        {"schedule": "cosine"},
        {"gradient_clip": 0.01},
        {"weight_decay": 0.5},
        {"batch_size": 16},
        {"learning_rate": 0.01},
    ],
    ids=str,
)
def test_each_option_changes_the_weights(training, digits, make_spec, result):
    if "gradient_clip" in training:  # Adam does not see the scale of a gradient
        training = {**training, "optimizer": "sgd"}
        result = run(make_spec({"optimizer": "sgd"}), digits)
    assert not same(run(make_spec(training), digits).final, result.final)


def test_weights_from_a_first_step_by_hand(digits, make_spec):
    """One SGD step without momentum is θ - η·gradient of the mean loss over the first batch."""
    spec = make_spec({"optimizer": "sgd", "momentum": 0.0, "learning_rate": 0.5, "steps": 1, "batch_size": 120})
    encoder = encoder_of(spec, digits.input_shape)
    inputs = TupleInputs("train", digits, spec, "cpu", "training")
    rows = torch.arange(120)
    anchors, positives = encoder(inputs.anchor_inputs(rows)), encoder(inputs.positive_inputs(rows))
    negatives = encoder(inputs.pool_inputs(inputs.sampler.negatives(rows).flatten())).view(120, 4, 8)
    infonce_loss((anchors * positives).sum(1), (anchors[:, None] * negatives).sum(2), 0.2).mean().backward()
    final = run(spec, digits).final
    for name, parameter in encoder.named_parameters():
        assert torch.allclose(final[name], parameter - 0.5 * parameter.grad, atol=1e-6)


@pytest.mark.parametrize("rate", [1e25, 1e38, 1e45])
def test_divergence_is_a_status_with_the_last_finite_state(rate, digits, make_spec):
    result = run(make_spec({"optimizer": "sgd", "learning_rate": rate}, head="lift"), digits)
    assert result.status == "diverged"
    assert f"diverged at step {result.steps + 1}" in result.message
    assert all(torch.isfinite(tensor).all() for tensor in result.final.values())
    assert math.isfinite(result.displacement)
    assert all(math.isfinite(value) for row in result.history for value in row.values())


def test_stops_at_a_displacement(digits, make_spec, result):
    limit = result.history[1]["displacement"]
    stopped = run(make_spec({"stop_at_displacement": limit}), digits)
    assert stopped.status == "stopped_early" and stopped.steps == 4
    assert "stopped at step 4: the displacement" in stopped.message
    assert stopped.displacement == limit == stopped.history[-1]["displacement"]
    between = run(make_spec({"stop_at_displacement": 0.5 * limit}), digits)
    assert between.steps < 4 and [row["step"] for row in between.history] == [0, between.steps]


def test_stops_at_a_held_out_loss(digits, make_spec, result):
    limit = result.history[2]["held_out_loss"]
    stopped = run(make_spec({"stop_at_held_out_loss": limit}), digits)
    assert (stopped.status, stopped.steps) == ("stopped_early", 8)
    assert "held-out loss" in stopped.message
    assert stopped.history == result.history[:3]


def test_more_negatives_than_images_and_a_batch_of_one(digits, make_spec):
    """k is never cut down to what the data offer: the loss of a collapsed encoder tells the k that was used."""
    spec = make_spec({"batch_size": 1, "steps": 2}, negatives=1000, tuples=1)
    result = run(spec, digits)
    assert (result.status, result.tuples_seen) == ("ok", 2)
    spec = make_spec({"steps": 1}, negatives=1000, tuples=1, positives="class")
    assert run(spec, black_images(digits)).history[0]["training_loss"] == pytest.approx(math.log1p(1 / 1000), abs=1e-6)


def black_images(digits):
    def blank(split):
        return Split(np.zeros_like(np.asarray(split.images)), np.asarray(split.labels))

    return Prepared("black", digits.classes, blank(digits.train), blank(digits.held_out), (0.0,), (1.0,), "digest", {})


@pytest.mark.parametrize("head", ["normalize", "lift"])
def test_all_zero_features_are_trained_on_finitely(head, digits, make_spec):
    spec = make_spec(head=head, positives="class", tuples=100)
    result = run(spec, black_images(digits))
    assert result.status == "ok" and result.displacement == 0
    assert result.history[-1]["training_loss"] == pytest.approx(math.log1p(1 / 4), abs=1e-6)


def test_disjoint_tuples_keep_their_negatives_whatever_the_pool(digits, make_spec):
    results = [run(make_spec({"pool": pool}, tuple_design="disjoint", tuples=10), digits) for pool in ("all", 20)]
    assert results[0].history == results[1].history


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there_stops_at_once(digits, make_spec):
    with pytest.raises(DeviceError, match=r"no GPU is seen on .*Request a GPU"):
        train(make_spec(), digits, "cuda")


def test_bfloat16_without_a_gpu_is_noted(digits, make_spec, result):
    narrow = run(make_spec({"precision": "bfloat16"}), digits)
    assert narrow.precision == "float32" and "bfloat16 needs a GPU" in narrow.notes[0]
    assert same(narrow.final, result.final)


def test_threads_are_set_and_given_back(digits, make_spec):
    before = torch.get_num_threads()
    assert train(make_spec(), digits, "cpu", threads=2, progress=False).threads == 2
    assert torch.get_num_threads() == before


def test_no_bar_without_a_terminal(digits, make_spec, capfd):
    train(make_spec(), digits, "cpu", progress=True)
    assert capfd.readouterr().err == ""


def test_a_run_does_not_wait_for_the_compiler(digits_folder, make_spec):
    """torch.optim would import it, for longer than a small run trains."""
    code = f"""
import sys
from pathlib import Path
from infonce.data.prepared import load
from infonce.spec.run import RunSpec
from infonce.training.loop import train
spec = RunSpec.model_validate_json({make_spec().model_dump_json()!r})
print(train(spec, load(Path({str(digits_folder)!r})), "cpu").status, "torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ok", "False"]


def _train_in_little_memory(folder, spec_json, queue):
    from infonce.data.prepared import load
    from infonce.spec.run import RunSpec

    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + 300 * 2**20,) * 2)
    result = train(RunSpec.model_validate_json(spec_json), load(folder), "cpu", progress=False)
    queue.put((result.status, result.message, result.steps))


def test_exhausted_memory_is_a_status_with_the_keys_to_lower(digits_folder, make_spec):
    spec = make_spec({"batch_size": 120}, encoder_options={"width": 100_000}, negatives=1)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_train_in_little_memory, args=(digits_folder, spec.model_dump_json(), queue))
    process.start()
    status, message, steps = queue.get(timeout=60)
    process.join()
    assert status == "out_of_memory" and steps == 0
    assert "lower training.batch_size" in message
