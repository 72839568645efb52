"""Least load: the replica with the fewest requests in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.routing import view as rows
from kvcost.routing.policies.choosing import least
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
    return least(view[rows.LOAD], draws[0])


POLICY = Policy(
    name="least_load",
    summary="the replica with the fewest requests in flight, ties at random",
    rule=_rule,
    source="AIBrix gateway, algorithms/least_request.go; LiteLLM least-busy",
)
