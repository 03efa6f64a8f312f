"""Pooled losses and gradients against the losses of gathered negatives, and how much memory they take."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from infonce.losses import LOSSES
from infonce.training import pooled
from infonce.training.pooled import pooled_loss

BOTH = pytest.mark.parametrize("loss", sorted(LOSSES))


def unit_rows(count, dimension, seed, dtype=torch.float64):
    rows = torch.randn(count, dimension, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return torch.nn.functional.normalize(rows, dim=1)


def problem(batch=7, pool=11, k=30, dimension=5, dtype=torch.float64):
    """More negatives than pool members, so that most members are drawn several times."""
    negatives = torch.randint(pool, (batch, k), generator=torch.Generator().manual_seed(9))
    return *(unit_rows(count, dimension, count, dtype) for count in (batch, batch + 1, pool)), negatives


@pytest.mark.parametrize("temperature", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("chunks", [(1, 1), (33, 60), (60, 30), (10**6, 10**6)])
@BOTH
def test_equals_autograd_through_gathered_negatives(loss, temperature, chunks, monkeypatch):
    monkeypatch.setitem(pooled.SIMILARITIES, "cpu", chunks[0])
    monkeypatch.setitem(pooled.LOGITS, "cpu", chunks[1])
    anchors, positives, pool, negatives = problem()
    positives = positives[: len(anchors)]
    leaves = [part.clone().requires_grad_() for part in (anchors, positives, pool)]
    gathered = (leaves[0][:, None] * leaves[2][negatives]).sum(2)
    values = LOSSES[loss]((leaves[0] * leaves[1]).sum(1), gathered, temperature)
    values.mean().backward()
    result = pooled_loss(anchors, positives, pool, lambda part: negatives[part], 30, temperature, loss)
    assert torch.allclose(result.losses, values, rtol=1e-12, atol=1e-10)
    for found, leaf in zip((result.anchors, result.positives, result.pool), leaves, strict=True):
        assert torch.allclose(found, leaf.grad, rtol=1e-9, atol=1e-9 * leaf.grad.abs().max())


@BOTH
def test_float32_is_as_good_as_its_inputs(loss):
    anchors, positives, pool, negatives = problem(dtype=torch.float32)
    arguments = (lambda part: negatives[part], 30, 1e-3, loss)
    single = pooled_loss(anchors, positives[:7], pool, *arguments)
    double = pooled_loss(anchors.double(), positives[:7].double(), pool.double(), *arguments)
    assert torch.isfinite(single.pool).all()
    assert torch.allclose(single.losses.double(), double.losses, atol=1e-3)


@pytest.mark.parametrize("k", [1, 4, 255, 4096])
def test_collapsed_encoder(k):
    """Every embedding the same: log(1 + 1/k), the paper's form of log(1 + k), and DCL 0; no gradient along it."""
    same = torch.zeros(3, 6)
    same[:, 0] = 1
    negatives = torch.zeros(3, k, dtype=torch.int64)
    infonce = pooled_loss(same, same, same[:1], lambda part: negatives[part], k, 0.1, "infonce")
    dcl = pooled_loss(same, same, same[:1], lambda part: negatives[part], k, 0.1, "dcl")
    assert infonce.losses.tolist() == pytest.approx([math.log1p(1 / k)] * 3, abs=2e-6)
    assert dcl.losses.tolist() == pytest.approx([0.0] * 3, abs=2e-6)


def test_without_gradients_there_are_none():
    anchors, positives, pool, negatives = problem()
    result = pooled_loss(anchors, positives[:7], pool, lambda part: negatives[part], 30, 0.1, "dcl", gradients=False)
    assert result.losses.abs().sum() > 0
    assert not result.pool.any()


class LargestTensor(TorchDispatchMode):
    """Remembers the largest tensor that any operation returns."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        for tensor in output if isinstance(output, (tuple, list)) else [output]:
            if isinstance(tensor, torch.Tensor):
                self.bytes = max(self.bytes, tensor.numel() * tensor.element_size())
        return output


def test_no_tensor_grows_with_batch_times_negatives():
    """Batch 256, k = 65,536, d = 128: gathered embeddings would take 8 GiB, and a matrix of logits 64 MiB."""
    batch, k, dimension = 256, 65_536, 128
    anchors, positives, pool = (unit_rows(count, dimension, count, torch.float32) for count in (batch, batch, k))
    generator = torch.Generator().manual_seed(0)
    with LargestTensor() as largest:
        result = pooled_loss(
            anchors,
            positives,
            pool,
            lambda part: torch.randint(k, (part.stop - part.start, k), generator=generator),
            k,
            0.1,
            "infonce",
        )
    assert torch.isfinite(result.losses).all()
    assert largest.bytes <= max(batch * k, k * dimension) * 4
