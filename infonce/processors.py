"""How many processors this process may use."""

import os


def usable_processors() -> int:
    """Those that it was left, which a cluster may have made fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
