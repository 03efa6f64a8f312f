"""Whatever a configuration holds, it is taken or refused with a message that names the key; nothing else happens."""

import copy
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from infonce.errors import ConfigError
from infonce.plan.grid import expand, load_config
from infonce.spec.config import Config
from infonce.spec.source import Sources, check_yaml, read_config_files

DEFAULT = yaml.safe_load((Path(__file__).parents[2] / "config" / "config.yaml").read_text())
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["0.1", "1e-3", "1_0", "0x10", "digits", "mlp", "all", "$(id)", "; rm", "--help", "\n", "../x", "τ"]
    ),
    st.dates(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=6,
)
KEYS = sorted(Config.model_fields)
GROUPS = {
    name: sorted(field.annotation.model_fields)
    for name, field in Config.model_fields.items()
    if hasattr(field.annotation, "model_fields")
}


def taken_or_refused(values, key):
    try:
        runs = expand(load_config(values))
    except ConfigError as error:
        assert str(error).strip()
        return str(error)
    assert all(run.token == token for token, run in runs.items())
    return None


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(KEYS), VALUES)
def test_any_value_of_any_key(key, value):
    message = taken_or_refused(copy.deepcopy(DEFAULT) | {key: value}, key)
    if message is not None:
        assert key in message or any(group in message for group in KEYS)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([(group, key) for group, keys in GROUPS.items() for key in keys]), VALUES)
def test_any_value_in_any_group(place, value):
    group, key = place
    values = copy.deepcopy(DEFAULT)
    values[group] = values.get(group, {}) | {key: value}
    message = taken_or_refused(values, key)
    assert message is None or key in message


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from([*KEYS, "unknown"]), VALUES, max_size=5))
def test_any_mapping(values):
    taken_or_refused(values, "")


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@example(text="::")  # an unknown key whose value is empty
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=60) | st.binary(max_size=40))
def test_any_file(text, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / "fuzzed.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    try:
        check_yaml(file)
        merged = read_config_files([file])
        load_config(merged, Sources([file], merged))
    except ConfigError as error:
        assert "fuzzed.yaml" in str(error) or "is missing" in str(error)


@pytest.mark.parametrize("name", ["a;b", "$(touch x)", "`id`", "a'b", 'a"b', "a\nb", "-rf", "../../etc", "a b"])
def test_names_that_a_shell_could_misread_are_unknown_names(name):
    for key in ("datasets", "encoders"):
        with pytest.raises(ConfigError):
            load_config(copy.deepcopy(DEFAULT) | {key: [name], "slices": []})
