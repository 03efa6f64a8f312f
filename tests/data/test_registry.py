import subprocess
import sys

import pytest

from infonce.data import registry
from infonce.data.allocation import allocate
from infonce.errors import ConfigError
from infonce.spec.run import DatasetOptions


def test_importing_the_registry_needs_neither_torch_nor_numpy():
    code = "import sys, infonce.data.registry; print(sorted({'torch', 'numpy', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_gets_the_nearest_known_one():
    with pytest.raises(ConfigError, match=r"'cifar-10'; did you mean `cifar10`\?.*stl10"):
        registry.dataset("cifar-10")


@pytest.mark.parametrize("name", registry.DATASETS)
def test_entries_are_whole(name):
    info = registry.DATASETS[name]
    options = DatasetOptions()
    assert info.name == name
    assert info.licence
    assert info.citation
    assert set(info.options) <= set(DatasetOptions.model_fields)
    assert registry.training_images(name, options) > 0
    assert registry.held_out_images(name, options) > 0
    for file in info.files:
        algorithm, digest = file.digest.split(":")
        assert len(digest) == {"sha256": 64, "md5": 32}[algorithm]
        assert file.size > 0
        assert all(address.endswith(file.name) for address in file.addresses)


def test_class_counts():
    assert len(registry.class_names("cifar100", DatasetOptions())) == 100
    assert len(registry.class_names("cifar100", DatasetOptions(labels="coarse"))) == 20
    assert len(set(registry.class_names("cifar100", DatasetOptions()))) == 100
    assert registry.class_names("sphere", DatasetOptions()) == ()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("cifar10", {"held_out": 100}, "held_out: 100 does not apply to data set 'cifar10'"),
        ("digits", {"labels": "coarse"}, "labels: 'coarse' does not apply"),
        ("digits", {"points": 7}, "points: 7 does not apply"),
        ("sphere", {"train_limit": 50}, "train_limit: 50 does not apply"),
        ("digits", {"held_out": 1790}, "held_out: 1790 of the 1797 images.*expected 10 to 1777"),
        ("digits", {"train_limit": 1298}, "train_limit: 1298 of 'digits' is out of range; expected 20 to 1297"),
        ("cifar100", {"train_limit": 150}, "train_limit: 150.*expected 200 to 50000"),
        ("stl10", {"held_out_limit": 8001}, "held_out_limit: 8001.*to 8000"),
    ],
)
def test_options_that_do_not_fit_are_refused(name, options, message):
    with pytest.raises(ConfigError, match=message):
        registry.check_options(name, DatasetOptions(**options))


def test_options_that_fit_pass():
    registry.check_options("sphere", DatasetOptions(points=7, concentration=3.0))
    registry.check_options("cifar100", DatasetOptions(labels="coarse", train_limit=5000, resize=16))


def test_largest_number_of_tuples():
    default = DatasetOptions()
    assert registry.largest_tuples("digits", default, "augment", "shared", 4096) == 1297
    assert registry.largest_tuples("digits", default, "augment", "disjoint", 4) == 1297 // 5
    assert registry.largest_tuples("digits", default, "class", "disjoint", 4) == 1297 // 6
    assert registry.largest_tuples("digits", default, "class", "disjoint", 4096) == 0
    assert registry.largest_tuples("stl10", default, "augment", "shared", 1) == 105_000
    assert registry.largest_tuples("stl10", default, "class", "shared", 1) == 5_000
    assert registry.largest_tuples("stl10", DatasetOptions(train_limit=2100), "class", "shared", 1) == 100


def test_the_prepared_name_depends_on_relevant_options_only():
    names = {
        registry.prepared_name("digits", DatasetOptions()),
        registry.prepared_name("digits", DatasetOptions(split_seed=1)),
        registry.prepared_name("digits", DatasetOptions(held_out=400)),
    }
    assert len(names) == 3
    assert registry.prepared_name("sphere", DatasetOptions(concentration=3.0)) == registry.prepared_name(
        "sphere", DatasetOptions()
    )


def test_allocation_is_proportional_and_whole():
    assert allocate([50, 30, 20], 10) == [5, 3, 2]
    assert allocate([1, 1, 1], 2) == [1, 1, 0]
    assert sum(allocate([178, 182, 177, 9], 101)) == 101
    with pytest.raises(ValueError, match="total is 4, expected 0 to 3"):
        allocate([1, 2], 4)
