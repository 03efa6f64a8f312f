import os

import numpy as np
import pytest

from infonce.data.cifar import read_cifar10, read_cifar100
from infonce.data.download import fetch
from infonce.data.idx import read_fashion_mnist, read_idx
from infonce.data.prepare import prepare
from infonce.data.prepared import load
from infonce.data.registry import DATASETS, class_names
from infonce.data.stl10 import read_stl10
from infonce.data.tuples import TupleSampler
from infonce.errors import DataError
from infonce.spec.run import DatasetOptions
from tests.data.archives import digit_images, fake

DEFAULT = DatasetOptions()


@pytest.fixture
def raw_of(tmp_path, monkeypatch):
    """Fetch a small data set from archives that lie in its folder; returns the folder of all raw data."""

    def get(name):
        made = fake(name)
        monkeypatch.setitem(DATASETS, name, made.info)
        made.put(tmp_path / "raw" / name)
        fetch(name, tmp_path / "raw", progress=False)
        return tmp_path / "raw"

    return get


def test_cifar10_round_trip(raw_of, tmp_path):
    prepared = prepare("cifar10", DEFAULT, raw_of("cifar10"), tmp_path / "out", progress=False)
    images, labels = digit_images(100, 32, 3)
    np.testing.assert_array_equal(prepared.train.images, images)
    np.testing.assert_array_equal(prepared.train.labels, labels)
    images, labels = digit_images(40, 32, 3, 100)
    np.testing.assert_array_equal(prepared.held_out.images, images)
    np.testing.assert_array_equal(prepared.held_out.labels, labels)
    assert prepared.classes[3] == "cat"


