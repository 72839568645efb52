"""Round robin: the replicas in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.routing import view as rows
from kvcost.routing.policy import Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _rule(
    now: float,
    draws: NDArray[np.float64],
    facts: NDArray[np.float64],
    view: NDArray[np.float64],
    params: NDArray[np.float64],
    memory: NDArray[np.float64],
    orders: NDArray[np.int64],
) -> int:
    turn = int(memory[0])
    memory[0] = turn + 1 if turn + 1 < view.shape[1] else 0
    return (turn + int(facts[rows.GATEWAY])) % int(view.shape[1])  # gateways start out of step


POLICY = Policy(
    name="round_robin",
    summary="the replicas in turn, whatever they hold",
    rule=_rule,
    source="SGLang model gateway, policies/round_robin.rs",
)
