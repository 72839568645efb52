"""Turn lists of block ids into segments: runs of blocks that every request has as a whole.

Block ids are chained: an id names the whole prefix up to its block. What a request shares with
those before it is therefore a leading part of its list, found by bisection, and only ids never met
before are walked through. Segments are cut where a request leaves the path of another, where a list
ends, and at the end of the key prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kvcost.compiled import allocating, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Segments", "segment"]

_NEVER = -1
_OUTSIDE = -2
_MOST_SPREAD = 4  # ids up to this many times their number go into tables as they are


@dataclass(frozen=True, kw_only=True, eq=False)
class Segments:
    """Prompts as segments that at least two requests have, and blocks of one request alone.

    Attributes
    ----------
    starts : array of int
        Where each request's segments start in `ids`; one more entry closes the last.
    ids : array of int
        Segments of the prompts, in order.
    lengths : array of int
        Blocks of each segment.
    alone : array of int
        Blocks of each prompt that no other request has.
    key : array of int
        Number of each request's key prefix, -1 where it has none or nobody shares it.
    key_ends : array of int
        Where the key prefix of each request ends in `ids`.
    keys : int
        Different key prefixes.
    """

    starts: NDArray[np.int64]
    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]
    alone: NDArray[np.int64]
    key: NDArray[np.int64]
    key_ends: NDArray[np.int64]
    keys: int


@inlined
def _differ(mine: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    # without an early exit the loop compares several at once
    different = np.int64(0)
    for j in range(mine.shape[0]):
        different |= mine[j] ^ other[j]
    return bool(different != 0)


@allocating
def _walk(
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    owner: NDArray[np.int32],
    cut: NDArray[np.uint8],
    known: NDArray[np.int64],
    key_entries: NDArray[np.int64],
) -> int:
    """Note which request has an id first, and where to cut.

    Return -1; or a request whose ids are not chained; or -2 for an id that the tables do not hold.
    """
    size = owner.shape[0]
    for i in range(starts.shape[0] - 1):
        first, last = starts[i], starts[i + 1]
        low, high = 0, last - first
        while low < high:
            middle = (low + high) // 2
            found = ids[first + middle]
            if found < 0 or found >= size:
                return _OUTSIDE
            if owner[found] != _NEVER:
                low = middle + 1
            else:
                high = middle
        known[i] = low
        if low > 0:
            before = owner[ids[first + low - 1]]
            mine = ids[first : first + low]
            other = ids[starts[before] : min(starts[before] + low, starts[before + 1])]
            if other.shape[0] < low or _differ(mine, other):
                return i
            cut[ids[first + low - 1]] = 1
        for j in range(first + low, last):
            found = ids[j]
            if found < 0 or found >= size:
                return _OUTSIDE
            if owner[found] != _NEVER:
                return i
            owner[found] = i
        if last > first:
            cut[ids[last - 1]] = 1
        if key_entries[i] > 0:
            cut[ids[first + key_entries[i] - 1]] = 1
    return -1


@allocating
def _label(
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    counts: NDArray[np.int64],
    cut: NDArray[np.uint8],
    known: NDArray[np.int64],
    label: NDArray[np.int32],
    parent: NDArray[np.int32],
    blocks: NDArray[np.int64],
    sharers: NDArray[np.int64],
) -> int:
    """Give each id met for the first time its segment; return how many there are."""
    segments = 0
    for i in range(starts.shape[0] - 1):
        first, last = starts[i], starts[i + 1]
        fresh = True
        for j in range(first + known[i], last):
            if fresh:
                parent[segments] = label[ids[j - 1]] if j > first else _NEVER
                blocks[segments] = 0
                sharers[segments] = 0
                segments += 1
            label[ids[j]] = segments - 1
            blocks[segments - 1] += counts[j] if counts.shape[0] else 1
            fresh = cut[ids[j]] == 1
        if last > first:
            sharers[label[ids[last - 1]]] += 1
    for s in range(segments - 1, -1, -1):
        if parent[s] != _NEVER:
            sharers[parent[s]] += sharers[s]
    return segments


@allocating
def _list(
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    label: NDArray[np.int32],
    parent: NDArray[np.int32],
    sharers: NDArray[np.int64],
    number: NDArray[np.int64],
    out_starts: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write each request's shared segments in order."""
    for i in range(starts.shape[0] - 1):
        if starts[i + 1] == starts[i]:
            continue
        s = label[ids[starts[i + 1] - 1]]
        while s != _NEVER and sharers[s] < 2:
            s = parent[s]
        place = out_starts[i + 1]
        while s != _NEVER:
            place -= 1
            out[place] = number[s]
            s = parent[s]


