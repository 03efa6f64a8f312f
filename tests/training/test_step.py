"""One step's gradient: against embedding every negative by itself, in chunks, and with BatchNorm."""

import pytest
import torch
from torch import nn

from infonce.data.inputs import TupleInputs
from infonce.encoders.encoder import encoder_of
from infonce.losses import LOSSES
from infonce.training.pools import step_pool
from infonce.training.source import TupleSource
from infonce.training.step import Embedder, backward, chunk_size, losses_of_tuples

ENCODERS = [
    ("digits", {"encoder": "mlp", "head": "lift"}),
    ("digits", {"encoder": "linear", "loss": "dcl"}),
    ("photographs", {"encoder": "convnet", "encoder_options": {"width": 4}, "tuples": 48}),
    ("photographs", {"encoder": "resnet18", "tuples": 48}),
]


def gradients(prepared, spec, chunk, dtype=torch.float32, epoch=0):
    """Losses and the gradient of every parameter for one batch."""
    encoder = encoder_of(spec, prepared.input_shape).to(dtype).train()
    inputs = TupleInputs("train", prepared, spec, "cpu", "training")
    source = TupleSource(inputs, fixed=False)
    embedder = Embedder(encoder, prepared.input_shape, chunk=chunk)
    embedder.apply = lambda batch: encoder(batch.to(dtype))
    rows = torch.tensor([3, 1, 4, 15, 9])
    pool = step_pool(source, rows, epoch, spec.training.pool, spec.seed, step=2)
    losses = backward(embedder, source, rows, epoch, pool, spec)
    return losses, [parameter.grad for parameter in encoder.parameters()], (encoder, inputs, rows)


@pytest.mark.parametrize(("data", "changes"), ENCODERS[:3], ids=str)
@pytest.mark.parametrize("epoch", [0, 3])
def test_equals_embedding_each_negative_by_itself(data, changes, epoch, make_spec, request):
    """Within an epoch an image has one view as a pool member, so its embedding may stand for all its occurrences."""
    prepared, spec = request.getfixturevalue(data), make_spec(**changes, negatives=3)
    losses, found, (encoder, inputs, rows) = gradients(prepared, spec, None, torch.float64, epoch)
    encoder.zero_grad()
    negatives = inputs.sampler.negatives(rows, epoch)
    anchors = encoder(inputs.anchor_inputs(rows, epoch).double())
    positives = encoder(inputs.positive_inputs(rows, epoch).double())
    each = encoder(inputs.pool_inputs(negatives.flatten(), epoch).double()).view(len(rows), 3, -1)
    values = LOSSES[spec.loss]((anchors * positives).sum(1), (anchors[:, None] * each).sum(2), spec.temperature)
    values.mean().backward()
    assert torch.allclose(losses, values, atol=1e-10)
    for gradient, parameter in zip(found, encoder.parameters(), strict=True):
        assert torch.allclose(gradient, parameter.grad, atol=1e-9)


# A convolution of a single image takes another kernel and rounds differently; over twenty layers in float32 that
# exceeds 1e-6. So the deepest encoder has chunks of several images in float32, and single ones would need float64.
CHUNKED = [
    (data, changes, dtype, chunk)
    for data, changes in ENCODERS[:3]
    for dtype in (torch.float32, torch.float64)
    for chunk in (1, 7, 20)
] + [(*ENCODERS[3], torch.float32, 7), (*ENCODERS[3], torch.float64, 20)]


@pytest.mark.parametrize(("data", "changes", "dtype", "chunk"), CHUNKED, ids=str)
def test_chunked_equals_direct(data, changes, dtype, chunk, make_spec, request):
    prepared, spec = request.getfixturevalue(data), make_spec(**changes, negatives=50)
    direct_losses, direct, _ = gradients(prepared, spec, 10_000, dtype)
    losses, chunked, _ = gradients(prepared, spec, chunk, dtype)
    tolerance = 1e-6 if dtype == torch.float32 else 1e-10
    assert torch.allclose(losses, direct_losses, atol=tolerance)
    scale = torch.cat([gradient.flatten() for gradient in direct]).norm()
    for one, other in zip(chunked, direct, strict=True):
        assert (one - other).norm() <= tolerance * scale


def test_a_pool_of_a_size_has_chunks_with_the_same_negatives(digits, make_spec):
    spec = make_spec(negatives=50, training={"pool": 20, "tuples_drawn": "each_epoch"})
    direct_losses, direct, _ = gradients(digits, spec, 10_000, torch.float64, epoch=2)
    losses, chunked, _ = gradients(digits, spec, 6, torch.float64, epoch=2)
    assert torch.allclose(losses, direct_losses, atol=1e-12)
    assert all(torch.allclose(one, other, atol=1e-12) for one, other in zip(chunked, direct, strict=True))


def test_batch_statistics_of_a_chunk_count_once(photographs, make_spec):
    spec = make_spec(encoder="resnet18", encoder_options={"normalization": "batch"}, tuples=48, negatives=50)
    _, _, (encoder, *_) = gradients(photographs, spec, chunk=20)
    norms = [module for module in encoder.modules() if isinstance(module, nn.BatchNorm2d)]
    # 5 anchors, 5 positives, and a pool of 48 images in three chunks
    assert {int(module.num_batches_tracked) for module in norms} == {5}
    assert all(module.track_running_stats for module in norms)


def test_losses_without_gradients_are_the_same(digits, make_spec):
    spec = make_spec()
    losses, _, (encoder, inputs, rows) = gradients(digits, spec, None)
    source = TupleSource(inputs, fixed=False)
    pool = step_pool(source, rows, 0, "all", spec.seed, 2)
    embedder = Embedder(encoder, digits.input_shape, chunk=4)
    assert torch.allclose(losses_of_tuples(embedder, source, rows, 0, pool, spec), losses, atol=1e-5)


def test_chunks_follow_from_the_resolution_and_are_even():
    assert [chunk_size(shape) for shape in ((5,), (1, 8, 8), (3, 32, 32), (3, 224, 224))] == [8192, 8192, 512, 64]
    parts = Embedder(nn.Linear(1, 1), (3, 224, 224)).parts(65)
    assert [part.stop - part.start for part in parts] == [32, 33]


def test_half_precision_of_the_encoder_leaves_the_embedding_wide(digits, make_spec):
    """bfloat16 is for GPUs; autocast on a CPU shows that normalisation and logits stay float32."""
    spec = make_spec()
    encoder = encoder_of(spec, digits.input_shape)
    rows = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    narrow = Embedder(encoder, digits.input_shape, bfloat16=True)(rows)
    wide = Embedder(encoder, digits.input_shape)(rows)
    assert narrow.dtype == torch.float32
    assert torch.allclose(narrow.norm(dim=1), torch.ones(4), atol=1e-6)
    assert not torch.equal(narrow, wide) and torch.allclose(narrow, wide, atol=0.05)
