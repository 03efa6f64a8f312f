from pathlib import Path

import pytest
import yaml

from infonce.errors import RecordError
from infonce.plan.grid import expand, load_config
from infonce.records.collect import FILES, collect
from infonce.records.tables import write_table
from tests.records.rows import row, write_run

DEFAULT = Path(__file__).parents[2] / "config" / "config.yaml"


@pytest.fixture
def runs():
    values = yaml.safe_load(DEFAULT.read_text())
    values |= {"slices": [], "positives": ["augment"], "negatives": [1, 4], "temperatures": [0.1, 1], "seeds": [7]}
    return expand(load_config(values))


@pytest.fixture
def folder(tmp_path, runs):
    for token, spec in runs.items():
        write_run(tmp_path / token, spec)
    return tmp_path


def test_runs_are_joined_in_the_order_of_the_grid(runs, folder):
    collection = collect(runs, folder)
    assert collection.tables["runs"]["run"].to_pylist() == list(runs)
    assert (collection.missing, collection.strays) == ([], [])


def test_a_missing_run_is_named_and_listed_when_partial(runs, folder):
    token = list(runs)[2]
    (folder / token / FILES["runs"]).unlink()
    with pytest.raises(RecordError, match="1 of 4 runs have no result") as caught:
        collect(runs, folder)
    assert token in str(caught.value)
    collection = collect(runs, folder, partial=True)
    assert collection.missing == [token]
    assert collection.tables["runs"].num_rows == 3


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("partial", [False, True])
def test_a_cut_file_is_named_never_passed_over(runs, folder, name, partial):
    path = folder / next(iter(runs)) / FILES[name]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RecordError) as caught:
        collect(runs, folder, partial)
    assert str(path) in str(caught.value)


def test_files_swapped_between_runs_are_refused(runs, folder):
    first, second = (folder / token / FILES["runs"] for token in list(runs)[:2])
    first.write_bytes(second.read_bytes())
    with pytest.raises(RecordError, match="belongs to another run"):
        collect(runs, folder)


def test_a_result_of_other_settings_is_refused(runs, folder):
    token, spec = next(iter(runs.items()))
    write_run(folder / token, spec, spec_hash="0" * 16)
    with pytest.raises(RecordError, match="spec_hash"):
        collect(runs, folder)


def test_a_run_with_no_row_or_two_rows_is_refused(runs, folder):
    token, spec = next(iter(runs.items()))
    one = row("runs", spec, status="ok")
    for rows in ([], [one, one]):
        write_table(folder / token / FILES["runs"], "runs", rows)
        with pytest.raises(RecordError, match=f"has {len(rows)} rows"):
            collect(runs, folder)


@pytest.mark.parametrize("name", ["curves", "terms", "history"])
def test_a_measured_run_with_an_empty_table_is_refused(runs, folder, name):
    """Such as the file of a diverged run, which names no run."""
    token, spec = next(iter(runs.items()))
    write_table(folder / token / FILES[name], name, [])
    with pytest.raises(RecordError, match="has no rows") as caught:
        collect(runs, folder)
    assert str(folder / token / FILES[name]) in str(caught.value)
    write_table(folder / token / FILES["runs"], "runs", [row("runs", spec, status="diverged")])
    collect(runs, folder)


def test_strays_are_listed_and_left_out(runs, folder):
    kept = {token: spec for token, spec in runs.items() if spec.temperature == 1}
    collection = collect(kept, folder)
    assert sorted(collection.strays) == sorted(set(runs) - set(kept))
    assert set(collection.tables["runs"]["temperature"].to_pylist()) == {1.0}
