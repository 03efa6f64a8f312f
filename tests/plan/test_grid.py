import copy
from pathlib import Path

import pytest
import yaml

from infonce.errors import ConfigError
from infonce.plan.grid import expand, load_config
from infonce.spec.run import RunSpec
from infonce.spec.source import Sources, check_yaml, read_config_files

DEFAULT = Path(__file__).parents[2] / "config" / "config.yaml"


@pytest.fixture
def values():
    return yaml.safe_load(DEFAULT.read_text())


def refusal(values) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(values)
    return str(caught.value)


def test_the_default_grid_has_one_run_for_each_combination(values):
    values["slices"] = []
    runs = expand(load_config(values))
    axes = ("positives", "negatives", "temperatures", "seeds")
    expected = 1
    for axis in axes:
        expected *= len(values[axis])
    assert len(runs) == expected
    assert all(token == run.token for token, run in runs.items())


def test_views_follow_the_recipe_of_the_data_set_unless_one_is_named(values):
    values |= {"datasets": ["digits", "cifar10"], "slices": []}

    def recipes(**changes):
        runs = expand(load_config(values | changes)).values()
        return {run.dataset: (run.view_options.recipe, run.view_options.strength) for run in runs}

    assert recipes() == {"digits": ("small-1", 1.0), "cifar10": ("natural-1", 1.0)}
    assert recipes(view_options={"cifar10": {"strength": 0.5}})["cifar10"] == ("natural-1", 0.5)
    assert recipes(view_options={"cifar10": {"recipe": "small-1"}})["cifar10"] == ("small-1", 1.0)


@pytest.mark.parametrize("name", ["config.yaml", "paper.yaml"])
def test_a_run_is_the_same_after_its_way_through_the_command_line(name):
    runs = expand(load_config(read_config_files([DEFAULT, DEFAULT.with_name(name)])))
    for run in runs.values():
        told = RunSpec.model_validate_json(run.canonical_json())
        assert (told.token, told.content_hash) == (run.token, run.content_hash)


def test_a_new_temperature_adds_its_slice_only(values):
    before = expand(load_config(values))
    values["temperatures"].append(0.3)
    after = expand(load_config(values))
    assert set(before) <= set(after)
    assert {after[token].temperature for token in set(after) - set(before)} == {0.3}
    assert all(after[token].content_hash == run.content_hash for token, run in before.items())


@pytest.mark.parametrize("text", [1, 1.0, "1", "1.0", "1e0"])
def test_equal_temperatures_have_one_spelling(values, text):
    values |= {"temperatures": [text], "slices": []}
    tokens = {run.axes()["temperature"] for run in expand(load_config(values)).values()}
    assert tokens == {"1"}


def test_text_from_the_command_line_is_read_as_numbers(values):
    values |= {"temperatures": ["0.1", "1e-3"], "negatives": ["8"], "slices": []}
    runs = expand(load_config(values)).values()
    assert {run.axes()["temperature"] for run in runs} == {"0.1", "0.001"}
    assert {run.negatives for run in runs} == {8}


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("temperatures", [0]),
        ("temperatures", [-0.1]),
        ("temperatures", [float("nan")]),
        ("temperatures", [float("inf")]),
        ("temperatures", ["warm"]),
        ("temperatures", [True]),
        ("temperatures", [1e-4]),
        ("temperatures", []),
        ("negatives", [0]),
        ("negatives", [-1]),
        ("negatives", [2.5]),
        ("negatives", ["four"]),
        ("negatives", [None]),
        ("negatives", []),
        ("seeds", [-1]),
        ("seeds", []),
        ("datasets", ["digitz"]),
        ("datasets", []),
        ("datasets", [7]),
        ("encoders", ["mlpp"]),
        ("losses", ["infonce2"]),
        ("positives", ["augmented"]),
        ("positives", ["sphere"]),
        ("heads", ["lifted"]),
        ("tuple_designs", ["joint"]),
        ("tuples", [0]),
        ("tuples", [1798]),
        ("tuples", [10**12]),
        ("dimensions", [0]),
        ("results_folder", ""),
        ("results_folder", "re{sul}ts"),
        ("data_folder", "a\nb"),
        ("temperatures", [0.1, 0.10]),
        ("temperatures", [0.1, "0.10"]),
        ("negatives", [4, 4.0]),
        ("seeds", [7, 7]),
    ],
)
def test_bad_values_are_refused_by_key(values, key, bad):
    values[key] = bad
    message = refusal(values)
    assert key in message
    assert not bad or any(str(item) in message for item in bad) or repr(bad) in message


