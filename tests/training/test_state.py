"""Preemption: killed runs end with the same bytes, damaged states are seen, and two jobs do not meet."""

import itertools
import logging
import multiprocessing
import os
import random
import signal
import time

import filelock
import pytest
import torch

from infonce.data.prepared import load
from infonce.errors import RecordError
from infonce.stages.train import run
from infonce.training.loop import train
from infonce.training.state import SavedState, StateKeeper, decode, discard_state, encode, only_job, state_file
from tests.training.preempted import final_bytes, train_to_file

KEEP_ALWAYS = 0.0  # minutes


@pytest.fixture
def interrupted(digits, make_spec, tmp_path, monkeypatch):
    """The state of a run that SIGTERM stopped after its fifth step, and its spec."""
    spec = make_spec()
    path = state_file(tmp_path, spec.content_hash)
    stop_after(monkeypatch, 5)
    with pytest.raises(SystemExit) as stopped:
        train(spec, digits, "cpu", progress=False, state_path=path, state_minutes=KEEP_ALWAYS)
    assert stopped.value.code == 128 + signal.SIGTERM
    monkeypatch.undo()
    return path, spec


def stop_after(monkeypatch, step, *numbers):
    from infonce.training.trainer import Trainer

    original = Trainer.step

    def step_and_signal(self, index):
        if index + 1 == step:
            for number in numbers or [signal.SIGTERM]:
                os.kill(os.getpid(), number)
        return original(self, index)

    monkeypatch.setattr(Trainer, "step", step_and_signal)


def test_goes_on_after_sigterm_with_the_same_bytes(interrupted, digits):
    path, spec = interrupted
    resumed = train(spec, digits, "cpu", progress=False, state_path=path)
    whole = train(spec, digits, "cpu", progress=False)
    assert (resumed.resumed, resumed.attempts, resumed.steps) == (True, 2, 12)
    assert (whole.resumed, whole.attempts) == (False, 1)
    assert final_bytes(resumed) == final_bytes(whole)
    assert resumed.notes == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"training": {"optimizer": "sgd", "schedule": "cosine"}},
        {"training": {"optimizer": "adamw", "tuples_drawn": "each_epoch", "pool": 30}},
    ],
    ids=str,
)
def test_every_optimiser_resumes_with_the_same_bytes(changes, digits, make_spec, tmp_path, monkeypatch):
    spec = make_spec(**changes)
    stop_after(monkeypatch, 5)
    with pytest.raises(SystemExit):
        train(spec, digits, "cpu", progress=False, state_path=tmp_path / "state")
    monkeypatch.undo()
    resumed = train(spec, digits, "cpu", progress=False, state_path=tmp_path / "state")
    assert resumed.resumed and final_bytes(resumed) == final_bytes(train(spec, digits, "cpu", progress=False))


def test_batch_statistics_resume_too(photographs, make_spec, tmp_path, monkeypatch):
    spec = make_spec(
        {"steps": 2, "batch_size": 8, "history_points": 1},
        encoder="resnet18",
        encoder_options={"normalization": "batch", "projection": "none"},
        tuples=48,
        negatives=1,
    )
    stop_after(monkeypatch, 1)
    with pytest.raises(SystemExit):
        train(spec, photographs, "cpu", progress=False, state_path=tmp_path / "state")
    monkeypatch.undo()
    resumed = train(spec, photographs, "cpu", progress=False, state_path=tmp_path / "state")
    assert final_bytes(resumed) == final_bytes(train(spec, photographs, "cpu", progress=False))
    assert any("running_mean" in name for name in resumed.final)


@pytest.mark.parametrize("warning", [signal.SIGURG, signal.SIGUSR1])
def test_a_warning_keeps_a_state_and_goes_on(warning, digits, make_spec, tmp_path, monkeypatch, caplog):
    stop_after(monkeypatch, 5, warning)
    result = train(make_spec(), digits, "cpu", progress=False, state_path=tmp_path / "state")
    assert result.status == "ok" and result.steps == 12
    assert decode((tmp_path / "state").read_bytes()).facts["step"] == 5
    assert f"warned by {warning.name}; the state is kept" in caplog.text


