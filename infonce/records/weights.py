"""The weights of a run in one safetensors file: θ_0, θ̂ and the spec they belong to."""

import hashlib
import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from infonce.errors import RecordError
from infonce.files import replacing
from infonce.records.tables import REMAKE_ALL
from infonce.spec.run import RunSpec

Weights = dict[str, torch.Tensor]


def write_weights(path: Path, spec: RunSpec, initial: Weights, final: Weights) -> None:
    """Write θ_0 (`initial`) and θ̂ (`final`), whole or not at all."""
    # A run that diverged at once may hand over one set of tensors as both; a file holds each tensor once.
    tensors = {f"initial.{name}": value.clone(memory_format=torch.contiguous_format) for name, value in initial.items()}
    tensors |= {f"final.{name}": value.clone(memory_format=torch.contiguous_format) for name, value in final.items()}
    with replacing(path) as temporary:
        # One entry only: safetensors writes several in random order, and equal runs must give equal bytes.
        facts = {"spec_hash": spec.content_hash, "sha256": _digest(tensors)}
        try:
            save_file(tensors, temporary, {"run": json.dumps(facts, sort_keys=True)})
        except SafetensorError as error:
            raise RecordError(f"{path}: cannot be written ({error})") from None


def read_weights(path: Path, spec: RunSpec) -> tuple[Weights, Weights]:
    """θ_0 and θ̂; RecordError for a file that is cut, foreign or of another run."""
    remake = "remove the file and run the workflow again to remake it"
    if not path.is_file():
        raise RecordError(f"{path}: no such file; train the run first")
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get("run", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        found, digest = facts.get("spec_hash"), facts.get("sha256")
    except (SafetensorError, OSError, ValueError, AttributeError, RuntimeError) as error:
        raise RecordError(f"{path}: is no whole safetensors file ({error}); {remake}") from None
    if digest is None:
        raise RecordError(f"{path}: was written by another version of this program; {REMAKE_ALL}")
    if found != spec.content_hash:
        raise RecordError(f"{path}: belongs to another run (spec {found}, expected {spec.content_hash}); {remake}")
    if digest != _digest(tensors):
        raise RecordError(f"{path}: its weights are not those that were written, by their digest; {remake}")
    initial = {name.removeprefix("initial."): value for name, value in tensors.items() if name.startswith("initial.")}
    final = {name.removeprefix("final."): value for name, value in tensors.items() if name.startswith("final.")}
    return initial, final


def _digest(tensors: Weights) -> str:
    """SHA-256 over names, types, shapes and every value."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"|{name}:{tensor.dtype}:{tuple(tensor.shape)}|".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
