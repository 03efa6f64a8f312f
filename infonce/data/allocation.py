"""How many items each stratum gives to a stratified choice."""

from collections.abc import Sequence


def allocate(counts: Sequence[int], total: int) -> list[int]:
    """Split `total` over strata in proportion to `counts`, by largest remainders (ties to the first stratum).

    >>> allocate([178, 182, 177], 100)
    [33, 34, 33]
    """
    population = sum(counts)
    if not 0 <= total <= population:
        raise ValueError(f"total is {total}, expected 0 to {population}, the sum of the counts")
    shares = [count * total // population for count in counts]
    by_remainder = sorted(range(len(counts)), key=lambda stratum: -(counts[stratum] * total % population))
    for stratum in by_remainder[: total - sum(shares)]:
        shares[stratum] += 1
    return shares
