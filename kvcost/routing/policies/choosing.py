"""Steps that choice rules share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.compiled import inlined
from kvcost.routing import view as rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "OWNERS",
    "committed_tokens",
    "drawn",
    "imbalanced",
    "least",
    "longest_match",
    "mixed",
    "on_ring",
    "owner",
    "prefill_tokens",
    "uncached_tokens",
]

OWNERS = 4096  # numbers of memory that `owner` takes
_WORD = 0xFFFFFFFF
_FACTOR = 0x45D9F3B  # odd, and small enough that a product with a 32-bit word fits 63 bits


@inlined
def least(values: NDArray[np.float64], draw: float) -> int:
    """Return the position of the smallest value, one of them at random where several are."""
    best = values[0]
    ties = 1
    chosen = 0
    for r in range(1, values.shape[0]):
        if values[r] < best:
            best, ties, chosen = values[r], 1, r
        elif values[r] == best:
            ties += 1
    if ties == 1:
        return chosen
    left = int(draw * ties)
    for r in range(values.shape[0]):
        if values[r] == best:
            if left == 0:
                return r
            left -= 1
    return chosen


@inlined
def imbalanced(view: NDArray[np.float64], absolute: float, relative: float) -> bool:
    """Tell whether the largest load exceeds both thresholds over the smallest."""
    low = high = view[rows.LOAD, 0]
    for r in range(1, view.shape[1]):
        low = min(low, view[rows.LOAD, r])
        high = max(high, view[rows.LOAD, r])
    return bool(high > absolute and high > relative * low)


@inlined
def longest_match(view: NDArray[np.float64], draw: float) -> int:
    """Return the replica with the longest match; ties by load, then at random."""
    best, lowest, ties = -1.0, 0.0, 0
    for r in range(view.shape[1]):
        match, load = view[rows.MATCH, r], view[rows.LOAD, r]
        if match > best or (match == best and load < lowest):
            best, lowest, ties = match, load, 1
        elif match == best and load == lowest:
            ties += 1
    left = int(draw * ties)
    for r in range(view.shape[1]):
        if view[rows.MATCH, r] == best and view[rows.LOAD, r] == lowest:
            if left == 0:
                return r
            left -= 1
    return 0


@inlined
def drawn(weights: NDArray[np.float64], draw: float) -> int:
    """Return a position with probability proportional to its weight; any, where all are 0."""
    total = 0.0
    for r in range(weights.shape[0]):
        total += weights[r]
    if total <= 0:
        return int(draw * weights.shape[0])
    left = draw * total
    chosen = 0
    for r in range(weights.shape[0]):
        if weights[r] > 0:
            chosen = r
            if left < weights[r]:
                break
            left -= weights[r]
    return chosen


@inlined
def uncached_tokens(view: NDArray[np.float64], facts: NDArray[np.float64], r: int) -> float:
    """Return the prompt tokens of the request that the index does not find on a replica."""
    tokens: float = facts[rows.PROMPT] - view[rows.MATCH, r]
    return max(tokens, 0.0)


@inlined
def prefill_tokens(view: NDArray[np.float64], facts: NDArray[np.float64], r: int) -> float:
    """Return the tokens that a replica still has to prefill of what it was given.

    They are its seconds of prefill at the linear cost of a token, so that they shrink while the
    prefill goes on.
    """
    each: float = facts[rows.PREFILL_TOKEN]
    work: float = view[rows.WORK, r]
    return work / each if each > 0 else 0.0


@inlined
def committed_tokens(view: NDArray[np.float64], facts: NDArray[np.float64], r: int) -> float:
    """Return the tokens that a replica would have to prefill with this request."""
    return prefill_tokens(view, facts, r) + uncached_tokens(view, facts, r)


@inlined
def mixed(value: int) -> int:
    """Return a 32-bit word as another one that looks random, the same one each time."""
    word = value & _WORD
    word = ((word ^ (word >> 16)) * _FACTOR) & _WORD
    word = ((word ^ (word >> 16)) * _FACTOR) & _WORD
    return word ^ (word >> 16)


@inlined
def on_ring(key: int, replicas: int, nodes: int, salt: int) -> int:
    """Return the owner of a key: the replica with the next virtual node clockwise from its hash.

    The points are hashed anew each time and scanned, which takes no memory.
    """
    at = mixed(mixed(key + 1) + 0x3C6EF372)
    chosen, nearest = 0, _WORD + 1
    for r in range(replicas):
        seed = mixed(mixed(salt + 0x1E3779B9) + r + 1)
        for node in range(nodes):
            ahead = (mixed(seed + node + 1) - at) & _WORD
            if ahead < nearest:
                chosen, nearest = r, ahead
    return chosen


@inlined
def owner(memory: NDArray[np.float64], key: int, replicas: int, nodes: int, salt: int) -> int:
    """Return `on_ring` of a key, from memory where the key came lately."""
    place = 2 * (key % (OWNERS // 2))
    if memory[place] != key + 1:
        memory[place] = key + 1
        memory[place + 1] = on_ring(key, replicas, nodes, salt)
    return int(memory[place + 1])
