"""Closed forms of bursts that can be traced into equations, cells and sliders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "bulk_single_server_wait",
    "cold_then_warm_wait",
    "copy_batch_mean_wait",
    "even_burst_longest_wait",
    "even_burst_mean_wait",
    "fluid_burst_wait",
    "recovery_seconds",
]


@formula(symbol=r"\bar{w}_e", unit="s")
def even_burst_mean_wait(
    *, burst_requests: Num, servers: Num, arrival_gap: Num, service_seconds: Num
) -> Num:
    """Return the mean wait in an evenly spaced burst of equal services.

    Parameters
    ----------
    burst_requests : Num
        Requests of the burst [request].
    servers : Num
        Servers that share one queue [server].
    arrival_gap : Num
        Time from one arrival to the next, 0 for a batch [s].
    service_seconds : Num
        Mean service time [s].

    Returns
    -------
    Num
        Mean over the requests of the burst [s].

    Notes
    -----
    Every service takes `service_seconds`, the servers are empty at the first arrival, and the
    queue is first come, first served: request k, from 0, waits
    ``floor(k / servers) max(service - servers gap, 0)``. Exact.

    References
    ----------
    .. [1] Kleinrock, Queueing Systems I, 1975, section 1.2 (the recursion of waits), with servers
       taken in turn.

    Examples
    --------
    >>> even_burst_mean_wait(burst_requests=40, servers=4, arrival_gap=0, service_seconds=1)
    4.5
    """
    turns = ops.floor(burst_requests / servers)
    rest = burst_requests - turns * servers
    late = ops.maximum(service_seconds - servers * arrival_gap, 0.0 * service_seconds)
    return late * (servers * turns * (turns - 1) / 2 + rest * turns) / burst_requests


@formula(symbol=r"\hat{w}_e", unit="s")
def even_burst_longest_wait(
    *, burst_requests: Num, servers: Num, arrival_gap: Num, service_seconds: Num
) -> Num:
    """Return the longest wait in an evenly spaced burst of equal services.

    Parameters
    ----------
    burst_requests : Num
        Requests of the burst [request].
    servers : Num
        Servers that share one queue [server].
    arrival_gap : Num
        Time from one arrival to the next, 0 for a batch [s].
    service_seconds : Num
        Mean service time [s].

    Returns
    -------
    Num
        Wait of the last request [s].

    Notes
    -----
    Assumptions of `even_burst_mean_wait`. Exact.

    References
    ----------
    .. [1] Kleinrock, Queueing Systems I, 1975, section 1.2 (the recursion of waits), with servers
       taken in turn.

    Examples
    --------
    >>> even_burst_longest_wait(burst_requests=40, servers=4, arrival_gap=0, service_seconds=1)
    9.0
    """
    late = ops.maximum(service_seconds - servers * arrival_gap, 0.0 * service_seconds)
    return ops.floor((burst_requests - 1) / servers) * late


@formula(symbol=r"w_c", unit="s")
def cold_then_warm_wait(
    *, earlier_requests: Num, servers: Num, arrival_gap: Num, cold_seconds: Num, warm_seconds: Num
) -> Num:
    """Return the wait of one request of an even burst at servers that start cold.

    Parameters
    ----------
    earlier_requests : Num
        Requests of the burst that arrived before [request].
    servers : Num
        Servers that share one queue [server].
    arrival_gap : Num
        Time from one arrival to the next, 0 for a batch [s].
    cold_seconds : Num
        First service at a server [s].
    warm_seconds : Num
        Every later service there [s].

    Returns
    -------
    Num
        Wait of the request [s].

    Notes
    -----
    Exact if warm services are no shorter than ``(servers - 1) gap`` or the gap is 0; otherwise
    slots of different servers mix, and the sorted slots of `cold_then_warm_waits` are exact.

    References
    ----------
    .. [1] Kleinrock, Queueing Systems I, 1975, section 1.2 (the recursion of waits), with servers
       taken in turn.

    Examples
    --------
    >>> cold_then_warm_wait(
    ...     earlier_requests=9, servers=4, arrival_gap=0, cold_seconds=3, warm_seconds=0.5)
    3.5
    """
    turn = ops.floor(earlier_requests / servers)
    spacing = servers * arrival_gap
    wait = (cold_seconds - spacing) + (turn - 1) * (warm_seconds - spacing)
    return ops.where(turn < 1, 0.0 * wait, ops.maximum(wait, 0.0 * wait))


@formula(symbol=r"\bar{w}_x", unit="s")
def copy_batch_mean_wait(
    *,
    burst_requests: Num,
    servers: Num,
    cold_seconds: Num,
    warm_seconds: Num,
    copy_ready_seconds: Num,
) -> Num:
    """Return the mean wait of a batch at one server whose prefix others get as a copy.

    Parameters
    ----------
    burst_requests : Num
        Requests of the burst [request].
    servers : Num
        Servers that share one queue [server].
    cold_seconds : Num
        First service at a server [s].
    warm_seconds : Num
        Every later service there [s].
    copy_ready_seconds : Num
        When the copy can be used at the other servers [s].

    Returns
    -------
    Num
        Mean over the requests of the burst, nan for a copy that is ready before its source [s].

    Notes
    -----
    A fluid limit: all requests arrive at once, the first server computes the prefix, and what it
    has not served when the copy is ready is shared by all at equal rates. Within 0.5% of
    the sorted slots from eight requests a server on; `copy_waits` is exact.

    References
    ----------
    .. [1] Newell, Applications of Queueing Theory, 1982, chapter 2 (deterministic fluid queues).

    Examples
    --------
    >>> copy_batch_mean_wait(burst_requests=64, servers=8, cold_seconds=8, warm_seconds=0.3,
    ...                      copy_ready_seconds=9)
    9.728...
    """
    others = burst_requests - 1
    alone = copy_ready_seconds - cold_seconds
    early = ops.where(others * warm_seconds <= alone, others, alone / warm_seconds)
    late = others - early
    first = early * (cold_seconds + (early - 1) * warm_seconds / 2)
    second = late * (copy_ready_seconds + (late / servers - 1) * warm_seconds / 2)
    mean = (first + second) / burst_requests
    return ops.where(copy_ready_seconds >= cold_seconds, mean, ops.nan)


@formula(symbol=r"T_r", unit="s")
def recovery_seconds(
    *,
    waiting_requests: Num,
    servers: Num,
    service_seconds: Num,
    background_utilization: Num,
) -> Num:
    """Return the time until a backlog is gone while other requests keep coming.

    Parameters
    ----------
    waiting_requests : Num
        Requests that wait when the burst ends [request].
    servers : Num
        Servers that share one queue [server].
    service_seconds : Num
        Mean service time [s].
    background_utilization : Num
        Share of the servers' time that other requests take [1].

    Returns
    -------
    Num
        Time until the queue is back where the background alone keeps it, infinite at full
        background load [s].

    Notes
    -----
    A fluid limit: good where the backlog is many requests a server, short where it is few, since
    the queue's own fluctuations take longer near full load.

    References
    ----------
    .. [1] Newell, Applications of Queueing Theory, 1982, chapter 2 (deterministic fluid queues).

    Examples
    --------
    >>> recovery_seconds(
    ...     waiting_requests=36, servers=4, service_seconds=1, background_utilization=0.5)
    18.0
    """
    time = waiting_requests * service_seconds / (servers * (1 - background_utilization))
    return ops.where(background_utilization < 1, time, ops.inf)


@formula(symbol=r"\bar{w}_f", unit="s")
def fluid_burst_wait(
    *,
    burst_requests: Num,
    burst_seconds: Num,
    servers: Num,
    service_seconds: Num,
    service_scv: Num,
    background_utilization: Num,
) -> Num:
    """Return the mean wait of an overloading burst on background load, as a corrected fluid.

    Parameters
    ----------
    burst_requests : Num
        Requests of the burst [request].
    burst_seconds : Num
        Time over which the burst arrives [s].
    servers : Num
        Servers that share one queue [server].
    service_seconds : Num
        Mean service time [s].
    service_scv : Num
        Squared coefficient of variation of the service time [1].
    background_utilization : Num
        Share of the servers' time that other requests take [1].

    Returns
    -------
    Num
        Mean over the requests of the burst, nan where the burst does not overload the servers
        before it ends [s].

    Notes
    -----
    The free servers fill first, then the backlog grows at the excess rate. The queue that the
    background keeps, and the steps and the spread in which services end, are left out: a
    few percent for exponential services and strong bursts, far more for weak or short ones.
    `fluid_burst` states the error and refuses bursts that hardly overload.

    References
    ----------
    .. [1] Newell, Applications of Queueing Theory, 1982, chapter 2 (deterministic fluid queues).

    Examples
    --------
    >>> round(fluid_burst_wait(burst_requests=64, burst_seconds=4, servers=8, service_seconds=1,
    ...                        service_scv=1, background_utilization=0.6), 3)
    2.971
    """
    time = burst_seconds / service_seconds
    load = burst_requests / time + servers * background_utilization
    excess = load - servers
    over = ops.maximum(excess, 1e-12 * servers)
    fill = ops.log((load - servers * background_utilization) / over)
    grown = excess * (time - fill) * (time - fill) / (2 * time * servers)
    rest = (1 + service_scv) / (2 * servers) * (1 - fill / time)
    good = ops.all_of(excess > 0, fill < time)
    return ops.where(good, service_seconds * (grown + rest), ops.nan)


@formula(symbol=r"\bar{w}_X", unit="s")
def bulk_single_server_wait(
    *,
    utilization: Num,
    service_seconds: Num,
    service_scv: Num,
    batch_mean: Num,
    batch_pairs: Num,
) -> Num:
    """Return the mean wait at one server of requests that arrive in batches at Poisson times.

    Parameters
    ----------
    utilization : Num
        Share of the time that a server is busy [1].
    service_seconds : Num
        Mean service time [s].
    service_scv : Num
        Squared coefficient of variation of the service time [1].
    batch_mean : Num
        Mean number of requests of a batch [1].
    batch_pairs : Num
        Mean of that number times itself less one [1].

    Returns
    -------
    Num
        Mean over all requests, infinite at full load [s].

    Notes
    -----
    M^[X]/G/1, first come, first served; exact for any law of sizes and services with a finite
    variance.

    References
    ----------
    .. [1] Gaver 1959, Imbedded Markov Chain Analysis of a Waiting-Line Process in Continuous
       Time, doi:10.1214/aoms/1177706203.

    Examples
    --------
    >>> round(bulk_single_server_wait(utilization=0.8, service_seconds=1, service_scv=0.5,
    ...                               batch_mean=4, batch_pairs=12), 9)
    10.5
    """
    alone = utilization * (1 + service_scv) / 2
    together = batch_pairs / (2 * batch_mean)
    wait = service_seconds * (alone + together) / (1 - utilization)
    return ops.where(utilization < 1, wait, ops.inf)
