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

from kvcost.compiled import allocating

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Segments", "segment"]

_NEVER = -1


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


@allocating
def _walk(
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    position: NDArray[np.int32],
    cut: NDArray[np.uint8],
    known: NDArray[np.int64],
    key_entries: NDArray[np.int64],
) -> int:
    """Note where ids stand and where to cut; return a request whose ids are not chained, or -1."""
    for i in range(starts.shape[0] - 1):
        first, last = starts[i], starts[i + 1]
        low, high = 0, last - first
        while low < high:
            middle = (low + high) // 2
            if position[ids[first + middle]] != _NEVER:
                low = middle + 1
            else:
                high = middle
        known[i] = low
        if low > 0:
            if position[ids[first + low - 1]] != low - 1:
                return i
            cut[ids[first + low - 1]] = 1
        for j in range(first + low, last):
            if position[ids[j]] != _NEVER:
                return i
            position[ids[j]] = j - first
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


def _dense(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return ids as small numbers, and how many tables over them need."""
    if ids.size == 0:
        return ids, 1
    low, high = int(ids.min()), int(ids.max())
    if low >= 0 and high < 4 * ids.size + 1_000_000:
        return ids, high + 1
    _, dense = np.unique(ids, return_inverse=True)
    return dense.astype(np.int64).reshape(-1), int(dense.max()) + 1


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
    dense, size = _dense(ids)
    requests = starts.size - 1
    position = np.full(size, _NEVER, dtype=np.int32)
    cut = np.zeros(size, dtype=np.uint8)
    known = np.zeros(requests, dtype=np.int64)
    wrong = _walk(starts, dense, position, cut, known, key_entries)
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
    different, numbered = np.unique(last, return_inverse=True)
    key[has] = numbered.reshape(-1)
    key_ends[has] = out_starts[has] + depth[last]
    return key, key_ends, int(different.size)
