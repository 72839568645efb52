"""The prefix cache of each replica: least recently used blocks go to host memory, then away.

Blocks that always appear together form a segment. Touching a request touches its segments in order,
so each lies in one piece in the recency list and loses its leading blocks first: two counters a
segment (blocks in HBM, blocks in host memory) hold what block lists would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.compiled import inlined
from kvcost.simulation.cluster.layout import (
    AFTER,
    BEFORE,
    FIRST,
    HBM,
    HBM_BLOCKS,
    HOST,
    HOST_BLOCKS,
    HOST_USED,
    HOSTED,
    LAST,
    LEFT,
    NEWEST,
    OLDEST,
    USED,
    VISIBLE,
)

if TYPE_CHECKING:
    from kvcost.simulation.cluster.layout import Inputs, State

__all__ = ["match", "touch", "touch_alone", "trim"]


@inlined
def match(inputs: Inputs, state: State, i: int, r: int, now: float) -> tuple[int, int]:
    """Return the leading blocks of request `i` on replica `r` in HBM and in host memory."""
    hbm = 0
    host = 0
    replicas = state.seconds.shape[0]
    for j in range(inputs.requests[i, FIRST], inputs.requests[i, LAST]):
        segment = inputs.segments[j]
        entry = segment * replicas + r
        left = state.entries[entry, LEFT]
        hosted = state.entries[entry, HOSTED]
        if left + hosted < inputs.lengths[segment] or state.times[segment, r, VISIBLE] > now:
            break
        hbm += left
        host += hosted
    return hbm, host


@inlined
def _unlink(state: State, r: int, entry: int, chain: int) -> None:
    before, after = state.entries[entry, BEFORE + chain], state.entries[entry, AFTER + chain]
    if before >= 0:
        state.entries[before, AFTER + chain] = after
    else:
        state.counts[r, OLDEST + chain] = after
    if after >= 0:
        state.entries[after, BEFORE + chain] = before
    else:
        state.counts[r, NEWEST + chain] = before


@inlined
def _append(state: State, r: int, entry: int, chain: int) -> None:
    newest = state.counts[r, NEWEST + chain]
    state.entries[entry, BEFORE + chain] = newest
    state.entries[entry, AFTER + chain] = -1
    if newest >= 0:
        state.entries[newest, AFTER + chain] = entry
    else:
        state.counts[r, OLDEST + chain] = entry
    state.counts[r, NEWEST + chain] = entry


@inlined
def touch(inputs: Inputs, state: State, segment: int, r: int) -> bool:
    """Make a segment the most recent on a replica; return whether any of it was missing."""
    entry = segment * state.seconds.shape[0] + r
    blocks = inputs.lengths[segment]
    left = state.entries[entry, LEFT]
    hosted = state.entries[entry, HOSTED]
    if left > 0:
        if state.counts[r, NEWEST] == entry and left == blocks:
            return False
        _unlink(state, r, entry, HBM)
    if hosted > 0:
        if inputs.limits[HOST_BLOCKS] >= 0:
            _unlink(state, r, entry, HOST)
            state.counts[r, HOST_USED] -= hosted
        state.entries[entry, HOSTED] = 0
    state.entries[entry, LEFT] = blocks
    _append(state, r, entry, HBM)
    state.counts[r, USED] += blocks - left
    return bool(left + hosted < blocks)


@inlined
def touch_alone(state: State, i: int, r: int, blocks: int) -> None:
    """Add the blocks that only request `i` has."""
    entry = state.entries.shape[0] - state.following.shape[0] + i
    state.entries[entry, LEFT] = blocks
    _append(state, r, entry, HBM)
    state.counts[r, USED] += blocks


@inlined
def _offload(inputs: Inputs, state: State, r: int, entry: int, blocks: int) -> None:
    """Move leading blocks from HBM to host memory, and drop the oldest there where it is full."""
    room = inputs.limits[HOST_BLOCKS]
    if room == 0:
        return
    hosted = state.entries[entry, HOSTED]
    state.entries[entry, HOSTED] = hosted + blocks
    if room < 0:
        return
    if hosted == 0:
        _append(state, r, entry, HOST)
    state.counts[r, HOST_USED] += blocks
    while state.counts[r, HOST_USED] > room:
        oldest = state.counts[r, OLDEST + HOST]
        dropped = min(state.entries[oldest, HOSTED], state.counts[r, HOST_USED] - room)
        state.entries[oldest, HOSTED] -= dropped
        state.counts[r, HOST_USED] -= dropped
        if state.entries[oldest, HOSTED] == 0:
            _unlink(state, r, oldest, HOST)


@inlined
def trim(inputs: Inputs, state: State, r: int) -> None:
    """Evict the least recently used blocks until the rest fits in HBM."""
    while state.counts[r, USED] > inputs.limits[HBM_BLOCKS]:
        oldest = state.counts[r, OLDEST]
        taken = min(state.entries[oldest, LEFT], state.counts[r, USED] - inputs.limits[HBM_BLOCKS])
        state.entries[oldest, LEFT] -= taken
        state.counts[r, USED] -= taken
        if state.entries[oldest, LEFT] == 0:
            _unlink(state, r, oldest, HBM)
        _offload(inputs, state, r, oldest, taken)