@pytest.mark.parametrize(("kind", "divisor", "classes"), [("fine", 1, 100), ("coarse", 5, 20)])
def test_cifar100_has_fine_and_coarse_labels(raw_of, tmp_path, kind, divisor, classes):
    options = DatasetOptions(labels=kind)
    prepared = prepare("cifar100", options, raw_of("cifar100"), tmp_path / "out", progress=False)
    np.testing.assert_array_equal(prepared.train.labels, np.arange(200) % 100 // divisor)
    np.testing.assert_array_equal(prepared.held_out.images, digit_images(200, 32, 3)[0])
    assert prepared.classes == class_names("cifar100", options)
    assert len(prepared.classes) == classes


def test_stl10_round_trip(raw_of, tmp_path):
    prepared = prepare("stl10", DEFAULT, raw_of("stl10"), tmp_path / "out", progress=False)
    labelled, labels = digit_images(40, 96, 3)
    np.testing.assert_array_equal(prepared.train.images[:40], labelled)
    np.testing.assert_array_equal(prepared.train.images[40:], digit_images(60, 96, 3, 300)[0])
    np.testing.assert_array_equal(prepared.train.labels, np.concatenate([labels, np.full(60, -1)]))
    np.testing.assert_array_equal(prepared.held_out.images, digit_images(30, 96, 3, 600)[0])
    assert prepared.held_out.labels.min() >= 0


def test_stl10_unlabelled_images_are_no_class_tuples(raw_of, tmp_path):
    prepared = prepare("stl10", DEFAULT, raw_of("stl10"), tmp_path / "out", progress=False)
    sampler = TupleSampler(prepared.train.labels, "class", 40, 100, "shared", 1)
    assert sampler.images.tolist() == list(range(40))


def test_stl10_limits_keep_the_share_of_labels(raw_of, tmp_path):
    options = DatasetOptions(train_limit=50, held_out_limit=20)
    prepared = prepare("stl10", options, raw_of("stl10"), tmp_path / "out", progress=False)
    assert (len(prepared.train), len(prepared.held_out)) == (50, 20)
    assert np.bincount(prepared.train.labels + 1).tolist() == [30] + [2] * 10
    assert np.bincount(prepared.held_out.labels).tolist() == [2] * 10


def test_stl10_is_column_major_and_counts_labels_from_one(tmp_path):
    folder = tmp_path / "stl10_binary"
    folder.mkdir()
    image = np.zeros(3 * 96 * 96, dtype=np.uint8)
    image[480] = 200
    for name in ("train", "unlabeled", "test"):
        (folder / f"{name}_X.bin").write_bytes(np.concatenate([image, image]).tobytes())
        (folder / f"{name}_y.bin").write_bytes(bytes([1, 10]))
    train, held_out = read_stl10(tmp_path, DEFAULT)
    for split in (train, held_out):
        pixels = split.read(np.array([1]))[0]
        assert np.argwhere(pixels).tolist() == [[0, 0, 5]]
        assert pixels[0, 0, 5] == 200
    assert train.labels.tolist() == [0, 9, -1, -1]
    assert held_out.labels.tolist() == [0, 9]


def test_fashion_mnist_round_trip_and_resize(raw_of, tmp_path):
    raw = raw_of("fashion_mnist")
    prepared = prepare("fashion_mnist", DEFAULT, raw, tmp_path / "out", progress=False)
    images, labels = digit_images(60, 24, 1)
    np.testing.assert_array_equal(prepared.train.images[:, :, 2:26, 2:26], images)
    np.testing.assert_array_equal(prepared.train.labels, labels)
    half = prepare("fashion_mnist", DatasetOptions(resize=14), raw, tmp_path / "half", progress=False)
    assert half.input_shape == (1, 14, 14)
    assert half.mean == pytest.approx(prepared.mean, abs=0.01)


def test_the_manifest_tells_the_source(raw_of, tmp_path):
    prepare("cifar10", DEFAULT, raw_of("cifar10"), tmp_path / "out", progress=False)
    source = load(tmp_path / "out").manifest["source"]
    assert source["files"]["cifar-10-binary.tar.gz"]["digest"] == DATASETS["cifar10"].files[0].digest


def test_preparing_without_raw_files_says_what_to_fetch_and_writes_nothing(tmp_path):
    with pytest.raises(DataError, match=r"(?s)infonce data fetch stl10.*2640397119 bytes.*http://ai.stanford"):
        prepare("stl10", DEFAULT, tmp_path / "raw", tmp_path / "out", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_raw_files_are_not_needed_once_a_data_set_is_prepared(raw_of, tmp_path):
    raw = raw_of("cifar10")
    prepare("cifar10", DEFAULT, raw, tmp_path / "out", progress=False)
    prepare("cifar10", DEFAULT, tmp_path / "nowhere", tmp_path / "out", progress=False)
    assert not (tmp_path / "nowhere").exists()


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def stl_files(folder, **changes):
    content = {"train_X": bytes(2 * 27648), "train_y": bytes([1, 2]), "unlabeled_X": bytes(27648)}
    content |= {"test_X": bytes(27648), "test_y": bytes([3])} | changes
    for name, data in content.items():
        write(folder / "stl10_binary" / f"{name}.bin", data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_X": bytes(27647)}, r"train_X.bin has 27647 bytes, expected a multiple of 27648"),
        ({"unlabeled_X": b""}, r"unlabeled_X.bin has 0 bytes"),
        ({"train_y": bytes([1])}, r"train_y.bin has 1 labels for 2 images"),
        ({"test_y": bytes([0])}, r"test_y.bin has labels from 0 to 0, expected 1 to 10"),
        ({"test_y": bytes([11])}, r"labels from 11 to 11, expected 1 to 10"),
    ],
)
def test_broken_stl10_files_are_named(tmp_path, changes, message):
    stl_files(tmp_path, **changes)
    with pytest.raises(DataError, match=message):
        read_stl10(tmp_path, DEFAULT)


def test_broken_cifar_files_are_named(tmp_path):
    for batch in ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"):
        write(tmp_path / "cifar-10-batches-bin" / f"{batch}.bin", bytes(3073 * 2))
    read_cifar10(tmp_path, DEFAULT)
    path = tmp_path / "cifar-10-batches-bin" / "data_batch_4.bin"
    os.truncate(path, 3073 + 7)
    with pytest.raises(DataError, match=r"data_batch_4.bin has 3080 bytes, expected a multiple of 3073"):
        read_cifar10(tmp_path, DEFAULT)
    path.write_bytes(bytes([10]) + bytes(3072))
    with pytest.raises(DataError, match=r"data_batch_4.bin has a label 10, expected 0 to 9"):
        read_cifar10(tmp_path, DEFAULT)
    path.unlink()
    with pytest.raises(DataError, match=r"data_batch_4.bin is missing"):
        read_cifar10(tmp_path, DEFAULT)
    for name in ("train", "test"):
        write(tmp_path / "cifar-100-binary" / f"{name}.bin", bytes([20, 99]) + bytes(3072))
    read_cifar100(tmp_path, DEFAULT)
    with pytest.raises(DataError, match="has a label 20, expected 0 to 19"):
        read_cifar100(tmp_path, DatasetOptions(labels="coarse"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\x08\x03\0\0", "is no IDX file"),
        (b"\0\0\x0d\x01\0\0\0\2ab", "is no IDX file of bytes in 1 dimensions"),
        (b"\0\0\x08\x01\0\0\0\3ab", r"announces \(3,\), 3 bytes, and holds 2"),
        (b"\0\0\x08\x01\0\0\0\1ab", r"announces \(1,\), 1 bytes, and holds 2"),
        (b"\0\0\x08\x01\0\0\0\0", "announces"),
        (b"<html>", "is no IDX file"),
    ],
)
def test_broken_idx_files_are_named(tmp_path, content, message):
    path = tmp_path / "labels"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_idx(path, 1)


def test_label_files_of_another_length_are_named(raw_of):
    folder = raw_of("fashion_mnist") / "fashion_mnist"
    (folder / "train-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01\0\0\0\2ab")
    with pytest.raises(DataError, match=r"train-labels-idx1-ubyte has 2 labels up to 98, expected 60 up to 9"):
        read_fashion_mnist(folder, DEFAULT)
