"""Copies of a prefix from replica to replica, and what a request pulls from a peer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.compiled import inlined
from kvcost.routing import view as rows
from kvcost.simulation.cluster import layout as at
from kvcost.simulation.cluster.cache import match, touch, trim
from kvcost.simulation.cluster.replica import prefill_seconds

if TYPE_CHECKING:
    from kvcost.simulation.cluster.layout import Inputs, Outputs, State

__all__ = ["arrive", "key_rows", "order", "pull"]

_INSTANT = 1e-12
_END, _TARGET, _REQUEST = 0, 1, 2


@inlined
def arrive(inputs: Inputs, state: State, now: float) -> None:
    """Make the copies that have ended by now resident, in the order they were asked for."""
    waiting = state.counts[-1, 0]
    kept = 0
    for p in range(waiting):
        if state.pending[p, _END] > now + _INSTANT:
            for column in range(3):
                state.pending[kept, column] = state.pending[p, column]
            kept += 1
            continue
        r, i = int(state.pending[p, _TARGET]), int(state.pending[p, _REQUEST])
        for j in range(inputs.requests[i, at.FIRST], inputs.requests[i, at.KEY_LAST]):
            segment = inputs.segments[j]
            if touch(inputs, state, segment, r):
                state.times[segment, r, at.READY] = state.pending[p, _END]
                state.times[segment, r, at.VISIBLE] = state.pending[p, _END] + inputs.delays[0]
        trim(inputs, state, r)
        state.planned[inputs.requests[i, at.KEY], r] = 0
    state.counts[-1, 0] = kept


@inlined
def _key_ready(inputs: Inputs, state: State, i: int, r: int) -> float:
    """Return when the key prefix is computed on a replica, infinite where it is not all in HBM."""
    ready = 0.0
    replicas = state.seconds.shape[0]
    for j in range(inputs.requests[i, at.FIRST], inputs.requests[i, at.KEY_LAST]):
        segment = inputs.segments[j]
        if state.entries[segment * replicas + r, at.LEFT] < inputs.lengths[segment]:
            return math.inf
        ready = max(ready, state.times[segment, r, at.READY])
    return ready


@inlined
def _key_visible(inputs: Inputs, state: State, i: int, r: int) -> float:
    visible = 0.0
    for j in range(inputs.requests[i, at.FIRST], inputs.requests[i, at.KEY_LAST]):
        visible = max(visible, state.times[inputs.segments[j], r, at.VISIBLE])
    return visible


@inlined
def key_rows(inputs: Inputs, state: State, i: int, now: float) -> None:
    """Tell the rule where the key prefix of request `i` is, can be copied from, and is coming."""
    for r in range(state.seconds.shape[0]):
        ready = _key_ready(inputs, state, i, r)
        held = ready < math.inf
        state.table[rows.WARM, r] = held and _key_visible(inputs, state, i, r) <= now
        state.table[rows.COPYABLE, r] = held and (
            inputs.limits[at.COPY_COMPUTED] == 0 or inputs.limits[at.PIPELINED] == 1 or ready <= now
        )
        state.table[rows.PLANNED, r] = state.planned[inputs.requests[i, at.KEY], r]


@inlined
def order(inputs: Inputs, state: State, out: Outputs, i: int, now: float) -> None:
    """Start the copies that the rule asked for."""
    blocks = 0
    for j in range(inputs.requests[i, at.FIRST], inputs.requests[i, at.KEY_LAST]):
        blocks += inputs.lengths[inputs.segments[j]]
    seconds = inputs.costs[at.COPY_FIXED] + blocks * inputs.costs[at.COPY_BLOCK]
    for k in range(state.orders[0]):
        target = state.orders[k + 1]
        source = -1
        for r in range(state.seconds.shape[0]):
            if state.table[rows.COPYABLE, r] > 0 and (
                source < 0 or state.seconds[r, at.OUT_FREE] < state.seconds[source, at.OUT_FREE]
            ):
                source = r
        if source < 0:
            return
        if inputs.limits[at.HOLD_TARGET]:
            start = max(now, state.seconds[target, at.CLOCK])
            end = start + seconds
            state.seconds[target, at.CLOCK] = end
            state.seconds[target, at.BUSY] += seconds
        else:
            free = max(state.seconds[source, at.OUT_FREE], state.seconds[target, at.IN_FREE])
            start = max(now, free)
            end = start + seconds
            state.seconds[source, at.OUT_FREE] = end
            state.seconds[target, at.IN_FREE] = end
        if inputs.limits[at.PIPELINED] and inputs.limits[at.COPY_COMPUTED]:
            ready = _key_ready(inputs, state, i, source)
            end = max(end, ready + seconds / inputs.costs[at.LAYERS])
        waiting = state.counts[-1, 0]
        state.pending[waiting, _END] = end
        state.pending[waiting, _TARGET] = target
        state.pending[waiting, _REQUEST] = i
        state.counts[-1, 0] = waiting + 1
        state.planned[inputs.requests[i, at.KEY], target] = 1
        made = state.counts[-1, 1]
        if made < out.copies.shape[0]:
            out.copies[made, 0] = start
            out.copies[made, 1] = start + seconds
            out.copies[made, 2] = target
            out.copies[made, 3] = source
        state.counts[-1, 1] = made + 1


@inlined
def _computed(inputs: Inputs, state: State, i: int, r: int, now: float) -> int:
    """Return the leading blocks that a peer could send now."""
    blocks = 0
    replicas = state.seconds.shape[0]
    for j in range(inputs.requests[i, at.FIRST], inputs.requests[i, at.LAST]):
        segment = inputs.segments[j]
        entry = segment * replicas + r
        there = state.entries[entry, at.LEFT] + state.entries[entry, at.HOSTED]
        late = inputs.limits[at.COPY_COMPUTED] and state.times[segment, r, at.READY] > now
        if there < inputs.lengths[segment] or late:
            break
        blocks += there
    return blocks


@inlined
def _load(inputs: Inputs, state: State, i: int, r: int, now: float) -> float:
    """Ask for what is in host memory; return when all is there. Sharers see one load."""
    replicas = state.seconds.shape[0]
    ready = now
    blocks = 0
    for j in range(inputs.requests[i, at.FIRST], inputs.requests[i, at.LAST]):
        segment = inputs.segments[j]
        hosted = state.entries[segment * replicas + r, at.HOSTED]
        under_way = state.times[segment, r, at.LOADED]
        if hosted + state.entries[segment * replicas + r, at.LEFT] < inputs.lengths[segment]:
            break
        if hosted > 0 and under_way > 0:
            ready = max(ready, under_way)
        elif hosted > 0:
            blocks += hosted
    if blocks == 0:
        return float(ready)
    end = max(now, state.seconds[r, at.LOADER]) + blocks * inputs.costs[at.HOST_BLOCK]
    state.seconds[r, at.LOADER] = end
    for j in range(inputs.requests[i, at.FIRST], inputs.requests[i, at.LAST]):
        segment = inputs.segments[j]
        entry = segment * replicas + r
        if state.entries[entry, at.HOSTED] > 0 and state.times[segment, r, at.LOADED] == 0:
            state.times[segment, r, at.LOADED] = end
    return float(max(ready, end))


@inlined
def pull(inputs: Inputs, state: State, out: Outputs, i: int, r: int, now: float) -> None:
    """Decide what request `i` fetches for replica `r` from a peer, and when all it loads is there.

    It fetches where a peer holds enough blocks more, and faster than they would be computed.
    """
    hbm, host = match(inputs, state, i, r, math.inf)
    local = hbm + host
    best, source = 0, -1
    if inputs.limits[at.PULL_BLOCKS] > 0:
        for other in range(state.seconds.shape[0]):
            there = _computed(inputs, state, i, other, now) if other != r else 0
            if there > best:
                best, source = there, other
    block, covered = inputs.limits[at.BLOCK_TOKENS], inputs.requests[i, at.COVERED]
    gained = best - local
    seconds = inputs.costs[at.COPY_FIXED] + gained * inputs.costs[at.COPY_BLOCK]
    have, then = min(local * block, covered), min(best * block, covered)
    saved = prefill_seconds(inputs, have, then) - inputs.costs[at.PREFILL_FIXED]
    fetch = source >= 0 and gained >= inputs.limits[at.PULL_BLOCKS] and seconds < saved
    if fetch:
        out.counts[i, at.PULLED] = best
    if inputs.limits[at.ASYNC]:
        start = _load(inputs, state, i, r, now) if host > 0 else now
        if fetch:
            free = max(state.seconds[source, at.OUT_FREE], state.seconds[r, at.IN_FREE])
            end = max(now, free) + seconds
            state.seconds[source, at.OUT_FREE] = end
            state.seconds[r, at.IN_FREE] = end
            start = max(start, end)
        state.loaded[i] = start
