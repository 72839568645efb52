"""One replica: admit first come first served, prefill before decode, decode the batch together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.compiled import inlined
from kvcost.routing import view as rows
from kvcost.routing.policies.choosing import mixed
from kvcost.simulation.cluster import layout as at
from kvcost.simulation.cluster.cache import match, touch, touch_alone, trim

if TYPE_CHECKING:
    from kvcost.simulation.cluster.layout import Inputs, Outputs, State

__all__ = ["advance", "enqueue", "gateway", "prefill_seconds"]

_EVER = math.inf
_REQUEST_BITS = 32


@inlined
def prefill_seconds(inputs: Inputs, cached: int, tokens: int) -> float:
    """Return the time to prefill up to `tokens` with `cached` of them there."""
    return float(
        inputs.costs[at.PREFILL_FIXED]
        + inputs.costs[at.PREFILL_SLOPE] * (tokens - cached)
        + inputs.costs[at.PREFILL_QUADRATIC] * (float(tokens) * tokens - float(cached) * cached)
    )


@inlined
def gateway(inputs: Inputs, i: int) -> int:
    """Return the gateway that request `i` comes through: any, as a balancer by connection does."""
    return mixed(i + 1) % int(inputs.limits[at.GATEWAYS])


@inlined
def enqueue(state: State, i: int, r: int) -> None:
    """Append request `i` to the queue of replica `r`."""
    tail = state.counts[r, at.TAIL]
    state.following[i] = -1
    if tail >= 0:
        state.following[tail] = i
    else:
        state.counts[r, at.HEAD] = i
    state.counts[r, at.TAIL] = i
    state.table[rows.LOAD, r] += 1
    state.table[rows.WAITING, r] += 1


@inlined
def _dequeue(state: State, r: int, before: int, i: int) -> None:
    after = state.following[i]
    if before >= 0:
        state.following[before] = after
    else:
        state.counts[r, at.HEAD] = after
    if after < 0:
        state.counts[r, at.TAIL] = before
    state.table[rows.WAITING, r] -= 1


@inlined
def _push(state: State, r: int, finish: int, i: int) -> None:
    heap = state.heap
    position = state.counts[r, at.LENGTH]
    state.counts[r, at.LENGTH] = position + 1
    item = (finish << _REQUEST_BITS) | i
    while position > 0:
        parent = (position - 1) >> 1
        if heap[r, parent] <= item:
            break
        heap[r, position] = heap[r, parent]
        position = parent
    heap[r, position] = item


@inlined
def _pop(state: State, r: int) -> int:
    heap = state.heap
    length = state.counts[r, at.LENGTH] - 1
    state.counts[r, at.LENGTH] = length
    first = heap[r, 0]
    item = heap[r, length]
    position = 0
    while True:
        child = 2 * position + 1
        if child >= length:
            break
        if child + 1 < length and heap[r, child + 1] < heap[r, child]:
            child += 1
        if item <= heap[r, child]:
            break
        heap[r, position] = heap[r, child]
        position = child
    heap[r, position] = item
    return int(first & ((1 << _REQUEST_BITS) - 1))


@inlined
def _insert(inputs: Inputs, state: State, i: int, r: int, ready: float, visible: float) -> None:
    for j in range(inputs.requests[i, at.FIRST], inputs.requests[i, at.LAST]):
        segment = inputs.segments[j]
        if touch(inputs, state, segment, r):
            state.times[segment, r, at.READY] = ready
            state.times[segment, r, at.VISIBLE] = visible
        state.times[segment, r, at.LOADED] = 0.0
    alone = inputs.requests[i, at.ALONE]
    if alone > 0:
        touch_alone(state, i, r, alone)
    trim(inputs, state, r)


@inlined
def _admit(inputs: Inputs, state: State, out: Outputs, i: int, r: int, present: float) -> None:
    prompt, output = inputs.requests[i, at.PROMPT], inputs.requests[i, at.OUTPUT]
    block, covered = inputs.limits[at.BLOCK_TOKENS], inputs.requests[i, at.COVERED]
    hbm, host = match(inputs, state, i, r, _EVER)
    pulled = max(out.counts[i, at.PULLED] - hbm - host, 0)
    hit = min((hbm + host + pulled) * block, covered)
    load = 0.0
    if host + pulled > 0 and inputs.limits[at.ASYNC] == 0:
        load = host * inputs.costs[at.HOST_BLOCK]
        if pulled > 0:  # the time of a block may be infinite
            load += inputs.costs[at.COPY_FIXED] + pulled * inputs.costs[at.COPY_BLOCK]
        load = min(load, prefill_seconds(inputs, 0, hit))
    work = prefill_seconds(inputs, hit, prompt)
    start = state.seconds[r, at.CLOCK]
    end = start + (load + work)
    state.seconds[r, at.CLOCK] = end
    state.seconds[r, at.BUSY] += load + work
    out.seconds[i, at.START] = start
    out.seconds[i, at.LOADING] = load
    out.seconds[i, at.PREFILL] = work
    out.counts[i, at.NODE] = r
    out.counts[i, at.HIT] = hit
    out.counts[i, at.HIT_HBM] = min(hbm * block, covered)
    state.counts[r, at.RESERVED] += prompt + output
    state.counts[r, at.CONTEXT] += prompt
    state.table[rows.RUNNING, r] += 1
    state.table[rows.KV_USE, r] = state.counts[r, at.RESERVED] / inputs.limits[at.KV_TOKENS]
    state.table[rows.QUEUED, r] -= out.counts[i, at.UNCACHED]
    _push(state, r, state.counts[r, at.STEPS] + output, i)
    visible = end if inputs.limits[at.INDEX_COMPUTED] else min(start, present)
    _insert(inputs, state, i, r, end, visible + inputs.delays[0])


@inlined
def _next_ready(inputs: Inputs, state: State, r: int) -> tuple[int, int]:
    """Return the first request of the queue whose loading is over, and the one before it."""
    before = -1
    i = state.counts[r, at.HEAD]
    if inputs.limits[at.ASYNC]:
        while i >= 0 and state.loaded[i] > state.seconds[r, at.CLOCK]:
            before = i
            i = state.following[i]
    return before, i


@inlined
def _first_loaded(state: State, r: int) -> float:
    earliest = _EVER
    i = state.counts[r, at.HEAD]
    while i >= 0:
        earliest = min(earliest, state.loaded[i])
        i = state.following[i]
    return earliest


@inlined
def _step_seconds(inputs: Inputs, steps: int, batch: int, context: int) -> float:
    tokens = steps * float(context) + batch * float(steps) * (steps - 1) / 2
    return float(inputs.costs[at.STEP_FIXED] * steps + inputs.costs[at.STEP_TOKEN] * tokens)


@inlined
def _decode(inputs: Inputs, state: State, out: Outputs, r: int, until: float) -> None:
    """Decode to the next completion, or as many whole steps as fit before `until`, at least one."""
    batch = int(state.table[rows.RUNNING, r])
    context = state.counts[r, at.CONTEXT]
    steps = (state.heap[r, 0] >> _REQUEST_BITS) - state.counts[r, at.STEPS]
    spare = until - state.seconds[r, at.CLOCK]
    seconds = _step_seconds(inputs, steps, batch, context)
    if seconds > spare and steps > 1:
        low, high = 1, steps
        while low < high:
            middle = (low + high + 1) // 2
            if _step_seconds(inputs, middle, batch, context) <= spare:
                low = middle
            else:
                high = middle - 1
        steps = low
        seconds = _step_seconds(inputs, steps, batch, context)
    state.seconds[r, at.CLOCK] += seconds
    state.seconds[r, at.BUSY] += seconds
    state.counts[r, at.STEPS] += steps
    state.counts[r, at.CONTEXT] += batch * steps
    now = state.seconds[r, at.CLOCK]
    while (
        state.counts[r, at.LENGTH] > 0
        and (state.heap[r, 0] >> _REQUEST_BITS) <= state.counts[r, at.STEPS]
    ):
        i = _pop(state, r)
        tokens = inputs.requests[i, at.PROMPT] + inputs.requests[i, at.OUTPUT]
        state.counts[r, at.RESERVED] -= tokens
        state.counts[r, at.CONTEXT] -= tokens
        state.table[rows.CONTEXT, r] -= tokens
        state.table[rows.RUNNING, r] -= 1
        state.table[rows.LOAD, r] -= 1
        state.table[rows.DONE, r] += 1
        if inputs.limits[at.GATEWAYS] > 1:
            state.own[gateway(inputs, i), r] -= 1
        out.seconds[i, at.FINISH] = now
    state.table[rows.KV_USE, r] = state.counts[r, at.RESERVED] / inputs.limits[at.KV_TOKENS]


@inlined
def advance(inputs: Inputs, state: State, out: Outputs, r: int, until: float) -> None:
    """Let a replica work until a time; admissions and single steps may take its clock past it."""
    while True:
        while (
            state.table[rows.WAITING, r] > 0
            and state.table[rows.RUNNING, r] < inputs.limits[at.MAX_BATCH]
        ):
            before, i = _next_ready(inputs, state, r)
            if i < 0:
                break
            need = inputs.requests[i, at.PROMPT] + inputs.requests[i, at.OUTPUT]
            if state.counts[r, at.RESERVED] + need > inputs.limits[at.KV_TOKENS]:
                break
            _dequeue(state, r, before, i)
            _admit(inputs, state, out, i, r, until)
        if state.seconds[r, at.CLOCK] >= until:
            return
        if state.table[rows.RUNNING, r] > 0:
            _decode(inputs, state, out, r, until)
        elif state.table[rows.WAITING, r] > 0:
            state.seconds[r, at.CLOCK] = min(until, _first_loaded(state, r))
        else:
            if until < _EVER:
                state.seconds[r, at.CLOCK] = until
            return
