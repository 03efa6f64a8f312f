"""Stage `train`: one encoder, its history, and a record of how the training went."""

from pathlib import Path

from infonce.allocator import keep_freed_memory
from infonce.data.prepared import MANIFEST, check_matches, load
from infonce.files import none_in_the_future
from infonce.records.provenance import provenance
from infonce.records.tables import write_table
from infonce.records.training import write_record
from infonce.records.weights import write_weights
from infonce.spec.problems import validate_json
from infonce.spec.run import RunSpec
from infonce.training.loop import train
from infonce.training.state import discard_state, only_job, state_file


def run(spec_json: str, data: Path, output: Path, code: str, threads: int, device: str = "auto") -> None:
    """Train the run `spec_json` on the prepared data in `data` and write its files into the folder `output`.

    `device` auto leaves the choice to the run's own settings.
    """
    keep_freed_memory()
    spec = validate_json(RunSpec, spec_json)
    # Until the last file is written: a job that Slurm started again must not mix its files with those of the first.
    with only_job(state_file(output, spec.content_hash)), none_in_the_future([data / MANIFEST]):
        _run(spec, data, output, code, threads, device)


def _run(spec: RunSpec, data: Path, output: Path, code: str, threads: int, device: str) -> None:
    prepared = load(data)
    check_matches(prepared, spec.dataset, spec.dataset_options)
    device = spec.training.device if device == "auto" else device
    state = state_file(output, spec.content_hash)
    result = train(spec, prepared, device, threads, state_path=state, code_digest=code)
    for note in result.notes:
        print(f"note: {note}")
    head = {"run": spec.token, "spec_hash": spec.content_hash, **spec.columns()}
    write_table(output / "history.parquet", "history", [{**head, **row} for row in result.history])
    write_weights(output / "weights.safetensors", spec, result.initial, result.final)
    write_record(
        output / "training.json",
        spec,
        results={
            "status": result.status,
            "message": result.message,
            "steps": result.steps,
            "parameters": result.parameters,
            "displacement": result.displacement,
        },
        provenance={
            **provenance(),
            "code_digest": code,
            "data_digest": prepared.digest,
            "device": result.device,
            "driver": result.driver,
            "precision": result.precision,
            "threads": result.threads,
            "resumed": result.resumed,
            "attempts": result.attempts,
            "tuples_seen": result.tuples_seen,
            "training_seconds": result.seconds,
            "seconds_per_step": result.seconds_per_step,
            "peak_device_memory_mib": result.peak_device_memory_mib,
        },
    )
    discard_state(state)
    print(f"{spec.token}: {result.status}{f', {result.message}' if result.message else ''}")