@allocating
def _depths(
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    label: NDArray[np.int32],
    parent: NDArray[np.int32],
    sharers: NDArray[np.int64],
    depth: NDArray[np.int64],
    total: NDArray[np.int64],
    blocks: NDArray[np.int64],
    entries: NDArray[np.int64],
    alone: NDArray[np.int64],
    segments: int,
) -> None:
    """Count each request's shared segments and the blocks that it has alone."""
    for s in range(segments):
        above = parent[s]
        shared = 1 if sharers[s] >= 2 else 0
        depth[s] = (depth[above] if above != _NEVER else 0) + shared
        total[s] = (total[above] if above != _NEVER else 0) + (0 if shared else blocks[s])
    for i in range(starts.shape[0] - 1):
        if starts[i + 1] > starts[i]:
            deepest = label[ids[starts[i + 1] - 1]]
            entries[i] = depth[deepest]
            alone[i] = total[deepest]


def _likely_size(starts: NDArray[np.int64], ids: NDArray[np.int64]) -> int:
    """Return a size for tables over the ids, from the first and the last of each list.

    Reading all of them would take longer than finding the segments.
    """
    if ids.size == 0:
        return 1
    filled = np.flatnonzero(starts[1:] > starts[:-1])
    ends = np.concatenate([ids[starts[:-1][filled]], ids[starts[1:][filled] - 1]])
    return int(min(max(ends.max(), 0), _MOST_SPREAD * ids.size + 1_000_000)) + 1


class UnchainedError(ValueError):
    """A request whose block ids do not name whole prefixes."""


def segment(
    *,
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    counts: NDArray[np.int64] | None,
    key_entries: NDArray[np.int64],
) -> Segments:
    """Find the segments of prompts.

    Parameters
    ----------
    starts, ids : array of int
        Block ids of each prompt, as in `kvcost.workload.Requests`.
    counts : array of int or None
        Blocks that each id stands for; one each if not given.
    key_entries : array of int
        Entries of each prompt that make its key prefix; 0 for none.

    Returns
    -------
    Segments
        The same prompts.

    Raises
    ------
    UnchainedError
        If an id appears behind two different prefixes; it says for which request.
    """
    dense, size = ids, _likely_size(starts, ids)
    requests = starts.size - 1
    known = np.zeros(requests, dtype=np.int64)
    while True:
        owner = np.full(size, _NEVER, dtype=np.int32)
        cut = np.zeros(size, dtype=np.uint8)
        wrong = _walk(starts, dense, owner, cut, known, key_entries)
        if wrong != _OUTSIDE:
            break
        different, numbered = np.unique(ids, return_inverse=True)
        dense, size = numbered.astype(np.int64).reshape(-1), different.size
    if wrong >= 0:
        raise UnchainedError(wrong)
    most = int(np.count_nonzero(cut)) + requests
    label = np.full(size, _NEVER, dtype=np.int32)
    parent = np.full(most, _NEVER, dtype=np.int32)
    blocks, sharers = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    runs = np.zeros(0, dtype=np.int64) if counts is None else counts
    segments = _label(starts, dense, runs, cut, known, label, parent, blocks, sharers)
    depth, total = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    entries, alone = np.zeros(requests, dtype=np.int64), np.zeros(requests, dtype=np.int64)
    _depths(starts, dense, label, parent, sharers, depth, total, blocks, entries, alone, segments)
    shared = sharers[:segments] >= 2
    number = np.cumsum(shared) - 1
    out_starts = np.concatenate([[0], np.cumsum(entries)])
    out = np.empty(int(out_starts[-1]), dtype=np.int64)
    _list(starts, dense, label, parent, sharers, number, out_starts, out)
    key, key_ends, keys = _keys(starts, dense, label, depth, shared, key_entries, out_starts)
    return Segments(
        starts=out_starts,
        ids=out,
        lengths=blocks[:segments][shared],
        alone=alone,
        key=key,
        key_ends=key_ends,
        keys=keys,
    )


def _keys(
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    label: NDArray[np.int32],
    depth: NDArray[np.int64],
    shared: NDArray[np.bool_],
    key_entries: NDArray[np.int64],
    out_starts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return each request's key, where it ends among its segments, and the number of keys."""
    has = np.flatnonzero(key_entries > 0)
    last = label[ids[starts[has] + key_entries[has] - 1]]
    recurs = shared[last] if last.size else np.zeros(0, dtype=bool)
    has, last = has[recurs], last[recurs]
    key = np.full(starts.size - 1, -1, dtype=np.int64)
    key_ends = out_starts[:-1].copy()
    ends = np.zeros(shared.size, dtype=bool)
    ends[last] = True
    key[has] = (np.cumsum(ends) - 1)[last]
    key_ends[has] = out_starts[has] + depth[last]
    return key, key_ends, int(np.count_nonzero(ends))
