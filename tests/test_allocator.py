"""Memory that was freed is there again without the system: hardly any page is mapped a second time."""

import subprocess
import sys

import pytest

ROUNDS = """
import resource, sys
import torch
from infonce.allocator import keep_freed_memory

if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit(77)

def faults_of_a_round():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        torch.ones(20_000_000)  # 80 MB, freed at once
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

for _ in range(4):  # small things find their places between the large ones
    last = faults_of_a_round()
print(last)
"""


def faults(way: str) -> int:
    done = subprocess.run([sys.executable, "-c", ROUNDS, way], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("the C library of this system is not glibc")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_freed_memory_is_kept():
    assert faults("keep") < 100
    assert faults("default") > 1000  # so the count would see it
