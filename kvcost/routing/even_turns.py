"""Round robin on an even burst: every replica sees the same even burst, slower."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.compiled import compiled
from kvcost.routing.even_replica import FIELDS, HEAD, READY, WAITING, advance, charge

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array

__all__ = ["Followed", "take_turns"]


class Followed(NamedTuple):
    """What following a burst gives.

    Attributes
    ----------
    values, weights : array
        Times to first token, and how many requests have each.
    parts : array
        Sums over requests: own head, suffixes, copies, decoding, own prefill [s].
    cold : float
        Mean number of requests that compute the whole prompt.
    longest : float
        Mean of the longest time to first token [s].
    tripped : float
        Share of the bursts in which the fallback fires.
    thinned : int
        Arrivals at which the law of the state had to be thinned.
    """

    values: Array
    weights: Array
    parts: Array
    cold: float
    longest: float
    tripped: float = 0.0
    thinned: int = 0


@partial(compiled, uses=("kvcost.routing.even_replica",))
def _single(  # noqa: PLR0917 # pragma: no cover - for numba
    gap: float, last: float, replicas: float, costs: Array, row: Array, parts: Array,
    values: Array,
) -> None:  # fmt: skip
    size = values.size
    for i in range(size):
        advance(row, i * gap, costs)
        weight = replicas if i < size - 1 else last
        values[i] = charge(row, i * gap, costs, weight, parts)
        row[WAITING] += 1


def take_turns(*, requests: int, gap: float, replicas: int, costs: Array) -> Followed:
    """Follow an even burst that replicas take in turns.

    Parameters
    ----------
    requests : int
        Requests of the burst.
    gap : float
        Time between two of them [s].
    replicas : int
        Replicas.
    costs : array
        Cold prefill, hit, copy, slots, fixed and growing part of a decode step.

    Returns
    -------
    Followed
        Exact up to rounding.
    """
    used = min(requests, replicas)
    rounds = -(-requests // replicas)
    last = requests - (rounds - 1) * replicas if rounds > 1 else used
    row, parts, values = np.zeros(FIELDS), np.zeros(5), np.empty(rounds)
    row[HEAD] = row[READY] = -1.0
    _single(gap * replicas, float(last), float(used), costs, row, parts, values)
    weights = np.full(rounds, float(used))
    weights[-1] = last
    return Followed(values, weights, parts, float(used), float(values.max()))
