"""Stage `evaluate`: all numbers of one run, written in one job."""

import dataclasses
import time
from pathlib import Path
from typing import Any

from infonce.allocator import keep_freed_memory
from infonce.data.prepared import MANIFEST, check_matches, load
from infonce.evaluation.measure import evaluate
from infonce.files import none_in_the_future
from infonce.records.collect import MEASURED
from infonce.records.provenance import peak_memory_mib, provenance
from infonce.records.tables import write_table
from infonce.records.training import read_record
from infonce.records.weights import read_weights
from infonce.spec.evaluation import EvaluationOptions
from infonce.spec.problems import validate_json
from infonce.spec.run import RunSpec
from infonce.training import device as devices


def run(spec_json: str, data: Path, folder: Path, options_json: str, code: str, threads: int, device: str) -> None:
    """Measure the run whose training files lie in `folder` and write its tables there."""
    with none_in_the_future([data / MANIFEST, *folder.glob("*.*")]):
        _run(spec_json, data, folder, options_json, code, threads, device)


def _run(spec_json: str, data: Path, folder: Path, options_json: str, code: str, threads: int, device: str) -> None:
    started = time.monotonic()
    keep_freed_memory()
    spec = validate_json(RunSpec, spec_json)
    options = validate_json(EvaluationOptions, options_json)
    record = read_record(folder / "training.json", spec)
    head = {"run": spec.token, "spec_hash": spec.content_hash, **spec.columns()}
    row = {**head, **record["results"], **record["provenance"]}
    curves: list[dict[str, Any]] = []
    terms: list[dict[str, Any]] = []
    if record["results"]["status"] in MEASURED:
        prepared = load(data)
        check_matches(prepared, spec.dataset, spec.dataset_options)
        initial, final = read_weights(folder / "weights.safetensors", spec)
        measured = evaluate(spec, prepared, initial, final, options, device, threads)
        row |= measured.run
        curves = [{**head, **curve} for curve in measured.curves]
        terms = [{**head, **dataclasses.asdict(term)} for term in measured.terms]
    row["evaluation_seconds"] = time.monotonic() - started
    row["peak_memory_mib"] = max(row["peak_memory_mib"], peak_memory_mib())
    row |= _provenance(code, options, device)
    write_table(folder / "curves.parquet", "curves", curves)
    write_table(folder / "terms.parquet", "terms", terms)
    write_table(folder / "run.parquet", "runs", [row])
    print(f"{spec.token}: {len(curves)} points of curves, {len(terms)} terms")


def _provenance(code: str, options: EvaluationOptions, device: str) -> dict[str, Any]:
    """Of this job; that of the training stands beside it, and its memory in the same column."""
    here = {
        **provenance(),
        "code_digest": code,
        "device": devices.describe(devices.resolve(device)),
        "precision": options.precision,
    }
    return {f"evaluation_{name}": value for name, value in here.items() if name != "peak_memory_mib"}
