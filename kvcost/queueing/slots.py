"""Limited concurrency: as many requests run at once as their KV fits into memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.errors import CapacityError
from kvcost.ops import floor
from kvcost.queueing.erlang import erlang_b
from kvcost.queueing.general import mgc
from kvcost.queueing.validation import positive

if TYPE_CHECKING:
    from kvcost.queueing.result import Wait
    from kvcost.queueing.service import Service

__all__ = ["kv_slots", "slot_refusals", "slot_wait"]


def kv_slots(*, free_bytes: float, request_bytes: float) -> int:
    """Return how many requests run at once.

    Parameters
    ----------
    free_bytes : float
        Memory left for KV [byte].
    request_bytes : float
        KV that a request reserves, prompt and answer [byte].

    Returns
    -------
    int
        Free memory over bytes of a request, rounded down.

    Raises
    ------
    InvalidValueError
        If a value is not above zero.
    CapacityError
        If not one request fits.

    Notes
    -----
    For a length in tokens see the formula `sequences_that_fit`. Nothing is shared between requests.

    Examples
    --------
    >>> kv_slots(free_bytes=60e9, request_bytes=5.2e9)
    11
    """
    free = positive("free_bytes", free_bytes, unit="bytes")
    each = positive("request_bytes", request_bytes, unit="bytes")
    slots = int(floor(free / each))
    if slots < 1:
        raise CapacityError(
            what=f"the KV of one request, {each / 1e9:.4g} GB,",
            limit=f"the free memory, {free / 1e9:.4g} GB",
            remedy="shorten the request, store KV in fewer bytes, or use more accelerators",
        )
    return slots


def slot_wait(
    *,
    free_bytes: float,
    request_bytes: float,
    service: Service,
    arrival_rate: float,
) -> Wait:
    """Return the wait for a free slot.

    Parameters
    ----------
    free_bytes : float
        Memory left for KV [byte].
    request_bytes : float
        KV that a request reserves [byte].
    service : Service
        Law of the time for which a request holds its slot [s].
    arrival_rate : float
        Requests per second.

    Returns
    -------
    Wait
        Of M/G/c with a server per slot.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the variance of service is infinite.
    CapacityError
        If not one request fits.
    UnstableError
        If the slots cannot keep up with the arrivals.

    Notes
    -----
    Poisson arrivals, first come first served, equal requests. The time in a slot does not depend on
    how many run; in an engine that batches, use the time at the number that usually runs.

    References
    ----------
    .. [1] J. D. C. Little (1961), A proof for the queuing formula L = lambda W,
       https://doi.org/10.1287/opre.9.3.383

    Examples
    --------
    >>> from kvcost.queueing.service import Exponential
    >>> wait = slot_wait(
    ...     free_bytes=60e9, request_bytes=5.2e9, service=Exponential(mean=10.0), arrival_rate=1.0
    ... )
    >>> round(wait.mean, 4), round(wait.probability_of_wait, 4)
    (6.8212, 0.6821)
    """
    return mgc(
        servers=kv_slots(free_bytes=free_bytes, request_bytes=request_bytes),
        service=service,
        arrival_rate=arrival_rate,
    )


def slot_refusals(
    *,
    free_bytes: float,
    request_bytes: float,
    mean_service: float,
    arrival_rate: float,
) -> float:
    """Return the share of requests refused where none may wait for a slot.

    Parameters
    ----------
    free_bytes : float
        Memory left for KV [byte].
    request_bytes : float
        KV that a request reserves [byte].
    mean_service : float
        Mean time for which a request holds its slot [s].
    arrival_rate : float
        Requests per second; more than the slots can serve is allowed.

    Returns
    -------
    float
        Erlang's loss formula; exact for every law of the same mean.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.

    Notes
    -----
    Poisson arrivals. Where not one request fits, all are refused.

    References
    ----------
    .. [1] B. A. Sevastyanov (1957), An ergodic theorem for Markov processes and its application to
       telephone systems with refusals, https://doi.org/10.1137/1102005

    Examples
    --------
    >>> round(
    ...     slot_refusals(
    ...         free_bytes=60e9, request_bytes=5.2e9, mean_service=10.0, arrival_rate=1.0
    ...     ),
    ...     4,
    ... )
    0.1632
    """
    load = positive("arrival_rate", arrival_rate, unit="requests/s") * positive(
        "mean_service", mean_service, unit="s"
    )
    free = positive("free_bytes", free_bytes, unit="bytes")
    each = positive("request_bytes", request_bytes, unit="bytes")
    if math.floor(free / each) < 1:
        return 1.0
    slots = kv_slots(free_bytes=free, request_bytes=each)
    return float(erlang_b(servers=slots, offered_load=load))
