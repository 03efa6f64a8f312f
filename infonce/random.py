"""Named random streams. Every stream has a key derived from the run's seed and its purpose, and a number of a
stream depends on its counters alone: not on the batch, the worker, the device or what was drawn before.
"""

import hashlib

import torch

_MULTIPLIERS = (-4658895280553007687, -7723592293110705685)  # SplitMix64's, as signed 64-bit integers
_INCREMENT = -7046029254386353131


def stream_key(*parts: int | str) -> int:
    """A 63-bit key for the stream that `parts` name, e.g. `stream_key(seed, "training", "negatives")`."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def random_bits(key: int, *counters: torch.Tensor | int) -> torch.Tensor:
    """63 random bits for each element of the broadcast int64 `counters` (SplitMix64 finaliser, chained)."""
    first, *rest = (torch.as_tensor(counter, dtype=torch.int64) for counter in counters)
    state = _mix(first * _INCREMENT + key)
    for counter in rest:
        state = _mix(state.to(counter.device) * _INCREMENT + counter * _MULTIPLIERS[0] + key)
    return state & 0x7FFF_FFFF_FFFF_FFFF


def uniforms(key: int, *counters: torch.Tensor | int) -> torch.Tensor:
    """float64 numbers in [0, 1), one for each element of the broadcast counters."""
    return (random_bits(key, *counters) >> 10).to(torch.float64) * 2.0**-53


def integers(key: int, bound: int, *counters: torch.Tensor | int) -> torch.Tensor:
    """int64 numbers in [0, bound), uniform up to 2^-53·bound."""
    return (uniforms(key, *counters) * bound).to(torch.int64).clamp_(max=bound - 1)


def normals(key: int, *counters: torch.Tensor | int) -> torch.Tensor:
    """float64 standard normal numbers, one for each element of the broadcast counters."""
    return torch.special.ndtri(uniforms(key, *counters).clamp_(min=2.0**-54))


def _mix(value: torch.Tensor) -> torch.Tensor:
    value = (value ^ _shift(value, 30)) * _MULTIPLIERS[0]
    value = (value ^ _shift(value, 27)) * _MULTIPLIERS[1]
    return value ^ _shift(value, 31)


def _shift(value: torch.Tensor, bits: int) -> torch.Tensor:
    """A logical right shift: torch's own is arithmetic."""
    return (value >> bits) & ((1 << (64 - bits)) - 1)
