import numpy as np
import pytest
from sklearn.datasets import load_digits

from infonce.data.download import fetch
from infonce.data.prepare import prepare
from infonce.data.registry import DATASETS
from infonce.errors import ConfigError, DataError
from infonce.spec.run import DatasetOptions
from tests.data.archives import fake


def test_digits_are_all_there_and_split_class_by_class(digits):
    assert (len(digits.train), len(digits.held_out)) == (1297, 500)
    bunch = load_digits()
    expected = {
        (np.rint(image * 255 / 16).astype(np.uint8).tobytes(), int(target))
        for image, target in zip(bunch.images, bunch.target, strict=True)
    }
    found = [
        (image.tobytes(), int(label))
        for split in (digits.train, digits.held_out)
        for image, label in zip(split.images, split.labels, strict=True)
    ]
    assert len(found) == 1797
    assert set(found) == expected
    share = np.bincount(digits.held_out.labels) / np.bincount(bunch.target)
    assert np.abs(share - 500 / 1797).max() < 0.005


def test_the_split_is_a_function_of_its_seed(digits, tmp_path):
    again = prepare("digits", DatasetOptions(), tmp_path, tmp_path / "again", progress=False)
    other = prepare("digits", DatasetOptions(split_seed=1), tmp_path, tmp_path / "other", progress=False)
    assert again.digest == digits.digest
    assert other.digest != digits.digest


def test_limits_are_stratified_and_leave_the_split(digits, tmp_path):
    options = DatasetOptions(train_limit=200, held_out_limit=50)
    small = prepare("digits", options, tmp_path, tmp_path / "small", progress=False)
    assert np.bincount(small.train.labels).tolist() == pytest.approx([20] * 10, abs=1)
    assert np.bincount(small.held_out.labels).tolist() == pytest.approx([5] * 10, abs=1)
    held_out = {image.tobytes() for image in digits.held_out.images}
    assert all(image.tobytes() in held_out for image in small.held_out.images)


def test_images_are_resized_on_request(tmp_path):
    large = prepare("digits", DatasetOptions(resize=12), tmp_path, tmp_path / "large", progress=False)
    assert large.input_shape == (1, 12, 12)
    assert large.mean == pytest.approx([0.305], abs=0.01)


def test_options_that_do_not_fit_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match="labels"):
        prepare("digits", DatasetOptions(labels="coarse"), tmp_path, tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_sphere_points_have_independent_uniform_directions_and_log_normal_norms(sphere):
    for split in (sphere.train, sphere.held_out):
        points = split.images.astype(np.float64)
        assert points.shape == (4000, 5)
        assert (split.labels == -1).all()
        norms = np.linalg.norm(points, axis=1)
        # Six standard errors of a mean and of a standard deviation of 4,000 normal numbers.
        assert np.log(norms).mean() == pytest.approx(0, abs=6 * 0.7 / 4000**0.5)
        assert np.log(norms).std() == pytest.approx(0.7, abs=6 * 0.7 / 8000**0.5)
        directions = points / norms[:, None]
        assert np.abs(directions.mean(axis=0)).max() < 6 * (1 / 5 / 4000) ** 0.5
        np.testing.assert_allclose(directions.T @ directions / 4000, np.eye(5) / 5, atol=0.02)
        correlation = np.corrcoef(np.log(norms), directions[:, 0])[0, 1]
        assert abs(correlation) < 6 / 4000**0.5
    assert not np.array_equal(sphere.train.images, sphere.held_out.images)
    assert sphere.mean == ()


def test_sphere_points_do_not_depend_on_how_many_there_are(sphere, sphere_options, tmp_path):
    few = sphere_options.model_copy(update={"points": 10})
    small = prepare("sphere", few, tmp_path, tmp_path / "small", progress=False)
    np.testing.assert_array_equal(small.train.images, sphere.train.images[:10])


def test_what_the_same_code_prepared_stays_and_what_other_code_prepared_is_made_anew(tmp_path):
    def made_by(code):
        prepared = prepare("digits", DatasetOptions(train_limit=50), tmp_path, tmp_path / "out", False, code)
        return prepared.digest, (tmp_path / "out" / "manifest.json").stat().st_ino

    first, again, by_hand = made_by("aaaa"), made_by("aaaa"), made_by(None)
    assert first == again == by_hand
    other = made_by("bbbb")
    assert other[0] == first[0]
    assert other[1] != first[1]


@pytest.mark.parametrize(("name", "file", "place"), [("cifar10", "data_batch_3.bin", 500), ("fashion_mnist", None, 7)])
def test_right_size_and_wrong_content_is_refused(tmp_path, monkeypatch, name, file, place):
    """A changed pixel that was recorded at unpacking, and a header whose digest is published."""
    made = fake(name, "http://127.0.0.1:9")
    monkeypatch.setitem(DATASETS, name, made.info)
    folder = tmp_path / "raw" / name
    folder.mkdir(parents=True)
    for archive, content in made.archives.items():
        (folder / archive).write_bytes(content)
    fetch(name, tmp_path / "raw", progress=False)
    paths = [folder / member.path for source in made.info.files for member in source.members]
    victim = next(path for path in paths if file is None or path.name == file)
    content = bytearray(victim.read_bytes())
    content[place] ^= 1
    victim.write_bytes(content)
    with pytest.raises(DataError, match=rf"(?s){victim.name}: .* expected .*Delete the named files and run: "):
        prepare(name, DatasetOptions(), tmp_path / "raw", tmp_path / "prepared", progress=False)
    assert not (tmp_path / "prepared").exists()


def test_what_killed_jobs_left_beside_a_prepared_folder_is_removed(tmp_path):
    left = [tmp_path / f".digits.abcd1234.{kind}" for kind in ("part", "old")]
    others = tmp_path / ".digits-x.abcd1234.part"
    for folder in (*left, others):
        folder.mkdir(parents=True)
        (folder / "train_images.npy").write_bytes(b"half")
    prepare("digits", DatasetOptions(), tmp_path / "raw", tmp_path / "digits", progress=False)
    assert not any(folder.exists() for folder in left)
    assert others.exists()


def test_a_prepared_folder_that_does_not_serve_and_cannot_be_replaced_says_why(tmp_path):
    prepare("digits", DatasetOptions(), tmp_path / "raw", tmp_path / "digits", progress=False, code="one")
    (tmp_path / ".digits.lock").mkdir()  # where the lock belongs, so that nothing can be written, also not by root
    for options, code, reason in [
        (DatasetOptions(), "two", "it was prepared by another version of this program"),
        (DatasetOptions(train_limit=100), "one", "it holds digits prepared with "),
    ]:
        with pytest.raises(DataError, match=f"cannot be written .* prepared anew: {reason}.*Make it writable"):
            prepare("digits", options, tmp_path / "raw", tmp_path / "digits", progress=False, code=code)
    (tmp_path / "digits" / "train_labels.npy").write_bytes(b"cut")
    with pytest.raises(DataError, match=r"prepared anew: .*train_labels.npy"):
        prepare("digits", DatasetOptions(), tmp_path / "raw", tmp_path / "digits", progress=False, code="one")
