"""Copies of computed prefixes on a burst with random arrivals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kvcost.routing.even_replica import COLD, COPY, EACH, FIXED, HIT, SLOTS
from kvcost.routing.poisson_crowd import crowd
from kvcost.routing.poisson_sums import Sums, still_coming, top_load

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array
    from kvcost.routing.poisson_sums import Followed

__all__ = ["copied_when_computed"]

_CELLS, _TAKEN = 200, 8


def copied_when_computed(
    *, requests: int, gap: float, warm: int, repeats: int, window: float,
    costs: Array, even: bool,
) -> Followed:  # fmt: skip
    """Follow a burst whose prefix is copied at the first request after its prefill.

    Parameters
    ----------
    requests : int
        Requests of the burst.
    gap : float
        Mean time between two of them [s].
    warm : int
        Replicas that the prefix will be on, at least 2.
    repeats, window : int, float
        From how many requests in how many seconds it is copied.
    costs : array
        Costs of a replica.
    even : bool
        Whether the burst ends at a known time.

    Returns
    -------
    Followed
        Sums over the requests behind the head.

    Notes
    -----
    All who come before the copies are ready queue at the source; it works off their queue while the
    other replicas take those who come later.
    """
    cold, hit, copy = float(costs[COLD]), float(costs[HIT]), float(costs[COPY])
    slots = int(costs[SLOTS])
    full = float(costs[FIXED] + costs[EACH] * slots)
    each = hit + full / slots
    sums = Sums()
    count = _CELLS
    step = cold / count
    times: Array = np.arange(0.5, count) * step
    flow = still_coming(times, gap, requests - 1, even=even) * step / gap
    flow *= min(1.0, (requests - 1) / max(float(flow.sum()), 1e-300))
    ahead = np.cumsum(flow) - 0.5 * flow
    turns = np.floor((ahead + 1) / slots) * full
    rest = cold - times
    sums.add(
        rest + ahead * hit + turns, flow, float((rest * flow).sum()), float((turns * flow).sum())
    )
    came = float(flow.sum())
    chance = -math.expm1(-window / gap) if repeats > 1 else 1.0
    held = gap / max(chance, 1e-3) + copy
    more = min(held / gap, requests - 1 - came)
    if more > 0:
        spread = math.sqrt(cold / gap)
        for z, mass in ((-1.7320508, 1 / 6), (0.0, 2 / 3), (1.7320508, 1 / 6)):
            late = (np.arange(_TAKEN) + 0.5) / _TAKEN * more * gap
            left = np.maximum((came + z * spread) * each - late * (1 - each / gap), 0.0)
            weights = np.full(_TAKEN, mass * more / _TAKEN)
            decode = float((left * weights).sum()) * full / slots / each
            sums.add(left, weights, 0.0, decode)
    left_over = max(requests - 1 - sums.count, 0.0)
    alone = min(max(came * each / gap - more, 0.0), left_over)
    for servers, number in ((warm - 1, alone), (warm, left_over - alone)):
        if number > 0:
            top = top_load(gap, servers, costs)
            found = crowd(gap=gap, servers=servers, source=0, costs=costs, top=top)
            sums.add_crowd(found, number)
    return sums.done()
