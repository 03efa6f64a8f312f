import pytest
import torch

from infonce.errors import RecordError
from infonce.records.weights import read_weights, write_weights
from infonce.spec.run import RunSpec


def spec_with(seed: int) -> RunSpec:
    return RunSpec(
        dataset="digits", positives="class", encoder="mlp", head="lift", dimension=4, loss="dcl",
        negatives=2, temperature=1, tuples=9, tuple_design="shared", seed=seed,
    )  # fmt: skip


@pytest.fixture
def weights():
    return {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.zeros(2)}


def test_weights_come_back_bit_for_bit(tmp_path, weights):
    path = tmp_path / "weights.safetensors"
    write_weights(path, spec_with(1), weights, {name: value + 1 for name, value in weights.items()})
    initial, final = read_weights(path, spec_with(1))
    assert all(torch.equal(initial[name], weights[name]) for name in weights)
    assert all(torch.equal(final[name], weights[name] + 1) for name in weights)


def test_one_set_of_tensors_may_be_both_initial_and_final(tmp_path, weights):
    write_weights(tmp_path / "w", spec_with(1), weights, weights)
    initial, final = read_weights(tmp_path / "w", spec_with(1))
    assert torch.equal(initial["a"], final["a"])


def test_equal_weights_give_equal_bytes(tmp_path, weights):
    written = []
    for attempt in range(8):
        write_weights(tmp_path / str(attempt), spec_with(1), weights, weights)
        written.append((tmp_path / str(attempt)).read_bytes())
    assert len(set(written)) == 1


def test_cut_foreign_and_swapped_files_are_named(tmp_path, weights):
    path = tmp_path / "weights.safetensors"
    write_weights(path, spec_with(1), weights, weights)
    with pytest.raises(RecordError, match="belongs to another run"):
        read_weights(path, spec_with(2))
    whole = path.read_bytes()
    for content in (b"", whole[:4], whole[: len(whole) // 2], whole[:-1], b"\x80\x04pickle" * 9):
        path.write_bytes(content)
        with pytest.raises(RecordError, match=r"weights\.safetensors: is no whole safetensors file"):
            read_weights(path, spec_with(1))
    with pytest.raises(RecordError, match="no such file"):
        read_weights(tmp_path / "none", spec_with(1))
