"""Lay out the arrays of one run, run it, and hand back what it wrote."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.compiled import rule_pointer
from kvcost.routing import view as rows
from kvcost.routing.policies import choosing as _choosing  # noqa: F401 - named in _SHARED
from kvcost.simulation.cluster import layout as at
from kvcost.simulation.cluster.layout import Inputs, Outputs, State
from kvcost.simulation.cluster.loop import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.routing.policy import Policy

__all__ = ["execute"]

_SHARED = ("kvcost.routing.policies.choosing", "kvcost.routing.view")
_MOST_COPIES = 1_000_000


@cache
def _pointer(rule: Any) -> Any:
    return rule_pointer(rule, uses=_SHARED)


def _state(inputs: Inputs, *, replicas: int, keys: int, memory: int) -> State:
    requests, segments = inputs.arrival.size, inputs.lengths.size
    gateways = int(inputs.limits[at.GATEWAYS])
    counts = np.zeros((replicas + 1, at.COUNTS), dtype=np.int64)
    ends = (at.OLDEST, at.NEWEST, at.OLDEST + at.HOST, at.NEWEST + at.HOST)
    for column in (at.HEAD, at.TAIL, *ends):
        counts[:replicas, column] = -1
    return State(
        seconds=np.zeros((replicas, at.SECONDS)),
        counts=counts,
        table=np.zeros((rows.ROWS, replicas)),
        shown=np.zeros((rows.ROWS, replicas)),
        own=np.zeros((gateways, replicas)),
        following=np.empty(requests, dtype=np.int64),
        heap=np.empty((replicas, int(inputs.limits[at.MAX_BATCH]) + 1), dtype=np.int64),
        entries=np.zeros((segments * replicas + requests, at.ENTRY), dtype=np.int32),
        times=np.zeros((segments, replicas, at.SEGMENT_TIMES)),
        pending=np.empty((max(keys * replicas, 1), 3)),
        planned=np.zeros((max(keys, 1), replicas), dtype=np.int8),
        loaded=np.zeros(requests if inputs.limits[at.ASYNC] else 1),
        memory=np.zeros(max(memory, 1)),
        facts=np.zeros(rows.FACTS),
        orders=np.zeros(replicas + 1, dtype=np.int64),
    )


def execute(
    policy: Policy, inputs: Inputs, *, replicas: int, keys: int, sessions: int
) -> tuple[Outputs, State]:
    """Run the requests of `inputs` under a policy.

    Parameters
    ----------
    policy : Policy
        Whose rule chooses.
    inputs : Inputs
        Requests, costs and limits.
    replicas, keys, sessions : int
        Sizes: replicas, key prefixes that recur, conversations.

    Returns
    -------
    Outputs
        Times and counts of each request, and the copies.
    State
        What the run left behind: clocks, busy seconds, the policy's memory.
    """
    requests = inputs.arrival.size
    gateways = max(int(inputs.limits[at.GATEWAYS]), 1)
    memory = max(policy.memory(keys, sessions, replicas, inputs.params), 1) * gateways
    state = _state(inputs, replicas=replicas, keys=keys, memory=memory)
    block = float(inputs.limits[at.BLOCK_TOKENS])
    state.facts[rows.BLOCK_TOKENS] = block
    state.facts[rows.PREFILL_FIXED] = inputs.costs[at.PREFILL_FIXED]
    state.facts[rows.PREFILL_SQUARE] = inputs.costs[at.PREFILL_QUADRATIC]
    state.facts[rows.COPY_FIXED] = inputs.costs[at.COPY_FIXED]
    state.facts[rows.PREFILL_TOKEN] = inputs.costs[at.PREFILL_SLOPE]
    state.facts[rows.COPY_TOKEN] = inputs.costs[at.COPY_BLOCK] / block
    state.facts[rows.STEP_SECONDS] = inputs.costs[at.STEP_FIXED]
    copies = min(requests * replicas, _MOST_COPIES) if keys else 0
    out = Outputs(
        seconds=np.empty((requests, 4)),
        counts=np.zeros((requests, 5), dtype=np.int64),
        copies=np.empty((copies, 4)),
    )
    rule: Any = policy.rule
    run(_pointer(rule), inputs, state, out)
    return out, state


def made(out: Outputs, state: State) -> NDArray[np.float64]:
    """Return the copies made: start [s], end [s], target, source."""
    return out.copies[: min(int(state.counts[-1, 1]), out.copies.shape[0])]
