"""KV cost: the fewest blocks to prefill and to keep, with a credit for blocks already cached."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.compiled import inlined
from kvcost.routing import view as rows
from kvcost.routing.policies.choosing import drawn, least, prefill_tokens
from kvcost.routing.policy import Parameter, Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["POLICY"]

CREDIT, DECAY, SCALE, HOST, REQUEST, TEMPERATURE, FLOOR = 0, 1, 2, 3, 4, 5, 6


@inlined
def _cost(
    view: NDArray[np.float64],
    facts: NDArray[np.float64],
    params: NDArray[np.float64],
    r: int,
    lowest: float,
) -> float:
    """Return the cost of a replica in blocks; `lowest` is the shortest prefill backlog."""
    block = facts[rows.BLOCK_TOKENS]
    request = math.ceil(facts[rows.PROMPT] / block)
    backlog = prefill_tokens(view, facts, r) / block
    credit = params[CREDIT] / (1 + params[DECAY] * (backlog - lowest) / request)
    cached = credit * view[rows.MATCH_HBM, r]
    cached += params[HOST] * (view[rows.MATCH, r] - view[rows.MATCH_HBM, r])
    to_prefill = backlog + request - cached / block
    if params[FLOOR] > 0:
        to_prefill = max(to_prefill, 0.0)
    kept = view[rows.CONTEXT, r] / block + request
    cost: float = params[SCALE] * to_prefill + kept
    return cost + float(params[REQUEST] * view[rows.LOAD, r])


def _rule(
    now: float,
    draws: NDArray[np.float64],
    facts: NDArray[np.float64],
    view: NDArray[np.float64],
    params: NDArray[np.float64],
    memory: NDArray[np.float64],
    orders: NDArray[np.int64],
) -> int:
    replicas = view.shape[1]
    lowest = math.inf
    for r in range(replicas):
        lowest = min(lowest, prefill_tokens(view, facts, r) / facts[rows.BLOCK_TOKENS])
    costs = memory[:replicas]
    low, high = math.inf, -math.inf
    for r in range(replicas):
        costs[r] = _cost(view, facts, params, r, lowest)
        low, high = min(low, costs[r]), max(high, costs[r])
    if params[TEMPERATURE] <= 0:
        return least(costs, draws[0])
    for r in range(replicas):
        scaled = (costs[r] - low) / (high - low) if high > low else 0.0
        costs[r] = math.exp(-scaled / params[TEMPERATURE])
    return drawn(costs, draws[0])


POLICY = Policy(
    name="kv_cost",
    summary="the fewest blocks to prefill, less a credit for cached ones, plus blocks in use; "
    "a softmax of the scaled costs where the temperature is not 0",
    rule=_rule,
    parameters=(
        Parameter(
            name="overlap_credit",
            default=1,
            high=100,
            meaning="blocks taken off for each block cached in HBM",
        ),
        Parameter(
            name="credit_decay",
            default=0,
            high=1e6,
            meaning="how fast the credit falls with the prefill backlog over the shortest one, "
            "in prompts of this size",
        ),
        Parameter(
            name="prefill_load_scale",
            default=1,
            high=1e6,
            meaning="weight of blocks to prefill against blocks in use",
        ),
        Parameter(
            name="host_credit",
            default=0.75,
            high=100,
            meaning="blocks taken off for each block cached in host memory",
        ),
        Parameter(
            name="request_weight",
            default=0,
            high=1e9,
            unit="blocks",
            meaning="price of each request in flight",
        ),
        Parameter(
            name="temperature",
            default=0,
            high=1e6,
            meaning="0 takes the lowest cost; a larger one spreads the choice",
        ),
        Parameter(
            name="floor",
            default=1,
            high=1,
            whole=True,
            meaning="1 keeps the blocks to prefill from falling below none, 0 lets them",
        ),
    ),
    presets={
        "selector": {"floor": 1},
        "no_floor": {"floor": 0},
        "load_only": {"overlap_credit": 0, "host_credit": 0},
    },
    source="NVIDIA Dynamo, ai-dynamo/dynamo lib/kv-router/src/scheduling/selector/default.rs and "
    "docs/components/router/router-concepts.md",
    memory=lambda keys, sessions, replicas, params: replicas,
    nearest="cache_aware",
    nearest_error="with balance_abs 0, and a bound: at most 0.1% above it, at most 17% below on "
    "isolated bursts over 4 replicas and 48% over 2 to 8 (median 1%); with "
    "temperature 0.5 from 6% below to 10% above least_load over 4 replicas",
)
