"""One replica of a burst with random arrivals, from its cold head to its last request."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.routing.even_replica import EACH, FIXED, HIT, SLOTS
from kvcost.routing.poisson_alive import COUNTED, DECODE, HEAD, OUT, SUM, TRIPPED, alive
from kvcost.routing.poisson_reborn import IDLE, batches, reborn

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array
    from kvcost.routing.cases import Burst
    from kvcost.routing.poisson_crowd import Crowd

__all__ = ["Arriving", "Node", "arriving_at_random", "arriving_in_turns", "follow"]

_BINS, _TERMS, _QUEUE, _FEW = 4096, 96, 200, 1e-6


class Arriving(NamedTuple):
    """How requests come to one replica.

    Attributes
    ----------
    gap : float
        Mean time between two events [s].
    every : int
        Each how many-th event is a request.
    weights : array
        How many replicas have an n-th request; the first is the cold head.
    requests : int
        Requests of the whole burst.
    kept : float
        Share of the requests that come here where each is sent at random, else 1.
    cap : float
        Events still to come behind the head where they are uniform on a span, else 0.
    horizon : float
        That span, over the share that comes here [s].
    """

    gap: float
    every: int
    weights: Array
    requests: int
    kept: float = 1.0
    cap: float = 0.0
    horizon: float = 0.0


class Node(NamedTuple):
    """What following a replica gives, summed over replicas.

    Attributes
    ----------
    values, weights : array
        Waits of the requests behind the heads, and how many have each.
    parts : array
        Sums of the waits: behind the head, behind suffixes, behind copies, behind decode steps.
    tripped : float
        Share of the bursts in which the fallback fires.
    trip_time, trip_index : float
        When it fires, and which request it is, on average where it does.
    """

    values: Array
    weights: Array
    parts: Array
    tripped: float
    trip_time: float
    trip_index: float


def _coming(case: Burst, share: float = 1.0) -> dict[str, float]:
    if case.arrivals == "poisson":
        return {}
    return {"cap": case.requests - 1.0, "horizon": float(case.span) / share}


def arriving_in_turns(case: Burst, replicas: int) -> Arriving:
    """Return how requests come where replicas take them in turns, or one takes them all."""
    requests = int(case.requests)
    rounds = -(-requests // replicas)
    weights = np.full(rounds, float(min(requests, replicas)))
    if rounds > 1:
        weights[-1] = requests - (rounds - 1) * replicas
    return Arriving(float(case.gap), replicas, weights, requests, **_coming(case))


def arriving_at_random(case: Burst) -> Arriving:
    """Return how requests come where each is sent to a replica at random."""
    requests, replicas = int(case.requests), int(case.replicas)
    if replicas == 1:
        return arriving_in_turns(case, 1)
    chance, mean = 1.0 / replicas, requests / replicas
    most = int(min(requests, mean + 8 * math.sqrt(mean) + 8))
    at = np.arange(requests)
    steps = np.log((requests - at) / (at + 1.0) * chance / (1 - chance))
    logs = requests * math.log1p(-chance) + np.append(0.0, np.cumsum(steps))
    more = np.cumsum(np.exp(logs)[::-1])[::-1][1 : most + 1]  # chance of more than n requests
    gap = float(case.gap) * replicas
    return Arriving(gap, 1, replicas * more, requests, chance, **_coming(case, chance))


@lru_cache(maxsize=64)
def _batches(slots: int) -> Array:
    return batches(slots)


def follow(
    arriving: Arriving, costs: Array, *, limit: float = math.inf, calm: Crowd | None = None
) -> Node:
    """Follow one replica behind its cold head.

    Parameters
    ----------
    arriving : Arriving
        How requests come.
    costs : array
        Cold prefill, hit, copy, slots, fixed and growing part of a decode step.
    limit : float
        Load above which the fallback fires.
    calm : Crowd, optional
        What requests meet once the replica has run out of work, where that depends on others.

    Returns
    -------
    Node
        Sums over replicas.

    Notes
    -----
    Until the replica first runs out of work its services end at known times, so that the number of
    events by then is all that is random: the recursion over these times is exact. Behind that the
    queue and the batch are followed from request to request, exact but for the grid of large
    batches, until they are steady.
    """
    most, every = arriving.weights.size, arriving.every
    slots = int(costs[SLOTS])
    full = float(costs[FIXED] + costs[EACH] * slots)
    events = (most - 1) * every
    width = 4 * (float(costs[HIT]) + full / slots) + full
    bins, sums, out = np.zeros(2 * _BINS), np.zeros(2 * _BINS), np.zeros(OUT)
    ends, trips = np.zeros((most + 2, every)), np.zeros(4)
    how = np.array([arriving.gap, arriving.cap, arriving.horizon])
    alive(
        how, arriving.requests, every, arriving.weights, arriving.kept, min(limit, 1e18), costs,
        np.zeros(events + 2), np.zeros(events + 2), np.zeros(_TERMS), np.zeros(most), ends, trips,
        width, bins[:_BINS], sums[:_BINS], out,
    )  # fmt: skip
    later = np.zeros(OUT)
    # time and index where the fallback fires, weighted, their weight, and the last request
    trips[2], trips[3] = out[TRIPPED], most - 1.0
    ran_out = float(ends.sum()) > _FEW
    if calm is None and ran_out:
        sizes = _batches(slots)
        room = max(min(events, _QUEUE * every), 2 * every) + 2
        laws = np.zeros((2, room, sizes.size))
        terms = int(3 * max(full, float(costs[HIT])) / arriving.gap) + 40
        reborn(
            arriving.gap, every, arriving.weights, costs, ends, laws[0], laws[1],
            np.zeros((6, terms)), sizes, min(limit, 1e18), trips, width, bins[_BINS:],
            sums[_BINS:], later,
        )  # fmt: skip
    tripped = float(trips[2])
    behind = float(arriving.weights[1:].sum()) - float(out[COUNTED])
    if tripped > 0:
        behind -= tripped * most - float(trips[1])
    seen = float(later[COUNTED] + later[IDLE])
    if seen > 0:
        scale = max(behind, 0.0) / seen
        later *= scale
        bins[_BINS:] *= scale
        sums[_BINS:] *= scale
    used = bins > 0
    values = np.append(sums[used] / bins[used], 0.0)
    weights = np.append(bins[used], later[IDLE])
    if calm is not None and behind > 0:
        values = np.append(values, calm.values)
        weights = np.append(weights, calm.weights * behind)
        later[SUM], later[DECODE] = calm.wait * behind, calm.decode * behind
    decode = float(out[DECODE] + later[DECODE])
    head = float(out[HEAD])
    total = float(out[SUM] + later[SUM])
    parts = np.array([head, total - head - decode, 0.0, decode])
    time, index = (trips[:2] / tripped) if tripped > 0 else (0.0, 0.0)
    return Node(values, weights, parts, tripped, float(time), float(index))
