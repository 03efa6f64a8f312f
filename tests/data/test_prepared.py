import json
import os
import shutil

import numpy as np
import pytest

from infonce.data import prepared as form
from infonce.data.prepare import prepare
from infonce.data.prepared import Source, check_matches, load, write
from infonce.errors import DataError
from infonce.spec.run import DatasetOptions


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (30, 3, 4, 5), dtype=np.uint8)


@pytest.fixture
def labels():
    return np.arange(30) % 3


def written(folder, images, labels):
    train, held_out = Source.of_arrays(images, labels), Source.of_arrays(images[:9], labels[:9])
    return write(folder, "toy", ("a", "b", "c"), train, held_out, {"made": "here"}, {})


def test_what_is_written_is_what_is_read(tmp_path, images, labels):
    made = written(tmp_path / "toy", images, labels)
    for found in (made, load(tmp_path / "toy", verify=True)):
        np.testing.assert_array_equal(found.train.images, images)
        np.testing.assert_array_equal(found.held_out.labels, labels[:9])
        assert found.train.labels.dtype == np.int64
        assert found.classes == ("a", "b", "c")
        assert found.input_shape == (3, 4, 5)
    assert isinstance(made.train.images, np.memmap)
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_mean_and_deviation_are_those_of_the_training_images(tmp_path, images, labels):
    made = written(tmp_path / "toy", images, labels)
    scaled = images.astype(np.float64) / 255
    np.testing.assert_allclose(made.mean, scaled.mean(axis=(0, 2, 3)), rtol=1e-13)
    np.testing.assert_allclose(made.std, scaled.std(axis=(0, 2, 3)), rtol=1e-13)


def test_equal_content_has_an_equal_digest_and_other_content_another(tmp_path, images, labels):
    first = written(tmp_path / "first", images, labels)
    assert written(tmp_path / "second", images, labels).digest == first.digest
    other = images.copy()
    other[3, 0, 0, 0] ^= 1
    assert written(tmp_path / "third", other, labels).digest != first.digest
    assert written(tmp_path / "fourth", images, labels[::-1].copy()).digest != first.digest


def test_a_failure_while_writing_leaves_nothing(tmp_path, images, labels):
    def broken():
        yield images[:10]
        raise OSError("no space left on device")

    train = Source(labels, images.shape[1:], np.uint8, broken())
    with pytest.raises(DataError, match=r"toy cannot be written: no space left"):
        write(tmp_path / "toy", "toy", ("a",), train, train, {}, {})
    assert list(tmp_path.iterdir()) == []


def test_too_few_images_for_the_labels_are_refused(tmp_path, images, labels):
    short = Source(labels, images.shape[1:], np.uint8, [images[:10]])
    with pytest.raises(DataError, match="10 images came for 30 labels"):
        write(tmp_path / "toy", "toy", ("a", "b", "c"), short, short, {}, {})


def test_a_full_folder_is_replaced_as_a_whole(tmp_path, images, labels):
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    (folder / "left over").write_text("from an older version")
    written(folder, images, labels)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*(f"{array}.npy" for array in form._ARRAYS), "manifest.json"]
    )
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def remove(name):
    return lambda folder: (folder / name).unlink()


def cut(name):
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2)


def edit(**changes):
    def apply(folder):
        path = folder / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return apply


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove("manifest.json"), "manifest.json is missing"),
        (remove("train_images.npy"), r"train_images.npy is missing"),
        (remove("held_out_labels.npy"), r"held_out_labels.npy is missing"),
        (cut("train_images.npy"), r"train_images.npy has \d+ bytes, expected \d+"),
        (cut("train_labels.npy"), r"train_labels.npy has \d+ bytes, expected \d+"),
        (cut("manifest.json"), "manifest.json cannot be read"),
        (edit(format_version=99), "format version 99, expected 2"),
        (edit(name="other"), "was edited"),
        (lambda folder: (folder / "manifest.json").write_text("[1]"), "format version 'list'"),
        (lambda folder: (folder / "manifest.json").write_bytes(b""), "cannot be read"),
    ],
)
def test_incomplete_or_foreign_folders_are_refused_by_name(tmp_path, images, labels, damage, message):
    folder = tmp_path / "toy"
    written(folder, images, labels)
    damage(folder)
    with pytest.raises(DataError, match=message):
        load(folder)
    assert not form.is_complete(folder)


def test_a_changed_byte_is_found_by_verify(tmp_path, images, labels):
    written(tmp_path / "toy", images, labels)
    path = tmp_path / "toy" / "train_images.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    load(tmp_path / "toy")
    with pytest.raises(DataError, match=r"train_images.npy has SHA-256 \w+, expected"):
        load(tmp_path / "toy", verify=True)


@pytest.mark.parametrize("bad", [-1, 3])
def test_held_out_images_are_labelled_and_labels_are_classes(tmp_path, images, labels, bad):
    labels = labels.copy()
    labels[2] = bad
    with pytest.raises(DataError, match=r"expected 0 to 2|expected -1 to 2"):
        written(tmp_path / "toy", images, labels)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_other_options_is_refused(digits):
    check_matches(digits, "digits", DatasetOptions())
    with pytest.raises(DataError, match=r"'split_seed': 0.*'split_seed': 1"):
        check_matches(digits, "digits", DatasetOptions(split_seed=1))


def test_a_complete_folder_is_used_as_it_is(tmp_path):
    options = DatasetOptions(train_limit=100)
    folder = tmp_path / "digits"
    prepare("digits", options, tmp_path / "raw", folder, progress=False)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path, folder, *folder.iterdir())}
    prepare("digits", options, tmp_path / "raw", folder, progress=False)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    shutil.copytree(folder, tmp_path / "copy")
    prepare("digits", DatasetOptions(train_limit=200), tmp_path / "raw", folder, progress=False)
    assert len(load(folder).train) == 200
