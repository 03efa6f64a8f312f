"""Bars with the time left, where somebody watches: on a terminal; files and pipes stay free of them."""

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def watched(steps: Iterable[T], title: str, unit: str) -> Iterator[T]:
    """`steps` one by one, with a bar on a terminal that shows how far they are and how long they will still take."""
    total = len(steps) if isinstance(steps, Sized) else None
    # tqdm's None: no bar where standard error is no terminal.
    with tqdm(steps, desc=title, total=total, unit=unit, disable=None, leave=False) as bar:
        yield from bar
