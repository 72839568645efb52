"""Deterministic service by sorted slots: cold first services, copies that open later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kvcost.queueing.burst.answer import BurstWait
from kvcost.queueing.burst.laws import SampleLaw
from kvcost.queueing.burst.methods import known
from kvcost.queueing.result import ErrorClass
from kvcost.queueing.validation import not_negative, positive, whole

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array

__all__ = [
    "cold_then_warm",
    "cold_then_warm_waits",
    "copies",
    "copy_waits",
    "slot_waits",
]


def slot_waits(*, arrivals: Array, slots: Array) -> Array:
    """Return the waits of requests that take service slots in order.

    Parameters
    ----------
    arrivals : array
        Sorted arrival times [s].
    slots : array
        Times at which a server can take a request, one entry a request it can take [s]; at least
        as many as arrivals.

    Returns
    -------
    array
        Waits in order of arrival [s].

    Notes
    -----
    Request k takes the k-th slot, or starts at once when that slot has passed. Exact while the
    servers stay busy between their slots (a server that idles starts its later slots later); the
    caller states slots that hold.
    """
    return np.maximum(np.sort(slots)[: arrivals.size] - arrivals, 0.0)


def cold_then_warm_waits(
    *, servers: int, requests: int, gap: float, cold_seconds: float, warm_seconds: float
) -> tuple[Array, bool]:
    """Return the waits when the first service of each server takes longer.

    Parameters
    ----------
    servers : int
        Servers, idle and cold at the start.
    requests : int
        Requests, evenly spaced.
    gap : float
        Seconds between arrivals; 0 is a batch.
    cold_seconds : float
        First service of each server [s].
    warm_seconds : float
        Every later service [s]; above 0.

    Returns
    -------
    waits : array
        Waits in order of arrival [s].
    saturated : bool
        Every slot taken was a busy server's, so the slots are exact; otherwise some request found
        an idle server and the waits of later requests come from following each server in turn.

    Notes
    -----
    The first requests find the idle servers, request i at ``i gap``; server i is free again at
    ``i gap + cold + n warm``. Where no request finds its slot passed, this is exact; where one
    does, the requests are followed one by one, which is exact too but has no closed form.

    Examples
    --------
    >>> waits, saturated = cold_then_warm_waits(
    ...     servers=4, requests=40, gap=0.2, cold_seconds=3.0, warm_seconds=0.5)
    >>> round(waits.mean(), 4), saturated
    (np.float64(0.9175), False)
    """
    servers, requests = whole("servers", servers), whole("requests", requests)
    gap = not_negative("gap", gap, unit="s")
    cold = positive("cold_seconds", cold_seconds, unit="s")
    warm = positive("warm_seconds", warm_seconds, unit="s")
    arrivals = np.arange(requests, dtype=np.float64) * gap
    ready = np.arange(min(servers, requests), dtype=np.float64) * gap
    rounds = -(-requests // servers)
    slots = np.concatenate([ready, *(ready + cold + n * warm for n in range(rounds))])
    taken = np.sort(slots)[:requests]
    waits = slot_waits(arrivals=arrivals, slots=slots)
    saturated = bool((taken >= arrivals - 1e-12 * (1 + arrivals)).all())
    if saturated:
        return waits, True
    return _followed(arrivals, first=np.full(servers, cold), later=warm, free=np.zeros(servers)), (
        False
    )


def copy_waits(
    *,
    servers: int,
    requests: int,
    gap: float,
    cold_seconds: float,
    warm_seconds: float,
    available_seconds: float,
) -> tuple[Array, bool]:
    """Return the waits when one server holds the prefix and the others get a copy later.

    Parameters
    ----------
    servers : int
        Servers, the first included.
    requests : int
        Requests, evenly spaced.
    gap : float
        Seconds between arrivals; 0 is a batch.
    cold_seconds : float
        First service, at the first server [s].
    warm_seconds : float
        Every other service [s]; above 0.
    available_seconds : float
        When the copy can be used at the other servers, the detection and the source included [s];
        infinite where none comes.

    Returns
    -------
    waits : array
        Waits in order of arrival [s].
    saturated : bool
        See `cold_then_warm_waits`.

    Notes
    -----
    Until then all requests queue for the first server; from then on every server takes the next
    request of one queue. Slots: 0 and ``cold + n warm`` at the first server, ``T + n warm`` at
    each other one.
    """
    servers, requests = whole("servers", servers), whole("requests", requests)
    gap = not_negative("gap", gap, unit="s")
    cold = positive("cold_seconds", cold_seconds, unit="s")
    warm = positive("warm_seconds", warm_seconds, unit="s")
    if not np.isposinf(available_seconds):
        available_seconds = not_negative("available_seconds", available_seconds, unit="s")
    arrivals = np.arange(requests, dtype=np.float64) * gap
    later = np.arange(requests) * warm
    slots = np.concatenate([[0.0], cold + later, np.tile(available_seconds + later, servers - 1)])
    taken = np.sort(slots)[:requests]
    if (taken[1:] >= arrivals[1:] - 1e-12 * (1 + arrivals[1:])).all():
        return slot_waits(arrivals=arrivals, slots=slots), True
    free = np.full(servers, float(available_seconds))
    free[0] = 0.0
    first = np.full(servers, warm)
    first[0] = cold
    return _followed(arrivals, first=first, later=warm, free=free), False


def cold_then_warm(
    *, servers: int, requests: int, gap: float, cold_seconds: float, warm_seconds: float
) -> BurstWait:
    """Return the answer for a burst at servers whose first service takes longer.

    Parameters
    ----------
    servers, requests, gap, cold_seconds, warm_seconds
        See `cold_then_warm_waits`.

    Returns
    -------
    BurstWait
        Exact.

    Examples
    --------
    >>> cold_then_warm(servers=8, requests=100, gap=0.02, cold_seconds=4.0,
    ...                warm_seconds=0.05).mean
    3.0
    """
    waits, saturated = cold_then_warm_waits(
        servers=servers,
        requests=requests,
        gap=gap,
        cold_seconds=cold_seconds,
        warm_seconds=warm_seconds,
    )
    return _answer(waits, gap, "cold, then warm services", saturated=saturated)


def copies(
    *,
    servers: int,
    requests: int,
    gap: float,
    cold_seconds: float,
    warm_seconds: float,
    available_seconds: float,
) -> BurstWait:
    """Return the answer for a burst at one server whose prefix the others get as a copy.

    Parameters
    ----------
    servers, requests, gap, cold_seconds, warm_seconds, available_seconds
        See `copy_waits`.

    Returns
    -------
    BurstWait
        Exact.

    Examples
    --------
    >>> copies(servers=8, requests=64, gap=0.0, cold_seconds=8.0, warm_seconds=0.3,
    ...        available_seconds=9.0).mean
    9.7328125...
    """
    waits, saturated = copy_waits(
        servers=servers,
        requests=requests,
        gap=gap,
        cold_seconds=cold_seconds,
        warm_seconds=warm_seconds,
        available_seconds=available_seconds,
    )
    return _answer(waits, gap, "a copy that opens more servers", saturated=saturated)


def _answer(waits: Array, gap: float, what: str, *, saturated: bool) -> BurstWait:
    arrivals = np.arange(waits.size, dtype=np.float64) * gap
    begun = np.searchsorted(np.sort(arrivals + waits), arrivals * (1 + 1e-12), side="right")
    backlog = float(max(0, (np.arange(waits.size) + 1 - begun).max()))
    mean = float(waits.mean())
    return BurstWait(
        mean=mean,
        mean_low=mean,
        mean_high=mean,
        probability_of_wait=float((waits > 0).mean()),
        method=f"{what}, " + ("sorted slots" if saturated else "each request followed"),
        error=ErrorClass(kind="exact", relative=1e-13, text="exact to 1e-13"),
        law=SampleLaw(np.sort(waits)),
        second_moment=float((waits**2).mean()),
        request_means=tuple(float(value) for value in waits),
        background_utilization=0.0,
        arrivals=f"evenly spaced, every {gap:.6g} s" if gap else "all at once",
        _find_extremes=lambda: known(waits, backlog),
    )


def _followed(arrivals: Array, *, first: Array, later: float, free: Array) -> Array:
    """Return waits by letting each request take the server that is free first."""
    free, next_service = free.copy(), first.copy()
    idle_since = np.arange(free.size)
    waits = np.zeros(arrivals.size)
    for k, arrival in enumerate(arrivals):
        ready = np.maximum(free, arrival)
        server = int(np.lexsort((idle_since, free, ready))[0])
        waits[k] = ready[server] - arrival
        free[server] = ready[server] + next_service[server]
        next_service[server] = later
    return waits
