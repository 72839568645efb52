"""Session affinity: each conversation stays where its first request went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.compiled import inlined
from kvcost.routing import view as rows
from kvcost.routing.policies.choosing import least
from kvcost.routing.policy import Parameter, Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["POLICY"]

ASSIGN, IDLE = 0, 1
AT_RANDOM, BY_LOAD, BY_SESSIONS = 0, 1, 2


@inlined
def _assigned(
    view: NDArray[np.float64], sessions: NDArray[np.float64], how: float, draw: float
) -> int:
    if how == BY_LOAD:
        return least(view[rows.LOAD], draw)
    if how == BY_SESSIONS:
        return least(sessions, draw)
    return int(draw * view.shape[1])


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
    session = int(facts[rows.SESSION])
    if session < 0:
        return int(draws[0] * replicas)
    place = replicas + 2 * session
    kept = int(memory[place]) - 1
    if kept >= 0:
        if now - memory[place + 1] < params[IDLE]:
            memory[place + 1] = now
            return kept
        memory[kept] -= 1
    chosen = _assigned(view, memory[:replicas], params[ASSIGN], draws[0])
    memory[chosen] += 1
    memory[place] = chosen + 1
    memory[place + 1] = now
    return chosen


POLICY = Policy(
    name="session_affinity",
    summary="a conversation stays where its first request went; requests of none go at random",
    rule=_rule,
    parameters=(
        Parameter(
            name="assign",
            default=0,
            high=2,
            whole=True,
            meaning="where a new conversation goes: 0 at random, 1 to the least load, 2 to the "
            "replica with the fewest conversations",
        ),
        Parameter(
            name="idle",
            default=14_400,
            unit="s",
            meaning="time without a request after which a conversation is forgotten",
        ),
    ),
    presets={"random": {"assign": 0}, "min_load": {"assign": 1}, "min_group": {"assign": 2}},
    source="SGLang model gateway, policies/manual.rs",
    memory=lambda keys, sessions, replicas, params: replicas + 2 * sessions,
    nearest="random",
    nearest_error="exactly random on isolated bursts of distinct conversations (least_load with "
    "assign 1); a burst of one conversation is cache_aware with balance_abs without "
    "limit, exactly, where a prefix is seen once admitted",
)
