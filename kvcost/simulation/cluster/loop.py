"""The event loop: at each arrival all replicas catch up, the rule chooses, the request queues."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.compiled import compiled, inlined
from kvcost.routing import view as rows
from kvcost.simulation.cluster import layout as at
from kvcost.simulation.cluster.cache import match
from kvcost.simulation.cluster.copies import arrive, key_rows, order, pull
from kvcost.simulation.cluster.replica import advance, enqueue, gateway

if TYPE_CHECKING:
    from kvcost.routing.policy import Rule
    from kvcost.simulation.cluster.layout import Inputs, Outputs, State

__all__ = ["run"]

_EVER = math.inf


@inlined
def _describe(inputs: Inputs, state: State, i: int, now: float) -> None:
    """Fill in what the rule sees of request `i`."""
    state.facts[rows.PROMPT] = inputs.requests[i, at.PROMPT]
    state.facts[rows.COVERED] = inputs.requests[i, at.COVERED]
    state.facts[rows.OUTPUT] = inputs.requests[i, at.OUTPUT]
    state.facts[rows.KEY] = inputs.requests[i, at.KEY]
    state.facts[rows.SESSION] = inputs.requests[i, at.SESSION]
    state.facts[rows.INDEX] = i
    first = inputs.requests[i, at.FIRST]
    state.facts[rows.HEAD] = -1
    state.facts[rows.HEAD_TOKENS] = 0
    block, covered = inputs.limits[at.BLOCK_TOKENS], inputs.requests[i, at.COVERED]
    if inputs.requests[i, at.LAST] > first:
        state.facts[rows.HEAD] = inputs.segments[first]
        state.facts[rows.HEAD_TOKENS] = inputs.lengths[inputs.segments[first]] * block
    for r in range(state.seconds.shape[0]):
        hbm, host = 0, 0
        if inputs.requests[i, at.LAST] > first:
            hbm, host = match(inputs, state, i, r, now)
        state.table[rows.MATCH, r] = min((hbm + host) * block, covered)
        state.table[rows.MATCH_HBM, r] = min(hbm * block, covered)
        ahead = max(state.seconds[r, at.CLOCK] - now, 0.0)
        queued = state.table[rows.QUEUED, r]
        state.table[rows.WORK, r] = ahead + queued * inputs.costs[at.PREFILL_SLOPE]
    if inputs.requests[i, at.KEY] >= 0:
        key_rows(inputs, state, i, now)
    else:
        for r in range(state.seconds.shape[0]):
            state.table[rows.WARM, r] = 0
            state.table[rows.COPYABLE, r] = 0
            state.table[rows.PLANNED, r] = 0


@inlined
def _show(inputs: Inputs, state: State, through: int, polled: float, now: float) -> float:
    """Hide from the rule what an old poll or another gateway's view hides; return the poll time."""
    state.facts[rows.GATEWAY] = through
    interval = inputs.delays[1]
    fresh = now >= polled + interval
    for row in range(rows.ROWS):
        polls = row <= rows.RUNNING or row in (
            rows.QUEUED,
            rows.KV_USE,
            rows.WORK,
            rows.CONTEXT,
            rows.DONE,
        )
        if fresh or not polls:
            for r in range(state.seconds.shape[0]):
                state.shown[row, r] = state.table[row, r]
    if inputs.limits[at.GATEWAYS] > 1:
        for r in range(state.seconds.shape[0]):
            state.shown[rows.LOAD, r] = state.own[through, r]
    return now if fresh else polled


def _run(rule: Rule, inputs: Inputs, state: State, out: Outputs) -> None:
    """Run all requests and let the replicas drain."""
    replicas = state.seconds.shape[0]
    plain = inputs.delays[1] <= 0 and inputs.limits[at.GATEWAYS] <= 1
    loading = inputs.limits[at.PULL_BLOCKS] > 0 or inputs.limits[at.ASYNC] == 1
    polled = -_EVER
    share = state.memory.shape[0] // max(inputs.limits[at.GATEWAYS], 1)
    requests = inputs.arrival.shape[0]
    for i in range(requests + 1):
        now = inputs.arrival[i] if i < requests else _EVER
        for r in range(replicas):
            if state.table[rows.LOAD, r] > 0:
                advance(inputs, state, out, r, now)
            elif i < requests:
                state.seconds[r, at.CLOCK] = max(state.seconds[r, at.CLOCK], now)
        if i == requests:
            break
        if state.counts[-1, 0] > 0:
            arrive(inputs, state, now)
        _describe(inputs, state, i, now)
        state.orders[0] = 0
        seen = state.table
        through = gateway(inputs, i) if inputs.limits[at.GATEWAYS] > 1 else 0
        memory = state.memory[through * share : (through + 1) * share]
        if not plain:
            polled = _show(inputs, state, through, polled, now)
            seen = state.shown
        chosen = rule(now, inputs.draws[i], state.facts, seen, inputs.params, memory, state.orders)
        if state.orders[0] > 0:
            order(inputs, state, out, i, now)
        if loading:
            pull(inputs, state, out, i, chosen, now)
        pulled = min(
            out.counts[i, at.PULLED] * inputs.limits[at.BLOCK_TOKENS],
            inputs.requests[i, at.COVERED],
        )
        found = max(int(state.table[rows.MATCH, chosen]), pulled)
        uncached = inputs.requests[i, at.PROMPT] - found
        out.counts[i, at.UNCACHED] = uncached
        state.table[rows.QUEUED, chosen] += uncached
        state.table[rows.CONTEXT, chosen] += (
            inputs.requests[i, at.PROMPT] + inputs.requests[i, at.OUTPUT]
        )
        state.table[rows.ROUTED, chosen] += 1
        missed = inputs.requests[i, at.COVERED] - int(state.table[rows.MATCH, chosen])
        state.table[rows.TREE, chosen] += missed / inputs.limits[at.BLOCK_TOKENS]
        if inputs.limits[at.GATEWAYS] > 1:
            state.own[gateway(inputs, i), chosen] += 1
        enqueue(state, i, chosen)


run = compiled(
    _run,
    uses=(
        "kvcost.routing.policies.choosing",
        "kvcost.routing.view",
        "kvcost.simulation.cluster.cache",
        "kvcost.simulation.cluster.copies",
        "kvcost.simulation.cluster.layout",
        "kvcost.simulation.cluster.replica",
    ),
)
