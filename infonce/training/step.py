"""One step: embed anchors, positives and the pool once, and put the gradient of the mean loss on the parameters.

What does not fit one pass is embedded in chunks twice: first without a graph, to get the gradient with respect to
every embedding, then chunk by chunk with one (gradient caching, Gao et al. 2021). Inputs depend on counters alone,
so the second pass sees the same views, and memory grows neither with the pool nor with k.
"""

import contextlib
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

from infonce.encoders.encoder import Encoder
from infonce.spec.run import RunSpec
from infonce.training.pooled import PooledLoss, pooled_loss
from infonce.training.pools import Pool
from infonce.training.source import TupleSource

__all__ = ["Embedder", "backward", "compiled_or_eager", "embed_without_graph", "losses_of_tuples"]

log = logging.getLogger(__name__)

InputsOf = Callable[[slice], torch.Tensor]
LARGEST_CHUNK, SMALLEST_CHUNK, PIXELS_IN_CHUNK = 8192, 64, 2**19


class Embedder:
    """Applies an encoder in its precision and memory layout, by chunks of at most `chunk` inputs."""

    def __init__(
        self, encoder: Encoder, input_shape: tuple[int, ...], bfloat16: bool = False, chunk: int | None = None
    ) -> None:
        """The chunk follows from the shape of an input unless it is given."""
        self.encoder, self.bfloat16 = encoder, bfloat16
        self.apply: Callable[[torch.Tensor], torch.Tensor] = encoder
        self.chunk = chunk or chunk_size(input_shape)
        self.channels_last = any(isinstance(module, nn.Conv2d) for module in encoder.modules())

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Unit rows in float32; the encoder in bfloat16 if so asked, the normalisation never."""
        if self.channels_last:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=self.bfloat16):
            return self.apply(inputs)

    def without_graph(self, inputs_of: InputsOf, count: int) -> torch.Tensor:
        """Embeddings (count, d) of inputs that are made chunk by chunk."""
        with torch.no_grad():
            return torch.cat([self(inputs_of(part)) for part in self.parts(count)])

    def parts(self, count: int) -> list[slice]:
        """Nearly equal slices of at most `chunk`: no last one of a single input, which BatchNorm could not take."""
        pieces = -(-count // self.chunk)
        edges = [count * piece // pieces for piece in range(pieces + 1)]
        return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def chunk_size(input_shape: tuple[int, ...]) -> int:
    """Inputs in one pass, by their resolution alone, so that a run is the same on every machine."""
    resolution = input_shape[-1] * input_shape[-2] if len(input_shape) == 3 else 1
    return max(SMALLEST_CHUNK, min(LARGEST_CHUNK, PIXELS_IN_CHUNK // resolution))


def backward(
    embedder: Embedder, source: TupleSource, rows: torch.Tensor, epoch: int, pool: Pool, spec: RunSpec
) -> torch.Tensor:
    """Add the gradient of the batch's mean loss to the parameters' `.grad`; returns the losses (B,)."""
    groups = _groups(source, rows, epoch, pool)
    counts = [count for _, count in groups]
    if sum(counts) <= embedder.chunk:
        joined = embedder(torch.cat([inputs_of(slice(0, count)) for inputs_of, count in groups]))
        result = _pooled(joined.detach().split(counts), pool, spec, gradients=True)
        _propagate(joined, torch.cat([result.anchors, result.positives, result.pool]))
        return result.losses
    with statistics_kept(embedder.encoder):
        embeddings = [embedder.without_graph(inputs_of, count) for inputs_of, count in groups]
    result = _pooled(embeddings, pool, spec, gradients=True)
    gradients = [result.anchors, result.positives, result.pool]
    for (inputs_of, count), gradient in zip(groups, gradients, strict=True):
        for part in embedder.parts(count):
            _propagate(embedder(inputs_of(part)), gradient[part])
    return result.losses


def losses_of_tuples(
    embedder: Embedder, source: TupleSource, rows: torch.Tensor, epoch: int, pool: Pool, spec: RunSpec
) -> torch.Tensor:
    """The losses (B,) without gradients, of the encoder as an embedding function (`eval` mode)."""
    return _pooled(embed_without_graph(embedder, source, rows, epoch, pool), pool, spec, gradients=False).losses


def embed_without_graph(
    embedder: Embedder, source: TupleSource, rows: torch.Tensor, epoch: int, pool: Pool
) -> list[torch.Tensor]:
    """Unit rows of anchors (B, d), positives (B, d) and pool (P, d), in `eval` mode; the mode is then as it was."""
    was_training = embedder.encoder.training
    embedder.encoder.eval()
    embeddings = [embedder.without_graph(inputs_of, count) for inputs_of, count in _groups(source, rows, epoch, pool)]
    embedder.encoder.train(was_training)
    return embeddings


def compiled_or_eager(embedder: Embedder, example: torch.Tensor, notes: list[str]) -> None:
    """Compile the encoder and try it forwards and backwards; where that fails, it stays as it is and a note says so."""
    eager = embedder.apply
    embedder.apply = torch.compile(embedder.encoder)
    try:
        with statistics_kept(embedder.encoder):
            embedder(example).sum().backward()
    except Exception as error:  # compilers fail in many ways, and none of them is a reason to stop
        embedder.apply = eager
        notes.append(f"torch.compile failed, the encoder ran eagerly: {type(error).__name__}")
        log.warning("%s: %s", notes[-1], error)
    finally:
        embedder.encoder.zero_grad()


@contextlib.contextmanager
def statistics_kept(encoder: nn.Module) -> Iterator[None]:
    """BatchNorm's running statistics stay as they are, so that a chunk embedded twice counts once."""
    tracking = [module for module in encoder.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    tracking = [module for module in tracking if module.track_running_stats]
    for module in tracking:
        module.track_running_stats = False
    try:
        yield
    finally:
        for module in tracking:
            module.track_running_stats = True


def _propagate(embeddings: torch.Tensor, gradient: torch.Tensor) -> None:
    """`embeddings.backward(gradient)` by way of a scalar: with a gradient, torch imports its compiler for a second."""
    (embeddings * gradient).sum().backward()


def _groups(source: TupleSource, rows: torch.Tensor, epoch: int, pool: Pool) -> list[tuple[InputsOf, int]]:
    """How to make the inputs of anchors, positives and pool, and how many there are."""
    return [
        (lambda part: source.anchors(rows[part], epoch), len(rows)),
        (lambda part: source.positives(rows[part], epoch), len(rows)),
        (lambda part: source.pool(pool.places[part], epoch), len(pool.places)),
    ]


def _pooled(embeddings: Sequence[torch.Tensor], pool: Pool, spec: RunSpec, gradients: bool) -> PooledLoss:
    anchors, positives, members = embeddings
    return pooled_loss(
        anchors,
        positives,
        members,
        pool.negatives_of,
        negatives=spec.negatives,
        temperature=spec.temperature,
        loss=spec.loss,
        gradients=gradients,
    )
