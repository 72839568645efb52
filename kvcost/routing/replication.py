"""What copies of a prefix do to an even burst: waits at source and copies, backlog, drain."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.burst.formulas import recovery_seconds
from kvcost.queueing.result import ErrorClass
from kvcost.queueing.validation import not_negative, positive, whole
from kvcost.routing.replication_times import (
    Multicast,
    Replication,
    checked_rule,
    detection_time,
    ready_times,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.routing.cases import Burst

    Array = NDArray[np.float64]

__all__ = [
    "Multicast",
    "Outcome",
    "Replication",
    "detection_time",
    "ready_times",
    "replicated_burst",
    "staggered_waits",
]

_EXACT = ErrorClass(kind="exact", relative=1e-12, text="exact for the rule stated, to 1e-12")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a rule does to an even burst.

    Attributes
    ----------
    mean : float
        Mean time to first token [s].
    longest : float
        Longest [s].
    detection : float
        When the burst is noticed; infinite if never [s].
    ready : tuple of float
        When each copy can be used, rising; empty where nothing is copied [s].
    waiting : int
        Requests that wait at the source when the first copy is ready.
    drain : float
        From then on until the queue is gone, as a fluid; infinite where the replicas do not keep
        up, nan without copies [s].
    copied : int
        Copies that are made.
    times : array
        Time to first token of each request [s].
    method : str
        How it was found.
    error : ErrorClass
        How far to trust it.
    """

    mean: float
    longest: float
    detection: float
    ready: tuple[float, ...]
    waiting: int
    drain: float
    copied: int
    times: Array
    method: str
    error: ErrorClass


def staggered_waits(
    *,
    requests: int,
    gap: float,
    cold_seconds: float,
    warm_seconds: float,
    ready: tuple[float, ...],
    rebalance: bool = True,
) -> Array:
    """Return the waits of an even burst at a source and at copies that open one by one.

    Parameters
    ----------
    requests : int
        Requests of the burst.
    gap : float
        Seconds between arrivals; 0 is a batch.
    cold_seconds : float
        First service, at the source [s].
    warm_seconds : float
        Every later service [s].
    ready : tuple of float
        When each copy can be used [s].
    rebalance : bool
        True: one queue, each request takes the server that is free first. False: requests that came
        before the first copy was ready stay at the source.

    Returns
    -------
    array
        Waits in order of arrival [s].

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.

    Notes
    -----
    With one queue and servers that stay busy this is the sorted merge of the slots 0,
    ``cold + n warm`` and ``ready_i + n warm``; the recursion over the requests is exact in all
    cases.

    Examples
    --------
    >>> staggered_waits(requests=5, gap=0.0, cold_seconds=2.0, warm_seconds=1.0, ready=(2.5,))
    array([0. , 2. , 2.5, 3. , 3.5])
    """
    count = whole("requests", requests)
    gap = not_negative("gap", gap, unit="s")
    cold = positive("cold_seconds", cold_seconds, unit="s")
    warm = not_negative("warm_seconds", warm_seconds, unit="s")
    opened = [(time, i + 1) for i, time in enumerate(ready) if math.isfinite(time)]
    first = min((time for time, _ in opened), default=math.inf)
    waits = np.zeros(count)
    source = cold
    start = 1
    if not rebalance:
        while start < count and start * gap < first:
            begin = max(start * gap, source)
            waits[start] = begin - start * gap
            source = begin + warm
            start += 1
    free = [(source, 0), *opened]
    heapq.heapify(free)
    for k in range(start, count):
        arrival = k * gap
        time, server = free[0]
        begin = max(arrival, time)
        waits[k] = begin - arrival
        heapq.heapreplace(free, (begin + warm, server))
    return waits


def replicated_burst(case: Burst, rule: Replication) -> Outcome:
    """Return what a replication rule makes of an even burst.

    Parameters
    ----------
    case : Burst
        The burst and the costs of a replica; arrivals ``even``, or any with a span of 0.
    rule : Replication
        The rule; no more than R - 1 copies are made.

    Returns
    -------
    Outcome
        Times, backlog and drain.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain or the arrivals are not even.

    Notes
    -----
    The burst starts at one cold replica and stays there until a copy is ready; nothing else is on
    the replicas. A hit holds a replica for its suffix and its share of a full batch's decode step,
    ``s + V(K) / K``. Exact for that; decode steps of smaller batches are left out.

    References
    ----------
    .. [1] jwlaboratory/bite-the-bullet, commit 26dd06a: the rule of its ``early_rdma`` router.

    Examples
    --------
    >>> from kvcost.routing.cases import Burst, NodeCosts
    >>> node = NodeCosts(
    ...     cold=4.7, hit=0.018, copy=0.11, slots=8, step_fixed=0.013, step_each=0.002)
    >>> burst = Burst(requests=500, span=60.0, arrivals="even", replicas=4, node=node)
    >>> for visibility in "admission", "computed":
    ...     rule = Replication(copies=3, visibility=visibility, rebalance=False)
    ...     print(visibility, round(replicated_burst(burst, rule).mean, 4))
    admission 0.0365
    computed 0.2384
    """
    rule = checked_rule(rule)
    if case.arrivals != "even" and case.span > 0:
        raise InvalidValueError(
            field="arrivals",
            value=case.arrivals,
            bound="must be even",
            remedy="simulate other arrivals",
        )
    requests, replicas = whole("requests", case.requests), whole("replicas", case.replicas)
    node, gap = case.node, case.gap
    slots = whole("slots", node.slots)
    hit = not_negative("hit", node.hit, unit="s")
    warm = hit + node.output_tokens * node.step(slots) / slots
    rule = replace(rule, copies=min(rule.copies, replicas - 1))
    detection = detection_time(case, rule)
    made = rule.copies if math.isfinite(detection) else 0
    last = (requests - 1) * gap
    ready = ready_times(
        rule=replace(rule, copies=made),
        detection=detection,
        source_ready=node.cold - hit,
        copy_seconds=node.copy,
    )
    waits = staggered_waits(
        requests=requests,
        gap=gap,
        cold_seconds=node.cold,
        warm_seconds=warm,
        ready=ready,
        rebalance=rule.rebalance,
    )
    own = np.full(requests, hit)
    own[0] = node.cold
    times = waits + own
    waiting, drain = 0, math.nan
    if ready:
        arrivals = np.arange(requests) * gap
        opened = ready[0]
        waiting = int(((arrivals <= opened) & (arrivals + waits >= opened) & (waits > 0)).sum())
        drain = _drain(waiting, made + 1, warm, gap if opened < last else math.inf)
    return Outcome(
        mean=float(times.mean()),
        longest=float(times.max()),
        detection=detection,
        ready=ready,
        waiting=waiting,
        drain=drain,
        copied=made,
        times=times,
        method="slots of the source and of each copy, merged"
        if rule.rebalance
        else "each request followed, the early ones at the source",
        error=_EXACT,
    )


def _drain(waiting: int, servers: int, warm: float, gap: float) -> float:
    """Return how long a backlog lasts while the rest of the burst keeps coming."""
    share = warm / (servers * gap) if gap > 0 else math.inf
    found = recovery_seconds(
        waiting_requests=float(waiting),
        servers=servers,
        service_seconds=warm,
        background_utilization=min(share, 2.0),
    )
    return float(found)
