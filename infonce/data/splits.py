"""Stratified choices of images, a pure function of labels and key."""

import numpy as np
import torch

from infonce.data.allocation import allocate
from infonce.random import random_bits


def stratified_choice(labels: np.ndarray, count: int, key: int) -> np.ndarray:
    """Sorted indices of `count` images, each class (and the unlabelled, if any) in proportion to its size."""
    strata = np.unique(labels)
    members = [np.flatnonzero(labels == stratum) for stratum in strata]
    shares = allocate([len(indices) for indices in members], count)
    order = random_bits(key, torch.arange(len(labels))).numpy()
    chosen = [
        indices[np.argsort(order[indices], kind="stable")[:share]]
        for indices, share in zip(members, shares, strict=True)
    ]
    return np.sort(np.concatenate(chosen))
