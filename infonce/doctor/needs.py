"""How many bytes a grid will still write, roughly: from its own finished runs, else from the sizes of its encoders."""

import math
import statistics
from pathlib import Path

from infonce.data.download import missing_members
from infonce.data.prepared import is_complete
from infonce.data.registry import dataset, held_out_images, input_shape, prepared_name, training_images
from infonce.plan.workflow import Workflow
from infonce.spec.run import RunSpec

TABLES = 100_000  # bytes of a run's four tables, records and logs


def results_bytes(workflow: Workflow, folder: Path) -> int:
    """Of the weights and tables of all runs that are missing."""
    runs = folder / workflow.results / "runs"
    sizes: dict[tuple[object, ...], list[int]] = {}
    missing = []
    for token, run in workflow.runs.items():
        files = list((runs / token).glob("*"))
        if (runs / token / "run.parquet").exists():
            sizes.setdefault(_kind(run), []).append(sum(file.stat().st_size for file in files))
        else:
            missing.append(run)
    estimates: dict[tuple[object, ...], int] = {}
    for run in missing:
        kind = _kind(run)
        if kind not in estimates:
            estimates[kind] = int(statistics.median(sizes[kind])) if kind in sizes else _estimate(run)
    return sum(estimates[_kind(run)] for run in missing)


def data_bytes(workflow: Workflow, folder: Path) -> int:
    """Of the archives, their content and the prepared arrays that are missing."""
    prepared = {(run.dataset, prepared_name(run.dataset, run.dataset_options)): run for run in workflow.runs.values()}
    total, raw = 0, set()
    for (name, place), run in prepared.items():
        if is_complete(folder / workflow.data / "prepared" / place):
            continue
        images = training_images(name, run.dataset_options) + held_out_images(name, run.dataset_options)
        shape = input_shape(name, run.dataset_options)
        total += images * (math.prod(shape) * (1 if len(shape) == 3 else 4) + 8)
        info = dataset(name)
        if name not in raw and info.downloaded:
            raw.add(name)
            members = missing_members(info, folder / workflow.data / "raw" / name)
            archives = [file for file in info.files if set(file.members) & set(members)]
            total += sum(member.size for member in members) + sum(archive.size for archive in archives)
    return total


def _kind(run: RunSpec) -> tuple[object, ...]:
    """Runs whose files have about the same size."""
    return run.dataset, run.encoder, run.head, run.dimension


def _estimate(run: RunSpec) -> int:
    """Weights before and after training in float32, and the tables; nothing is computed for the count."""
    import torch

    from infonce.encoders.encoder import encoder_of

    with torch.device("meta"):
        encoder = encoder_of(run, tuple(input_shape(run.dataset, run.dataset_options)))
    return 2 * 4 * sum(parameter.numel() for parameter in encoder.parameters()) + TABLES
