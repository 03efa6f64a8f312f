"""What a job asks for when the configuration does not say: memory and time, from the run's own numbers.

An estimate errs on the large side by `MARGIN`; a job that fails is tried again with twice as much. Speeds are those
measured in docs/cluster.md.
"""

import math
from dataclasses import dataclass

from infonce.data.registry import held_out_images, input_shape, training_images
from infonce.spec.evaluation import EvaluationOptions
from infonce.spec.run import RunSpec

MARGIN = 3.0
START_SECONDS = 60.0  # a cold file system, two Snakemakes and the import of torch
HISTORY_SAMPLE = 2048  # tuples at most whose losses a row of the history needs, twice

# Of one pixel: multiplications in a forward pass, and bytes kept for the backward pass.
MULTIPLICATIONS = {"linear": 200, "mlp": 800, "convnet": 10_000, "resnet18": 550_000}
KEPT_BYTES = {"linear": 20, "mlp": 100, "convnet": 1000, "resnet18": 6000}
LARGEST = "resnet18"  # an encoder that is not listed counts as the costliest that is

CORE_SPEED = 2e10  # multiplications a second on a processor core, and on a GPU
GPU_SPEED = 5e12  # half of what an A100 does at most in float32
CORE_STEP_SECONDS, GPU_STEP_SECONDS = 0.01, 0.05  # of a step, however small
VIEW_SECONDS = 3e-8  # of a pixel, on a processor core

HOST_MIB = 900  # Python, torch and two Snakemakes
CUDA_HOST_MIB = 3000  # the driver's own memory on the host
PIXELS_IN_PASS = 2**19  # embedded at once, at most


@dataclass(frozen=True)
class Cost:
    """What one attempt needs."""

    memory_mib: int
    minutes: int


def training_cost(run: RunSpec, gpus: int, threads: int) -> Cost:
    """What a training asks for."""
    batch, pool = _step_inputs(run)
    memory = _memory(run, gpus, 2 * batch + pool, gradients=True)
    return Cost(memory, _minutes(training_seconds(run, gpus, threads)))


def evaluation_cost(run: RunSpec, options: EvaluationOptions, gpus: int, threads: int) -> Cost:
    """What an evaluation asks for."""
    memory = _memory(run, gpus, _images(run), gradients=False) + 1000
    return Cost(memory, _minutes(evaluation_seconds(run, options, gpus, threads)))


def training_seconds(run: RunSpec, gpus: int, threads: int) -> float:
    """Estimate: each step embeds anchors, positives and a pool of negatives, forwards twice and backwards."""
    options = run.training
    images = training_images(run.dataset, run.dataset_options)
    batch, pool = _step_inputs(run)
    step = 4 * _embedding(run, 2 * batch + pool, gpus, threads) + 3 * _similarities(
        run, batch, max(pool, run.negatives), gpus, threads
    )
    step += GPU_STEP_SECONDS if gpus else CORE_STEP_SECONDS
    sample = min(HISTORY_SAMPLE, run.tuples)
    row = _embedding(run, 2 * sample + images, gpus, threads)
    row += _similarities(run, sample, images + run.negatives, gpus, threads)
    return options.steps * step + 2 * options.history_points * row


def evaluation_seconds(run: RunSpec, options: EvaluationOptions, gpus: int, threads: int) -> float:
    """Estimate: everything is embedded once in float64, then every anchor is compared with every image."""
    images = _images(run)
    anchors = run.tuples + (options.anchors_limit or images)
    seconds = 8 * _embedding(run, 3 * images, gpus, threads)
    return seconds + 20 * _similarities(run, anchors, images + run.negatives, gpus, threads)


def _step_inputs(run: RunSpec) -> tuple[int, int]:
    """Tuples and pool members of a step."""
    images = training_images(run.dataset, run.dataset_options)
    batch = min(run.training.batch_size, run.tuples)
    pool = images if run.training.pool == "all" else run.training.pool
    return batch, min(pool, images, batch * run.negatives)


def _images(run: RunSpec) -> int:
    """Of both splits."""
    return training_images(run.dataset, run.dataset_options) + held_out_images(run.dataset, run.dataset_options)


def _embedding(run: RunSpec, inputs: int, gpus: int, threads: int) -> float:
    """Seconds to make views of that many inputs and embed them."""
    pixels = inputs * _pixels(run)
    views = pixels * VIEW_SECONDS / (100 if gpus else threads)
    return pixels * MULTIPLICATIONS.get(run.encoder, MULTIPLICATIONS[LARGEST]) / _speed(gpus, threads) + views


def _pixels(run: RunSpec) -> int:
    """Of an image; a vector's dimension."""
    return math.prod(input_shape(run.dataset, run.dataset_options)[-2:])


def _similarities(run: RunSpec, anchors: int, others: int, gpus: int, threads: int) -> float:
    """Seconds for all inner products of embeddings and a few exponentials of each."""
    return anchors * others * (run.dimension + 20) / _speed(gpus, threads)


def _speed(gpus: int, threads: int) -> float:
    return GPU_SPEED if gpus else CORE_SPEED * threads


def _memory(run: RunSpec, gpus: int, inputs: int, gradients: bool) -> int:
    shape = input_shape(run.dataset, run.dataset_options)
    images = _images(run)
    data = images * math.prod(shape) * (1 if len(shape) == 3 else 4)
    embeddings = 12 * (images + inputs) * (run.dimension + 1)
    kept = KEPT_BYTES.get(run.encoder, KEPT_BYTES[LARGEST]) if gradients else KEPT_BYTES["mlp"]
    passes = 0 if gpus else kept * min(inputs * _pixels(run), PIXELS_IN_PASS)
    mib = (CUDA_HOST_MIB if gpus else 0) + HOST_MIB + (2 * data + embeddings + passes) / 2**20
    return 500 * math.ceil(1.3 * mib / 500)


def _minutes(seconds: float) -> int:
    return max(10, 5 * math.ceil((START_SECONDS + MARGIN * seconds) / 60 / 5))
