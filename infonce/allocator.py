"""Keep freed memory for the next step instead of giving it back to the system."""

import ctypes
import sys

__all__ = ["keep_freed_memory"]

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of glibc's mallopt
_LARGEST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Ask glibc to keep what is freed, for the whole process; returns whether it could be asked.

    Every step of a training allocates and frees the same large tensors. By default each of them is mapped and unmapped
    by the system, page by page, which took a third of the time of a step (docs/training.md). No number changes.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, _LARGEST))
