"""Random: every replica with the same probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    return int(draws[0] * view.shape[1])


POLICY = Policy(
    name="random",
    summary="every replica with the same probability",
    rule=_rule,
    source="SGLang model gateway, policies/random.rs",
)
