"""Cache aware: the longest match, unless the loads are out of balance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.compiled import inlined
from kvcost.routing import view as rows
from kvcost.routing.policies.choosing import imbalanced, least, longest_match
from kvcost.routing.policy import Parameter, Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PARAMETERS", "POLICY", "by_cache"]

ABSOLUTE, RELATIVE, SHARE, SMALLEST_TREE, OVERLOAD, SPREAD = 0, 1, 2, 3, 4, 5

PARAMETERS = (
    Parameter(
        name="balance_abs",
        default=64,
        unit="requests",
        meaning="largest load that is never out of balance",
    ),
    Parameter(
        name="balance_rel",
        default=1.5,
        meaning="largest load over the smallest that is never out of balance",
    ),
    Parameter(
        name="cache_threshold",
        default=0.3,
        high=1,
        meaning="share of the prompt that must match; 0 takes any match",
    ),
    Parameter(
        name="miss_to_smallest_tree",
        default=0,
        high=1,
        whole=True,
        meaning="1 to send a miss where the fewest blocks went so far, not where the load is least",
    ),
    Parameter(
        name="overload_kv_use",
        default=1,
        high=1,
        meaning="KV use of the fullest replica from which loads count as out of balance; 1 is off",
    ),
    Parameter(
        name="balance_kv_use",
        default=1,
        high=1,
        meaning="spread of KV use from which loads count as out of balance; 1 is off",
    ),
)


@inlined
def by_cache(
    view: NDArray[np.float64],
    facts: NDArray[np.float64],
    params: NDArray[np.float64],
    memory: NDArray[np.float64],
    draw: float,
) -> int:
    """Return the choice; `memory` counts how often loads were out of balance."""
    fullest, emptiest = 0.0, 1.0
    longest = 0.0
    for r in range(view.shape[1]):
        fullest = max(fullest, view[rows.KV_USE, r])
        emptiest = min(emptiest, view[rows.KV_USE, r])
        longest = max(longest, view[rows.MATCH, r])
    full = params[OVERLOAD] < 1 and fullest > params[OVERLOAD]
    uneven = params[SPREAD] < 1 and fullest - emptiest > params[SPREAD]
    if full or uneven or imbalanced(view, params[ABSOLUTE], params[RELATIVE]):
        memory[0] += 1
        return least(view[rows.LOAD], draw)
    if longest > 0 and longest >= params[SHARE] * facts[rows.PROMPT]:
        return longest_match(view, draw)
    if params[SMALLEST_TREE] > 0:
        return least(view[rows.TREE], draw)
    return least(view[rows.LOAD], draw)


def _rule(
    now: float,
    draws: NDArray[np.float64],
    facts: NDArray[np.float64],
    view: NDArray[np.float64],
    params: NDArray[np.float64],
    memory: NDArray[np.float64],
    orders: NDArray[np.int64],
) -> int:
    return by_cache(view, facts, params, memory, draws[0])


POLICY = Policy(
    name="cache_aware",
    summary="the longest match; the least load on a miss or when loads are out of balance",
    rule=_rule,
    parameters=PARAMETERS,
    presets={
        "command_line": {"balance_abs": 64, "balance_rel": 1.5, "cache_threshold": 0.3},
        "library": {"balance_abs": 32, "balance_rel": 1.1, "cache_threshold": 0.5},
        "study": {"balance_abs": 64, "balance_rel": 1.5, "cache_threshold": 0.0},
    },
    counts_imbalance=True,
    source="SGLang model gateway, policies/cache_aware.rs",
)
