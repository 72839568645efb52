"""Replicate on burst: copy a prefix that repeats to idle replicas, then use the copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.compiled import inlined
from kvcost.routing import view as rows
from kvcost.routing.policies.cache_aware import PARAMETERS, by_cache
from kvcost.routing.policy import Parameter, Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["POLICY"]

_FALLBACK = len(PARAMETERS)
REPEATS, WITHIN, COPIES = _FALLBACK, _FALLBACK + 1, _FALLBACK + 2
_HEAD = 1  # numbers of the memory before the rings: how often loads were out of balance


@inlined
def _repeats(
    memory: NDArray[np.float64], key: int, repeats: int, within: float, now: float
) -> bool:
    """Note an arrival of the key; tell whether the last `repeats` of them lie close together."""
    ring = _HEAD + key * (repeats + 1)
    seen = int(memory[ring])
    memory[ring + 1 + seen % repeats] = now
    memory[ring] = seen + 1
    if seen + 1 < repeats:
        return False
    return bool(memory[ring + 1 + (seen + 1) % repeats] >= now - within)


@inlined
def _ask(view: NDArray[np.float64], copies: int, orders: NDArray[np.int64]) -> None:
    """Ask for copies to the least loaded replicas that have none and get none."""
    have = 0
    source = False
    for r in range(view.shape[1]):
        have += int(view[rows.WARM, r] + view[rows.PLANNED, r])
        source = source or view[rows.COPYABLE, r] > 0
    if not source:
        return
    asked = 0
    while asked < copies - have:
        target = -1
        for r in range(view.shape[1]):
            if view[rows.WARM, r] > 0 or view[rows.PLANNED, r] > 0:
                continue
            chosen = False
            for k in range(asked):
                chosen = chosen or orders[k + 1] == r
            if not chosen and (target < 0 or view[rows.LOAD, r] < view[rows.LOAD, target]):
                target = r
        if target < 0:
            break
        orders[asked + 1] = target
        asked += 1
    orders[0] = asked


@inlined
def _least_warm(view: NDArray[np.float64], draw: float) -> int:
    lowest, ties = 0.0, 0
    for r in range(view.shape[1]):
        if view[rows.WARM, r] > 0:
            if ties == 0 or view[rows.LOAD, r] < lowest:
                lowest, ties = view[rows.LOAD, r], 1
            elif view[rows.LOAD, r] == lowest:
                ties += 1
    left = int(draw * ties)
    for r in range(view.shape[1]):
        if view[rows.WARM, r] > 0 and view[rows.LOAD, r] == lowest:
            if left == 0:
                return r
            left -= 1
    return -1


def _rule(
    now: float,
    draws: NDArray[np.float64],
    facts: NDArray[np.float64],
    view: NDArray[np.float64],
    params: NDArray[np.float64],
    memory: NDArray[np.float64],
    orders: NDArray[np.int64],
) -> int:
    key = int(facts[rows.KEY])
    if key >= 0 and _repeats(memory, key, int(params[REPEATS]), params[WITHIN], now):
        _ask(view, int(params[COPIES]), orders)
        warm = _least_warm(view, draws[0])
        if warm >= 0:
            return warm
    return by_cache(view, facts, params, memory, draws[0])


POLICY = Policy(
    name="replicate_on_burst",
    summary="copies a prefix seen X times within Z seconds to M replicas and balances over them; "
    "else cache aware",
    rule=_rule,
    parameters=(
        *PARAMETERS,
        Parameter(
            name="repeats",
            default=2,
            low=1,
            high=1000,
            whole=True,
            unit="requests",
            meaning="X, sightings of a prefix that start the copying",
        ),
        Parameter(name="within", default=1, unit="s", meaning="Z, time that they may lie apart"),
        Parameter(
            name="copies",
            default=4,
            low=1,
            high=10_000,
            whole=True,
            unit="replicas",
            meaning="M, replicas that hold the prefix in the end, the first one included",
        ),
    ),
    presets={"study": {"balance_abs": 64, "balance_rel": 1.5, "cache_threshold": 0.0}},
    copies=True,
    counts_imbalance=True,
    source="Biting the Bullet, github.com/jwlaboratory/bite-the-bullet (2-bite-the-bullet)",
    memory=lambda keys, sessions, replicas, params: _HEAD + keys * (int(params[REPEATS]) + 1),
)
