"""Preble: exploit a prefix that is most of the prompt, else explore by recent load and cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.compiled import inlined
from kvcost.routing import view as rows
from kvcost.routing.policies.choosing import least, uncached_tokens
from kvcost.routing.policy import Parameter, Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["POLICY"]

WINDOW, REBALANCE, WARM_UP = 0, 1, 2
_PARTS = 18  # the window is kept in parts, so that its length is right to one of them
_PART, _SEEN, _HEAD = 0, 1, 2


@inlined
def _forget(memory: NDArray[np.float64], part: int, replicas: int) -> None:
    """Empty the parts of the window that begin since the last request."""
    last = int(memory[_PART])
    for k in range(max(last + 1, part - _PARTS + 1), part + 1):
        first = _HEAD + (1 + k % _PARTS) * replicas
        for r in range(replicas):
            memory[first + r] = 0
    memory[_PART] = part


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
    part = int(now * _PARTS / params[WINDOW])
    _forget(memory, part, replicas)
    costs = memory[_HEAD : _HEAD + replicas]
    longest = 0.0
    for r in range(replicas):
        costs[r] = 0
        for k in range(_PARTS):
            costs[r] += memory[_HEAD + (1 + k) * replicas + r]
        longest = max(longest, view[rows.MATCH, r])
    lightest = costs[0]
    for r in range(replicas):
        lightest = min(lightest, costs[r])
    scores = memory[_HEAD + (1 + _PARTS) * replicas :]
    exploit = longest > facts[rows.PROMPT] - longest
    for r in range(replicas):
        scores[r] = costs[r]
        if not exploit:
            scores[r] += uncached_tokens(view, facts, r) * facts[rows.PREFILL_TOKEN]
        elif view[rows.MATCH, r] < longest:
            scores[r] = math.inf
    chosen = least(scores[:replicas], draws[0])
    late = memory[_SEEN] >= params[WARM_UP]
    if exploit and late and costs[chosen] > params[REBALANCE] * lightest:
        chosen = least(costs, draws[0])
    memory[_SEEN] += 1
    given = uncached_tokens(view, facts, chosen) * facts[rows.PREFILL_TOKEN]
    given += facts[rows.OUTPUT] * facts[rows.STEP_SECONDS]
    memory[_HEAD + (1 + part % _PARTS) * replicas + chosen] += given
    return chosen


POLICY = Policy(
    name="preble",
    summary="among the holders of more than half the prompt the least recent work; else the least "
    "of recent work and the prefill that the request would need",
    rule=_rule,
    parameters=(
        Parameter(
            name="window",
            default=180,
            low=1,
            high=1e6,
            unit="s",
            meaning="time over which work given to a replica counts",
        ),
        Parameter(
            name="rebalance",
            default=1.5,
            low=1,
            meaning="recent work of a holder over that of the lightest replica above which the "
            "request goes to the lightest",
        ),
        Parameter(
            name="rebalance_from",
            default=50,
            whole=True,
            unit="requests",
            meaning="requests that must have come before anything is rebalanced",
        ),
    ),
    presets={"paper": {"rebalance": 1.5}, "off": {"rebalance": math.inf}},
    source="Preble, WukLab/preble multi_node/global_scheduler_with_time.py; "
    "https://arxiv.org/abs/2407.00023",
    memory=lambda keys, sessions, replicas, params: _HEAD + (2 + _PARTS) * replicas,
    nearest="cache_aware",
    nearest_error="with balance_abs without limit: within 0.5% for the first rebalance_from "
    "requests; afterwards only a bound, at most 2% below the smaller of it and "
    "least_load on isolated bursts, up to 1.3 times that over 4 replicas and 3.2 "
    "over 2 to 8 where a prefix is seen once computed, 2.1 and 4.2 where once "
    "admitted",
)
