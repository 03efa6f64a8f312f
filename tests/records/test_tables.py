import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infonce.errors import RecordError
from infonce.records.schemas import HISTORY, SCHEMAS, columns_of_kind
from infonce.records.tables import read_table, without_provenance, write_table
from infonce.spec.run import AXES

SPEC = {
    "run": "r",
    "spec_hash": "h",
    "dataset": "digits",
    "positives": "augment",
    "encoder": "mlp",
    "head": "normalize",
    "dimension": 32,
    "loss": "infonce",
    "tuples": 100,
    "tuple_design": "shared",
    "negatives": 4,
    "temperature": 0.1,
    "seed": 7,
}
STEP = {"step": 0, "epoch": 0.0, "training_loss": 1.5, "held_out_loss": 2.0, "displacement": 0.0, "learning_rate": 0.1}
STEP |= {"loss_change": 0.0, "prop4": 0.0, "prop4_tight": 0.0, "eq18": 0.0}


def test_a_table_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "history.parquet"
    write_table(path, "history", [SPEC | STEP, SPEC | STEP | {"step": 5}])
    table = read_table(path, "history")
    assert table.schema.equals(HISTORY, check_metadata=True)
    assert table.to_pylist()[1] == SPEC | STEP | {"step": 5}


def test_whole_and_real_numbers_have_one_type(tmp_path):
    """One file's loss is a whole number, another's a real one, a third column is all null: one schema for all."""
    for name, loss in (("a", 2), ("b", 2.5)):
        write_table(tmp_path / name, "history", [SPEC | STEP | {"training_loss": loss, "temperature": 1}])
        table = read_table(tmp_path / name, "history")
        assert table.schema.field("training_loss").type == pa.float64()
        assert table.schema.field("temperature").type == pa.float64()
        assert table.schema.field("negatives").type == pa.int64()
    write_table(tmp_path / "runs", "runs", [SPEC | {"status": "diverged"}])
    assert read_table(tmp_path / "runs", "runs").schema.field("cross_entropy").type == pa.float64()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_by_name(tmp_path, value):
    with pytest.raises(RecordError, match="row 0: training_loss"):
        write_table(tmp_path / "t", "history", [SPEC | STEP | {"training_loss": value}])
    assert not list(tmp_path.iterdir())


def test_unknown_missing_and_mistyped_columns_are_refused_by_name(tmp_path):
    with pytest.raises(RecordError, match="tau"):
        write_table(tmp_path / "t", "history", [SPEC | STEP | {"tau": 1.0}])
    with pytest.raises(RecordError, match="training_loss"):
        write_table(tmp_path / "t", "history", [SPEC | {**STEP, "training_loss": None}])
    with pytest.raises(RecordError, match="schema of the table history"):
        write_table(tmp_path / "t", "history", [SPEC | STEP | {"negatives": 2.5}])
    assert not list(tmp_path.iterdir())


def test_cut_empty_and_foreign_files_are_named(tmp_path):
    path = tmp_path / "history.parquet"
    write_table(path, "history", [SPEC | STEP])
    whole = path.read_bytes()
    for length in (0, 1, 4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(RecordError, match=r"history\.parquet"):
            read_table(path, "history")
    path.write_bytes(b"<html>" * 100)
    with pytest.raises(RecordError, match="no whole Parquet"):
        read_table(path, "history")
    with pytest.raises(RecordError, match="no such file"):
        read_table(tmp_path / "none", "history")
    path.write_bytes(whole)
    with pytest.raises(RecordError, match="is the table history, not curves"):
        read_table(path, "curves")


def test_another_schema_version_is_named(tmp_path):
    path = tmp_path / "history.parquet"
    table = HISTORY.empty_table().replace_schema_metadata({"table": "history", "schema_version": "0"})
    pq.write_table(table, path)
    with pytest.raises(RecordError, match="schema version 0"):
        read_table(path, "history")


def test_partition_like_folders_do_not_change_types(tmp_path):
    path = tmp_path / "temperature=warm" / "negatives=1" / "history.parquet"
    write_table(path, "history", [SPEC | STEP])
    assert read_table(path, "history").schema.equals(HISTORY)


def test_every_table_has_the_axes_with_their_types():
    types = {"dimension": pa.int64(), "tuples": pa.int64(), "negatives": pa.int64(), "seed": pa.int64()}
    types["temperature"] = pa.float64()
    for schema in SCHEMAS.values():
        for axis in AXES:
            assert schema.field(axis).type == types.get(axis, pa.string())
            assert not schema.field(axis).nullable


def test_provenance_can_be_left_out(tmp_path):
    write_table(tmp_path / "t", "runs", [SPEC | {"status": "ok", "host": "here", "cross_entropy": -1.0}])
    table = without_provenance(read_table(tmp_path / "t", "runs"), "runs")
    assert "cross_entropy" in table.column_names
    assert not set(table.column_names) & set(columns_of_kind(SCHEMAS["runs"], "provenance"))
    assert "host" in columns_of_kind(SCHEMAS["runs"], "provenance")