def test_a_warning_does_not_make_it_forget_that_it_was_to_end(digits, make_spec, tmp_path, monkeypatch):
    stop_after(monkeypatch, 5, signal.SIGTERM, signal.SIGURG)
    with pytest.raises(SystemExit):
        train(make_spec(), digits, "cpu", progress=False, state_path=tmp_path / "state")
    assert decode((tmp_path / "state").read_bytes()).facts["step"] == 5


def test_signals_are_given_back(digits, make_spec, tmp_path):
    numbers = (signal.SIGTERM, signal.SIGURG, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    train(make_spec(), digits, "cpu", progress=False, state_path=tmp_path / "state")
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.parametrize("damage", ["half", "empty", "one bit", "foreign"])
def test_a_damaged_state_falls_back_to_the_one_before(damage, interrupted, digits, caplog):
    path, spec = interrupted
    content = bytearray(path.read_bytes())
    if damage == "one bit":
        content[len(content) // 2] ^= 1
    path.write_bytes({"half": content[: len(content) // 2], "empty": b"", "foreign": b"{}" * 99}.get(damage, content))
    with caplog.at_level(logging.WARNING):
        resumed = train(spec, digits, "cpu", progress=False, state_path=path)
    assert "is damaged" in caplog.text and "goes on from step 4" in caplog.text
    assert resumed.resumed and "is damaged" in resumed.notes[0]
    assert final_bytes(resumed) == final_bytes(train(spec, digits, "cpu", progress=False))


def test_without_a_whole_state_it_starts_again_loudly(interrupted, digits, caplog):
    path, spec = interrupted
    for name in (path, path.with_name(path.name + ".previous")):
        name.write_bytes(name.read_bytes()[:-1])
    result = train(spec, digits, "cpu", progress=False, state_path=path)
    assert "training starts again from step 0" in caplog.text
    assert not result.resumed and len(result.notes) == 3
    assert final_bytes(result) == final_bytes(train(spec, digits, "cpu", progress=False))


def test_the_one_before_serves_where_the_newest_is_missing(interrupted, digits):
    """A kill between the two renames of a write leaves only the one before."""
    path, spec = interrupted
    path.unlink()
    resumed = train(spec, digits, "cpu", progress=False, state_path=path)
    assert resumed.resumed and final_bytes(resumed) == final_bytes(train(spec, digits, "cpu", progress=False))


def test_a_state_of_another_spec_is_refused(interrupted, digits, make_spec):
    path, spec = interrupted
    before = path.read_bytes()
    other = make_spec(seed=1)
    with pytest.raises(RecordError, match=f"another run.*{spec.content_hash}.*{other.content_hash}"):
        train(other, digits, "cpu", progress=False, state_path=path)
    assert path.read_bytes() == before


def test_a_state_of_other_code_or_data_is_left_aside_loudly(interrupted, digits, photographs, caplog):
    path, spec = interrupted
    result = train(spec, digits, "cpu", progress=False, state_path=path, code_digest="edited")
    assert not result.resumed and "made with another code: training starts again" in result.notes[0]
    assert final_bytes(result) == final_bytes(train(spec, digits, "cpu", progress=False))


def test_two_jobs_do_not_work_on_one_run(digits_folder, make_spec, tmp_path):
    spec = make_spec()
    with only_job(state_file(tmp_path, spec.content_hash)):
        before = sorted(tmp_path.iterdir())
        with pytest.raises(RecordError, match="another job is training this run"):
            run(spec.canonical_json(), digits_folder, tmp_path, "", threads=1)
        assert sorted(tmp_path.iterdir()) == before


def test_other_jobs_are_kept_off_until_the_last_file_is_written(digits_folder, make_spec, tmp_path, monkeypatch):
    """Else the files of two trainings of one run could mix."""
    from infonce.stages import train as stage

    spec = make_spec(dataset_options={"train_limit": 120, "held_out_limit": 60})
    lock = filelock.FileLock(f"{state_file(tmp_path, spec.content_hash)}.lock", timeout=0)
    original, refused = stage.discard_state, []

    def discard_and_look(path):
        with pytest.raises(filelock.Timeout):
            lock.acquire()
        refused.append(sorted(file.name for file in tmp_path.iterdir() if not file.name.startswith(".")))
        original(path)

    monkeypatch.setattr(stage, "discard_state", discard_and_look)
    run(spec.canonical_json(), digits_folder, tmp_path, "", threads=1)
    assert refused == [["history.parquet", "training.json", "weights.safetensors"]]
    assert not list(tmp_path.glob(".*"))


def test_discarding_leaves_nothing(interrupted):
    path, _ = interrupted
    assert path.exists() and path.with_name(path.name + ".previous").exists()
    discard_state(path)
    assert list(path.parent.iterdir()) == []
    discard_state(path)


def test_states_round_trip_without_pickle():
    state = SavedState({"a": torch.tensor(3.0), "b": torch.arange(4)}, {"step": 7, "history": [{"x": 0.1}]})
    again = decode(encode(state))
    assert again.facts == state.facts
    assert all(torch.equal(again.tensors[name], state.tensors[name]) for name in state.tensors)


def test_states_are_kept_at_their_interval(tmp_path):
    made = []

    def state():
        made.append(1)
        return SavedState({"a": torch.zeros(1)}, {})

    with StateKeeper(tmp_path / "state", "hash", {}, minutes=0.001) as keeper:
        keeper.after_step(state)
        assert not made
        time.sleep(0.07)
        keeper.after_step(state)
        keeper.after_step(state)
    assert len(made) == 1


def test_states_are_kept_as_often_as_that_is_cheap(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("infonce.training.state.time", clock)
    kept = []

    def state():
        clock.now += clock.writing
        kept.append(clock.now)
        return SavedState({"a": torch.zeros(1)}, {})

    with StateKeeper(tmp_path / "state", "hash", {}, minutes=10) as keeper:
        for seconds, clock.writing in ((300, 0), (1000, 2), (3000, 100)):
            began = clock.now
            while clock.now < began + seconds:
                clock.now += 1
                keeper.after_step(state)
    pauses = [after - before for before, after in itertools.pairwise(kept)]
    assert pauses[:5] == [30, 30, 30, 30, 30]  # cheap: twice a minute
    assert pauses.count(202) == 4  # a hundredth of the time
    assert set(pauses[-3:]) == {700}  # ten minutes at most, and the writing itself


class Clock:
    """Time that passes when the test says so."""

    now, writing = 0, 0

    def monotonic(self):
        return self.now


def test_kill_9_twenty_times_ends_with_the_same_bytes(digits_folder, make_spec, tmp_path):
    spec = make_spec({"steps": 60, "history_points": 6}, negatives=32)
    whole = final_bytes(train(spec, load(digits_folder), "cpu", progress=False))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.training.preempted"])
    moments, durations, attempts = random.Random(0), [], []

    def start():
        process = context.Process(target=train_to_file, args=(digits_folder, spec.model_dump_json(), tmp_path))
        process.start()
        return process

    def check_the_end():
        assert (tmp_path / "bytes").read_bytes() == whole
        (tmp_path / "bytes").unlink()
        attempts.append(int((tmp_path / "attempts").read_text()))
        discard_state(tmp_path / "state")

    for _ in range(2):  # the first also waits for the server that the others are forked from
        began = time.monotonic()
        start().join()
        durations.append(time.monotonic() - began)
        check_the_end()
    kills = 0
    while kills < 20:
        process = start()
        process.join(moments.uniform(0, 0.7 * durations[1]))
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
        if (tmp_path / "bytes").exists():
            check_the_end()  # and from the beginning
    start().join()
    check_the_end()
    assert max(attempts) > 3, "hardly a kill came after a state was kept"
