"""The images that a step embeds for negatives, and where each negative stands among them."""

from dataclasses import dataclass
from typing import Literal

import torch

from infonce.random import random_bits, stream_key, uniforms
from infonce.training.pooled import NegativesOf
from infonce.training.source import TupleSource

__all__ = ["Pool", "pool_of_tuples", "random_pool"]


@dataclass(frozen=True)
class Pool:
    """Image indices (P,) and the function that gives the positions of a slice of rows' negatives among them."""

    images: torch.Tensor
    negatives_of: NegativesOf


def pool_of_tuples(source: TupleSource, rows: torch.Tensor, epoch: int) -> Pool:
    """The pool of the tuples as they were drawn: the images among their negatives, or all where that is fewer."""
    if len(rows) * source.sampler.negative_count >= len(source.images):
        return Pool(source.images, lambda part: source.positions[source.negatives(rows[part], epoch)])
    images, positions = torch.unique(source.negatives(rows, epoch), return_inverse=True)
    return Pool(images, lambda part: positions[part])


def random_pool(source: TupleSource, rows: torch.Tensor, epoch: int, size: int, seed: int, step: int) -> Pool:
    """A pool of `size` images chosen for this step, from which each row draws its own k negatives.

    Given the anchor, the negatives are uniform draws with replacement from the pool's images but the anchor's own.
    """
    order = random_bits(stream_key(seed, "pool"), step, torch.arange(len(source.images), device=source.device))
    chosen = torch.topk(order, size, sorted=False).indices.sort().values
    images = source.images[chosen]
    position = torch.full_like(source.positions, size)  # `size` where an image is not in the pool
    position[images] = torch.arange(size, device=source.device)
    own = position[source.sampler.anchors(rows, epoch)]
    others = torch.where(own < size, size - 1, size)
    key = stream_key(seed, "pool negatives")
    columns = torch.arange(source.sampler.negative_count, device=source.device)

    def negatives_of(part: slice) -> torch.Tensor:
        allowed = others[part, None]
        draws = (uniforms(key, step, rows[part, None], columns) * allowed).to(torch.int64)
        draws = torch.minimum(draws, allowed - 1)
        return draws + (draws >= own[part, None])

    return Pool(images, negatives_of)


def step_pool(
    source: TupleSource, rows: torch.Tensor, epoch: int, size: Literal["all"] | int, seed: int, step: int
) -> Pool:
    """The pool that `training.pool` asks for; a number as large as the images there are means `all`."""
    if size == "all" or size >= len(source.images):
        return pool_of_tuples(source, rows, epoch)
    return random_pool(source, rows, epoch, size, seed, step)
