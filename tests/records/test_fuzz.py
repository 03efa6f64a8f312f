"""Whatever happens to the bytes of a result file: it is read as it was written, or refused by name."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from infonce.errors import RecordError
from infonce.records.schemas import SCHEMA_VERSION, SCHEMAS
from infonce.records.tables import read_table, write_arrow, write_table
from infonce.records.training import read_record, write_record
from infonce.records.weights import read_weights, write_weights
from infonce.training.state import SavedState, StateKeeper, decode, encode
from tests.records.rows import row
from tests.records.test_weights import spec_with

SPEC = spec_with(1)
fuzzed = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def damage(draw):
    """A function that harms bytes: some are flipped, cut off, cut out, doubled or made anew."""
    kind = draw(st.sampled_from(["flip", "flip", "flip", "cut", "cut out", "double", "zero", "anything"]))
    places = draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=2, max_size=4))
    bit, anything = draw(st.integers(0, 7)), draw(st.binary(max_size=64))

    def harmed(whole: bytes) -> bytes:
        first, last = sorted(int(place * len(whole)) for place in places[:2])
        content = bytearray(whole)
        if kind == "flip":
            for place in places:
                content[int(place * len(whole))] ^= 1 << bit
        elif kind == "zero":
            content[first : first + 16] = bytes(16)
        else:
            pieces = {"cut": b"", "cut out": whole[last:], "double": whole[first:last] * 2 + whole[last:]}
            content = bytearray(anything if kind == "anything" else whole[:first] + pieces[kind])
        return bytes(content)

    return harmed


def refused_or_as_written(path, read, expected, same):
    try:
        found = read()
    except RecordError as error:
        assert str(path) in str(error)
        assert "run the workflow again" in str(error) or "--forcerun" in str(error)
    else:
        assert same(found, expected)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "terms.parquet"
    rows = [row("terms", SPEC, term=f"term {number}", value=number / 7) for number in range(60)]
    write_table(path, "terms", rows)
    return path, path.read_bytes(), read_table(path, "terms")


@fuzzed
@given(damage())
def test_damaged_tables(table, harmed):
    path, whole, expected = table
    path.write_bytes(harmed(whole))
    refused_or_as_written(path, lambda: read_table(path, "terms"), expected, pa.Table.equals)


def test_no_flipped_bit_of_a_footer_gives_other_rows(table):
    """The checksums of pages do not cover the footer, which says where the pages are and how to read them."""
    path, whole, expected = table
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    for place in range(len(whole) - footer, len(whole), 7):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        refused_or_as_written(path, lambda: read_table(path, "terms"), expected, pa.Table.equals)


def test_a_flipped_bit_of_a_page_is_seen_by_its_checksum(tmp_path):
    path = tmp_path / "terms.parquet"
    write_table(path, "terms", [row("terms", SPEC, value=number / 7) for number in range(60)])
    column = pq.ParquetFile(path).metadata.row_group(0).column(SCHEMAS["terms"].get_field_index("value"))
    content = bytearray(path.read_bytes())
    begin = column.dictionary_page_offset or column.data_page_offset
    content[begin + column.total_compressed_size - 3] ^= 1  # behind the header of the last page
    path.write_bytes(content)
    with pytest.raises(RecordError, match="CRC checksum"):
        read_table(path, "terms")


OTHERS = {pa.int64(): 9, pa.float64(): 0.5, pa.string(): "other", pa.bool_(): False}
TYPES = {pa.int64(): pa.int32(), pa.float64(): pa.float32(), pa.string(): pa.large_string(), pa.bool_(): pa.int8()}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(sorted(SCHEMAS)), data=st.data())
def test_other_columns_types_versions_and_rows_are_refused(name, data, tmp_path_factory):
    """Files that another program wrote whole, with the digest of a right one."""
    path = tmp_path_factory.getbasetemp() / "foreign.parquet"
    write_table(path, name, [row(name, SPEC), row(name, SPEC)])
    right = pq.ParquetFile(path).read()
    column = data.draw(st.integers(0, right.num_columns - 1))
    field = right.schema.field(column)
    metadata = dict(right.schema.metadata)
    kind = data.draw(st.sampled_from(["fewer", "more", "retyped", "renamed", "version", "no digest", "rows", "values"]))
    wrong = right
    if kind == "fewer":
        wrong = right.remove_column(column)
    elif kind == "more":
        wrong = right.append_column("more", pa.array([1, 2]))
    elif kind == "retyped":
        wrong = right.set_column(column, field.name, right.column(column).cast(TYPES[field.type]))
    elif kind == "renamed":
        wrong = right.rename_columns([f"{n}s" if n == field.name else n for n in right.column_names])
    elif kind == "version":
        metadata[b"schema_version"] = str(SCHEMA_VERSION + data.draw(st.sampled_from([-1, 1]))).encode()
    elif kind == "no digest":
        del metadata[b"rows_sha256"]
    elif kind == "rows":
        wrong = right.slice(0, data.draw(st.sampled_from([0, 1])))
    else:
        other = pa.array([OTHERS[field.type], None if field.nullable else OTHERS[field.type]], field.type)
        wrong = right.set_column(column, field, other)
        assume(not wrong.equals(right))  # a value may be the right one by chance
    pq.write_table(wrong.replace_schema_metadata(metadata), path)
    with pytest.raises(RecordError) as caught:
        read_table(path, name)
    assert str(path) in str(caught.value)


def test_a_joined_table_in_pieces_comes_back(tmp_path):
    path = tmp_path / "joined.parquet"
    parts = []
    for number in range(3):
        write_table(path, "history", [row("history", spec_with(number))] * (number + 1))
        parts.append(read_table(path, "history"))
    write_arrow(path, "history", pa.concat_tables(parts))
    assert read_table(path, "history").num_rows == 6


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "weights.safetensors"
    tensors = {"a": torch.arange(60.0).reshape(5, 12), "b": torch.tensor(2.5), "c": torch.zeros(0)}
    write_weights(path, SPEC, tensors, {name: value + 1 for name, value in tensors.items()})
    return path, path.read_bytes(), read_weights(path, SPEC)


@fuzzed
@given(damage())
def test_damaged_weights(weights, harmed):
    path, whole, expected = weights
    path.write_bytes(harmed(whole))

    def same(found, expected):
        return all(
            left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in right)
            for left, right in zip(found, expected, strict=True)
        )

    refused_or_as_written(path, lambda: read_weights(path, SPEC), expected, same)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("record") / "training.json"
    write_record(path, SPEC, {"status": "ok", "message": None, "steps": 7, "displacement": 1.25}, {"host": "a «b»"})
    return path, path.read_bytes(), read_record(path, SPEC)


@fuzzed
@given(damage())
def test_damaged_records_of_a_training(record, harmed):
    path, whole, expected = record
    path.write_bytes(harmed(whole))
    refused_or_as_written(path, lambda: read_record(path, SPEC), expected, lambda found, expected: found == expected)


@pytest.mark.parametrize("content", ["[]", "7", "null", '"x"', "{}", '{"spec_hash": 1}', "[" * 100_000])
def test_records_that_are_other_json(record, content):
    path, _, _ = record
    path.write_text(content)
    with pytest.raises(RecordError, match=r"training\.json"):
        read_record(path, SPEC)


def test_records_and_weights_of_another_run_or_version_are_told(tmp_path):
    weights, record = tmp_path / "weights.safetensors", tmp_path / "training.json"
    write_weights(weights, SPEC, {"a": torch.ones(1)}, {"a": torch.ones(1)})
    write_record(record, SPEC, {}, {})
    for path, read in ((weights, read_weights), (record, read_record)):
        with pytest.raises(RecordError, match="belongs to another run"):
            read(path, spec_with(2))
    values = json.loads(record.read_text())
    del values["sha256"]
    record.write_text(json.dumps(values))
    with pytest.raises(RecordError, match="another version of this program; `snakemake"):
        read_record(record, SPEC)
    from safetensors.torch import save_file

    save_file({"a": torch.ones(1)}, weights, {"spec_hash": SPEC.content_hash})
    with pytest.raises(RecordError, match="another version of this program; `snakemake"):
        read_weights(weights, SPEC)


@fuzzed
@given(damage())
def test_damaged_states_are_left_aside(tmp_path_factory, harmed):
    path = tmp_path_factory.getbasetemp() / "run.state"
    facts = {"history": [{"step": 0}], "spec_hash": "s", "identity": {"code": "c"}}
    whole = encode(SavedState({"encoder/a": torch.arange(9.0)}, facts))
    content = harmed(whole)
    path.write_bytes(content)
    keeper = StateKeeper(path, "s", {"code": "c"}, minutes=1)
    found = keeper.read()
    if content == whole:
        assert found is not None
        assert torch.equal(found.tensors["encoder/a"], decode(whole).tensors["encoder/a"])
    else:
        assert found is None
        assert any(str(path) in note for note in keeper.notes)
