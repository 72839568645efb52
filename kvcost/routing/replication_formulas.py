"""When copies of a prefix are ready, and what has piled up by then, as traced closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "chained_copies_seconds",
    "copy_backlog_requests",
    "copy_ready_time",
    "even_detection_seconds",
    "following_copy_ready_time",
    "pair_detection_seconds",
    "serial_copies_seconds",
    "tree_copies_seconds",
]


@formula(symbol=r"T_{d,e}", unit="s")
def even_detection_seconds(*, repeats: Num, arrival_gap: Num, detection_window: Num) -> Num:
    """Return when an even burst is noticed, from its first arrival on.

    Parameters
    ----------
    repeats : Num
        Arrivals that make a burst [request].
    arrival_gap : Num
        Time from one arrival to the next, 0 for a batch [s].
    detection_window : Num
        Time within which they have to come [s].

    Returns
    -------
    Num
        Time of the arrival that is noticed; infinite where the gaps are too long [s].

    Notes
    -----
    Exact. The burst has at least that many requests.

    References
    ----------
    .. [1] jwlaboratory/bite-the-bullet, commit 26dd06a: the rule of its ``early_rdma`` router.

    Examples
    --------
    >>> even_detection_seconds(repeats=3, arrival_gap=0.25, detection_window=1)
    0.5
    """
    time = (repeats - 1) * arrival_gap
    return ops.where(time <= detection_window, time, ops.inf)


@formula(symbol=r"T_{d,2}", unit="s")
def pair_detection_seconds(*, arrival_rate: Num, detection_window: Num) -> Num:
    """Return the mean time to the first two Poisson arrivals close to each other.

    Parameters
    ----------
    arrival_rate : Num
        Requests that arrive a second [request/s].
    detection_window : Num
        Time within which they have to come [s].

    Returns
    -------
    Num
        Mean from the first arrival on [s].

    Notes
    -----
    Exact for endless arrivals: the gaps are independent, the first one no longer than the window
    stops, so the mean is the mean gap over the chance of such a gap.

    References
    ----------
    .. [1] A. Wald (1944), On cumulative sums of random variables,
       https://doi.org/10.1214/aoms/1177731235

    Examples
    --------
    >>> round(pair_detection_seconds(arrival_rate=2, detection_window=0.5), 6)
    0.790988
    """
    return -1 / (arrival_rate * ops.expm1(-arrival_rate * detection_window))


@formula(symbol=r"T_{x,1}", unit="s")
def copy_ready_time(*, detection_seconds: Num, source_ready_seconds: Num, copy_seconds: Num) -> Num:
    """Return when a copy that waits for the whole prefix can be used.

    Parameters
    ----------
    detection_seconds : Num
        When a burst is noticed [s].
    source_ready_seconds : Num
        When the prefix is computed [s].
    copy_seconds : Num
        Time of one copy at full bandwidth [s].

    Returns
    -------
    Num
        From the first arrival on [s].

    Notes
    -----
    Exact. A router that takes a prefix for present once it is admitted has a
    `source_ready_seconds` of 0.

    References
    ----------
    .. [1] jwlaboratory/bite-the-bullet, commit 26dd06a: the rule of its ``early_rdma`` router.

    Examples
    --------
    >>> round(copy_ready_time(detection_seconds=0.12, source_ready_seconds=4.68,
    ...                       copy_seconds=0.11), 9)
    4.79
    """
    return ops.maximum(detection_seconds, source_ready_seconds) + copy_seconds


@formula(symbol=r"T_{x,L}", unit="s")
def following_copy_ready_time(
    *,
    detection_seconds: Num,
    source_ready_seconds: Num,
    copy_seconds: Num,
    model_layers: Num,
) -> Num:
    """Return when a copy that follows the prefill layer by layer can be used.

    Parameters
    ----------
    detection_seconds : Num
        When a burst is noticed [s].
    source_ready_seconds : Num
        When the prefix is computed [s].
    copy_seconds : Num
        Time of one copy at full bandwidth [s].
    model_layers : Num
        Layers of the model [layer].

    Returns
    -------
    Num
        From the first arrival on [s].

    Notes
    -----
    The prefill starts at the first arrival, in one pass over the prompt, and its layers take equal
    times, as do their copies: two machines in line. Either the prefill is the slower one, and the
    copy ends one layer after it, or the copy runs on from the first layer it finds. Exact for equal
    layers; a prefill in chunks of tokens is followed chunk by chunk instead.

    References
    ----------
    .. [1] S. M. Johnson (1954), Optimal two- and three-stage production schedules with setup times
       included, https://doi.org/10.1002/nav.3800010110

    Examples
    --------
    >>> following_copy_ready_time(detection_seconds=0.5, source_ready_seconds=4,
    ...                           copy_seconds=0.25, model_layers=50)
    4.005
    """
    slow_prefill = source_ready_seconds + copy_seconds / model_layers
    first = source_ready_seconds / model_layers
    slow_copy = ops.maximum(detection_seconds, first) + copy_seconds
    return ops.maximum(slow_prefill, slow_copy)


@formula(symbol=r"t_{x,s}", unit="s")
def serial_copies_seconds(*, copy_seconds: Num, prefix_copies: Num) -> Num:
    """Return the time of copies that one network card sends one after another.

    Parameters
    ----------
    copy_seconds : Num
        Time of one copy at full bandwidth [s].
    prefix_copies : Num
        Copies beside the source [copy].

    Returns
    -------
    Num
        Until the last one is there [s].

    Notes
    -----
    The i-th is there after i copies' time. All at once at a share of the bandwidth would all end
    with the last.

    References
    ----------
    .. [1] R. M. Karp, A. Sahay, E. E. Santos, K. E. Schauser (1993), Optimal broadcast and
       summation in the LogP model, https://doi.org/10.1145/165231.165250

    Examples
    --------
    >>> serial_copies_seconds(copy_seconds=0.5, prefix_copies=3)
    1.5
    """
    return copy_seconds * prefix_copies


@formula(symbol=r"t_{x,c}", unit="s")
def chained_copies_seconds(*, copy_seconds: Num, prefix_copies: Num, model_layers: Num) -> Num:
    """Return the time of copies handed on from replica to replica, layer by layer.

    Parameters
    ----------
    copy_seconds : Num
        Time of one copy at full bandwidth [s].
    prefix_copies : Num
        Copies beside the source [copy].
    model_layers : Num
        Layers of the model [layer].

    Returns
    -------
    Num
        Until the last one is there [s].

    Notes
    -----
    Each replica sends a layer on while it receives the next: the i-th copy ends i - 1 layers after
    the first. Every card sends and receives at full bandwidth at once.

    References
    ----------
    .. [1] R. M. Karp, A. Sahay, E. E. Santos, K. E. Schauser (1993), Optimal broadcast and
       summation in the LogP model, https://doi.org/10.1145/165231.165250

    Examples
    --------
    >>> chained_copies_seconds(copy_seconds=0.5, prefix_copies=3, model_layers=50)
    0.52
    """
    return copy_seconds * (1 + (prefix_copies - 1) / model_layers)


@formula(symbol=r"t_{x,t}", unit="s")
def tree_copies_seconds(*, copy_seconds: Num, prefix_copies: Num) -> Num:
    """Return the time of copies that every replica with the prefix helps to send.

    Parameters
    ----------
    copy_seconds : Num
        Time of one copy at full bandwidth [s].
    prefix_copies : Num
        Copies beside the source [copy].

    Returns
    -------
    Num
        Until the last one is there [s].

    Notes
    -----
    The replicas that have it double in each round: the i-th copy is there after
    ``ceil(log2(i + 1))`` copies' time.

    References
    ----------
    .. [1] R. M. Karp, A. Sahay, E. E. Santos, K. E. Schauser (1993), Optimal broadcast and
       summation in the LogP model, https://doi.org/10.1145/165231.165250

    Examples
    --------
    >>> tree_copies_seconds(copy_seconds=0.5, prefix_copies=3)
    1.0
    """
    return copy_seconds * ops.ceil(ops.log(prefix_copies + 1) / ops.log(2.0))


@formula(symbol=r"n_{x,b}", unit="request")
def copy_backlog_requests(
    *,
    burst_requests: Num,
    arrival_gap: Num,
    cold_seconds: Num,
    warm_seconds: Num,
    copy_ready_seconds: Num,
) -> Num:
    """Return how many requests of an even burst wait at the source when a copy is ready.

    Parameters
    ----------
    burst_requests : Num
        Requests of the burst [request].
    arrival_gap : Num
        Time from one arrival to the next, 0 for a batch [s].
    cold_seconds : Num
        First service at a server [s].
    warm_seconds : Num
        Every later service there [s].
    copy_ready_seconds : Num
        When the copy can be used at the other servers [s].

    Returns
    -------
    Num
        Requests that have come and not begun [request].

    Notes
    -----
    Exact while the source has not run out of work since its first prefill; an arrival or a start at
    that very moment counts as past.

    References
    ----------
    .. [1] Newell, Applications of Queueing Theory, 1982, chapter 1 (cumulative arrivals and
       departures).

    Examples
    --------
    >>> copy_backlog_requests(burst_requests=500, arrival_gap=0.1, cold_seconds=4.7,
    ...                       warm_seconds=0.02, copy_ready_seconds=4.79)
    42.0
    """
    steps = 1 + ops.floor(copy_ready_seconds / arrival_gap)
    come = ops.where(burst_requests * arrival_gap <= copy_ready_seconds, burst_requests, steps)
    late = copy_ready_seconds - cold_seconds
    hits = 2 + ops.floor(late / warm_seconds)
    begun = ops.where(burst_requests * warm_seconds <= late, burst_requests, hits)
    served = ops.where(late < 0, 1.0, begun)
    return ops.maximum(come - served, 0.0)
