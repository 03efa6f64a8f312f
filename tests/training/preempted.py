"""A run in a process of its own, for a test to kill. It imports no more than the run needs."""

import json

import torch

from infonce.data.prepared import load
from infonce.spec.run import RunSpec
from infonce.training.loop import train


def final_bytes(result):
    """Weights and history of a result."""
    weights = b"".join(result.final[name].numpy().tobytes() for name in sorted(result.final))
    return weights + json.dumps(result.history).encode()


def train_to_file(data, spec_json, folder):
    """Train with a state after every step; the last thing written is `bytes`."""
    torch.set_num_threads(1)
    spec = RunSpec.model_validate_json(spec_json)
    result = train(spec, load(data), "cpu", progress=False, state_path=folder / "state", state_minutes=0)
    (folder / "attempts").write_text(str(result.attempts))
    (folder / "unfinished").write_bytes(final_bytes(result))
    (folder / "unfinished").rename(folder / "bytes")