def test_a_value_given_twice_is_named_with_its_file_and_line(tmp_path, values):
    file = tmp_path / "mine.yaml"
    file.write_text(DEFAULT.read_text().replace("[0.1, 0.2, 0.5, 1]", "[0.1, 0.10]"))
    with pytest.raises(ConfigError, match=r"mine\.yaml, line \d+: temperatures: 0\.1 is given twice"):
        load_config(merged := read_config_files([file]), Sources([file], merged))


def test_a_value_is_traced_to_the_last_file_or_the_command_line(tmp_path, values):
    top = tmp_path / "top.yaml"
    top.write_text("seeds: [3, 3]\n")
    merged = read_config_files([DEFAULT, top])
    with pytest.raises(ConfigError, match=r"top\.yaml, line 1: seeds"):
        load_config(merged, Sources([DEFAULT, top], merged))
    given = read_config_files([DEFAULT]) | {"seeds": ["3", "3"]}
    with pytest.raises(ConfigError, match="command line: seeds: 3 is given twice"):
        load_config(given, Sources([DEFAULT], given))


def test_an_unknown_key_is_named_with_the_nearest(values):
    assert "did you mean `temperatures`?" in refusal(values | {"temperature": [0.1]})
    nested = copy.deepcopy(values)
    nested["training"]["learning_rat"] = 0.1
    assert "training.learning_rat" in refusal(nested)
    assert "did you mean `learning_rate`?" in refusal(nested)
    assert "slices[0].temperatur" in refusal(values | {"slices": [{"temperatur": [1]}]})


def test_a_pool_of_one_image_is_refused(values):
    assert "training.pool: 1 is refused" in refusal(values | {"training": {"pool": 1}})
    assert "training.pool" in refusal(values | {"training": {"pool": "some"}})


def test_a_missing_axis_is_named(values):
    del values["negatives"]
    assert "negatives: is missing" in refusal(values)


def test_a_slice_that_repeats_the_grid_is_refused(values):
    values["slices"] = [{"temperatures": [values["temperatures"][0]]}]
    assert "slices[0]" in refusal(values)


def test_a_head_that_an_encoder_cannot_have(values):
    from infonce.encoders import registry

    unable = [name for name, info in registry.encoders().items() if "lift" not in info.heads]
    if not unable:
        pytest.skip("every encoder of this version can have the head `lift`")
    message = refusal(values | {"encoders": [unable[0]], "heads": ["lift"], "slices": []})
    assert "lift" in message and unable[0] in message


def test_every_problem_is_listed_at_once(values):
    message = refusal(values | {"temperatures": [0], "negatives": [0]})
    assert "temperatures[0]" in message and "negatives[0]" in message


class TestYaml:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("temperatures: [0.1", "is no YAML"),
            ("- 1\n- 2", "is no mapping"),
            ("just text", "is no mapping"),
            ("negatives: [010]", "leading zero"),
            ("seeds: [7]\nseeds: [8]", "seeds is given twice"),
            ("a: \tb: c: d", "is no YAML"),
        ],
    )
    def test_refused(self, tmp_path, text, expected):
        file = tmp_path / "config.yaml"
        file.write_text(text)
        with pytest.raises(ConfigError, match=expected) as caught:
            check_yaml(file)
        assert "config.yaml" in str(caught.value)

    def test_binary_and_missing_files(self, tmp_path):
        file = tmp_path / "config.yaml"
        file.write_bytes(b"\xff\xfe\x00\x01")
        with pytest.raises(ConfigError, match=r"config\.yaml"):
            check_yaml(file)
        with pytest.raises(ConfigError, match="no such file"):
            check_yaml(tmp_path / "none.yaml")

    def test_later_files_are_laid_over_earlier_ones(self, tmp_path):
        top = tmp_path / "top.yaml"
        top.write_text("negatives: [8]\ntraining: {steps: 3}\n")
        merged = read_config_files([DEFAULT, top])
        assert merged["negatives"] == [8]
        assert merged["training"]["steps"] == 3
        assert merged["training"]["optimizer"] == "adam"
