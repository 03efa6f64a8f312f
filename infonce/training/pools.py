"""The images that a step embeds for negatives, and where each negative stands among them."""

from dataclasses import dataclass
from typing import Literal

import torch

from infonce.random import random_bits, stream_key, uniforms
from infonce.training.pooled import NegativesOf
from infonce.training.source import TupleSource

__all__ = ["Pool", "pool_of_tuples", "step_pool"]


@dataclass(frozen=True)
class Pool:
    """Places (P,) of the pool's images, and the function that gives where among them some rows' negatives stand."""

    places: torch.Tensor
    negatives_of: NegativesOf


def step_pool(
    source: TupleSource, rows: torch.Tensor, epoch: int, size: Literal["all"] | int, seed: int, step: int
) -> Pool:
    """The pool that `training.pool` asks for.

    A number as large as the images there are means `all`. Disjoint tuples keep their own negatives, whatever the size.
    """
    if size == "all" or size >= len(source.images) or source.sampler.tuple_design == "disjoint":
        return pool_of_tuples(source, rows, epoch)
    return random_pool(source, rows, epoch, size, seed, step)


def pool_of_tuples(source: TupleSource, rows: torch.Tensor, epoch: int) -> Pool:
    """The pool of the tuples as they were drawn: the images among their negatives, or all where that is fewer."""
    if len(rows) * source.sampler.negative_count >= len(source.images):
        everything = torch.arange(len(source.images), device=source.device)
        return Pool(everything, lambda part: source.negative_places(rows[part], epoch))
    places, positions = torch.unique(source.negative_places(rows, epoch), return_inverse=True)
    return Pool(places, lambda part: positions[part])


def random_pool(source: TupleSource, rows: torch.Tensor, epoch: int, size: int, seed: int, step: int) -> Pool:
    """A pool of `size` images chosen for this step, from which each row draws its own k negatives.

    Given the pool, a row's negatives are uniform draws with replacement from its images but the anchor's own.
    """
    order = random_bits(stream_key(seed, "pool"), step, torch.arange(len(source.images), device=source.device))
    places = torch.argsort(order, stable=True)[:size].sort().values
    position = torch.full_like(source.images, size)  # `size` where an image is not in the pool
    position[places] = torch.arange(size, device=source.device)
    own = position[source.anchor_places(rows, epoch)]
    others = torch.where(own < size, size - 1, size)
    key = stream_key(seed, "pool negatives")
    columns = torch.arange(source.sampler.negative_count, device=source.device)

    def negatives_of(part: slice) -> torch.Tensor:
        bound = others[part, None]
        draws = (uniforms(key, step, rows[part, None], columns) * bound).to(torch.int64)
        draws = torch.minimum(draws, bound - 1)
        return draws + (draws >= own[part, None])

    return Pool(places, negatives_of)
