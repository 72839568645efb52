"""Cache-aware after its fallback: the mean path of what follows, on all replicas."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kvcost.compiled import compiled
from kvcost.routing.even_replica import (
    FIELDS,
    HEAD,
    READY,
    RUNNING,
    THERE,
    WAITING,
    advance,
    charge,
)

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array

__all__ = ["fall_back"]


@partial(compiled, uses=("kvcost.routing.even_replica",))
def _go_on(  # noqa: PLR0917 # pragma: no cover - for numba
    times: Array, first: int, rows: Array, costs: Array, thresholds: Array, parts: Array,
    scratch: Array, values: Array,
) -> int:  # fmt: skip
    replicas, cold = rows.shape[0], 0
    for i in range(times.size):
        time = times[i]
        most, least, nearest, best = 0.0, 1e18, 1e18, 0
        for r in range(replicas):
            advance(rows[r], time, costs)
            load = rows[r, RUNNING] + rows[r, WAITING]
            most = max(most, load)
            if load < least:
                least, best = load, r
        chosen = 0
        falls = most > thresholds[0] and most > thresholds[1] * least
        if i == first or (i > first and falls):
            chosen = best
        elif i > first:
            for r in range(replicas):
                load = rows[r, RUNNING] + rows[r, WAITING]
                if (rows[r, THERE] == 1 or rows[r, WAITING] > 0) and load < nearest:
                    nearest, chosen = load, r
        if rows[chosen, THERE] == 0 and rows[chosen, WAITING] == 0:
            cold += 1
        values[i] = charge(rows[chosen], time, costs, 1.0, parts if i >= first else scratch)
        rows[chosen, WAITING] += 1
    return cold


def fall_back(
    *, requests: int, replicas: int, time: float, index: int, gap: float, costs: Array,
    thresholds: Array,
) -> tuple[Array, Array, int]:  # fmt: skip
    """Follow a burst from the request that the fallback sends away.

    Parameters
    ----------
    requests, replicas : int
        Of the burst.
    time, index : float, int
        When the fallback first fires, and at which request.
    gap : float
        Mean time between two requests from then on [s].
    costs, thresholds : array
        Costs of a replica; the load, absolute and relative, above which it falls back.

    Returns
    -------
    tuple
        Times to first token from that request on; sums of their parts; cold requests of the burst.
    """
    times = np.append(
        np.linspace(0.0, time, index + 1), time + gap * np.arange(1, requests - index)
    )
    rows, parts, values = np.zeros((replicas, FIELDS)), np.zeros(5), np.empty(requests)
    rows[:, HEAD] = rows[:, READY] = -1.0
    cold = _go_on(times, index, rows, costs, thresholds, parts, np.zeros(5), values)
    return values[index:], parts, int(cold)
