"""Many servers: from exact waits with few to waits with up to 10,000 and more.

Queues of different sizes look alike where ``beta = (1 - rho) sqrt(c)`` is the same: the ratio of
the mean wait to that of M/M/c then changes by little and smoothly with ``1 / sqrt(c)``. It is
computed exactly at three numbers of servers and continued by the parabola through them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.queueing import phase
from kvcost.queueing.coxian_fit import shortest_rest
from kvcost.queueing.deterministic import mdc
from kvcost.queueing.erlang import erlang_c, mmc_mean_wait
from kvcost.queueing.qbd import mphc
from kvcost.queueing.result import ErrorClass, Wait
from kvcost.queueing.service import Deterministic, Exponential
from kvcost.queueing.validation import load_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvcost.queueing.result import WaitLaw
    from kvcost.queueing.service import Service

__all__ = [
    "StretchedLaw",
    "continued",
    "exact_states",
    "large_servers",
    "mean_at",
    "same_shape",
    "stretched",
]

_ANCHORS = {1: (32, 64, 128), 2: (32, 64, 128), 3: (4, 8, 16), 4: (2, 4, 8)}
_STATED = {2: 0.005, 3: 0.02, 4: 0.05}
_LEAST_LOAD = 0.02
_BELOW_ONE = 1.0 - 1e-16
_MOST_STATES, _MOST_SERVERS = 1000, 400


class StretchedLaw:
    """A wait like another, waited for by other requests and in another unit of time.

    Parameters
    ----------
    base : WaitLaw
        The other.
    share : float
        What each probability is multiplied by.
    seconds : float
        What each wait is multiplied by.
    """

    def __init__(self, base: WaitLaw, *, share: float, seconds: float) -> None:
        self._base, self._share, self._seconds = base, share, seconds

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t` seconds."""
        return min(1.0, self._share * self._base.survival(t / self._seconds))

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed [s]."""
        if 1.0 - p >= self._share:
            return 0.0
        rest = (1.0 - p) / self._share
        return self._seconds * self._base.quantile(min(1.0 - rest, _BELOW_ONE))


def same_shape(servers: int, utilization: float, anchor: int) -> float:
    """Return the utilization at which a number of servers has the same ``(1 - rho) sqrt(c)``.

    Parameters
    ----------
    servers : int
        Servers of the queue asked for.
    utilization : float
        Its utilization.
    anchor : int
        Servers of the queue compared with.

    Returns
    -------
    float
        Not below 0.02.
    """
    return max(_LEAST_LOAD, 1.0 - (1.0 - utilization) * math.sqrt(servers / anchor))


def continued(
    ratio: Callable[[int, float], float],
    *,
    servers: int,
    utilization: float,
    anchors: Sequence[int],
) -> float:
    """Return a ratio at many servers from its values at few, at the same ``(1 - rho) sqrt(c)``.

    Parameters
    ----------
    ratio : callable
        The ratio, from servers and utilization.
    servers : int
        Servers asked for.
    utilization : float
        Utilization there.
    anchors : sequence of int
        Numbers of servers at which the ratio is computed; two give a line, three a parabola.

    Returns
    -------
    float
        The polynomial in ``1 / sqrt(c)`` through the anchors.

    Notes
    -----
    Measured on the exact mean wait in M/D/c over that in M/M/c, ``(1 - rho) sqrt(c)`` from 0.01 to
    5: from 64 and 128 servers, error at most 0.17% at 1,000 and 0.28% at 10,000; from 64, 128 and
    256, at most 0.004% and 0.01%. The wait in M/M/c itself times ``sqrt(c)``, not divided by
    anything: from 64 and 128 at most 0.46% and 0.76% up to 1.5, but -16% and -22% at 3, where the
    wait is a thousandth of a service: this is why ratios are continued, not waits.

    References
    ----------
    .. [1] S. Halfin, W. Whitt (1981), Heavy-traffic limits for queues with many exponential
       servers, https://doi.org/10.1287/opre.29.3.567
    """
    x = 1.0 / math.sqrt(servers)
    places = [1.0 / math.sqrt(anchor) for anchor in anchors]
    total = 0.0
    for i, anchor in enumerate(anchors):
        weight = 1.0
        for j, place in enumerate(places):
            if j != i:
                weight *= (x - place) / (places[i] - place)
        total += weight * ratio(anchor, same_shape(servers, utilization, anchor))
    return total


def exact_states(*, servers: int, phases: int) -> bool:
    """Return whether the exact method for phase-type service answers within seconds.

    Parameters
    ----------
    servers : int
        Servers.
    phases : int
        Phases of the law of service.

    Returns
    -------
    bool
        False where the extrapolation of this module is the better choice.
    """
    few = phase.state_count(services=servers, phases=phases) <= _MOST_STATES
    return few and servers <= _MOST_SERVERS


def mean_at(service: Service, servers: int, utilization: float) -> float:
    """Return the mean wait for a deterministic, exponential or phase-type law, at any size.

    Parameters
    ----------
    service : Service
        Law of service times.
    servers : int
        Servers.
    utilization : float
        Offered load over servers.

    Returns
    -------
    float
        Seconds; exact up to the largest anchor, continued beyond (`continued`).
    """
    if isinstance(service, Exponential):
        return float(
            mmc_mean_wait(servers=servers, utilization=utilization, mean_service=service.mean)
        )
    if isinstance(service, Deterministic):
        return _mean(mdc(servers=servers, mean_service=service.mean, utilization=utilization))
    law = service.phase_type()
    assert law is not None
    anchors = _ANCHORS.get(law.phases, (1, 2, 4))
    if servers <= anchors[-1]:
        return _mean(mphc(servers=servers, service=law, utilization=utilization))
    unit = law.scaled(1.0 / law.mean)

    def ratio(count: int, rho: float) -> float:
        exact = mphc(servers=count, service=unit, utilization=rho)
        return _mean(exact) / float(mmc_mean_wait(servers=count, utilization=rho))

    found = continued(ratio, servers=servers, utilization=utilization, anchors=anchors)
    # between the limits of light and of heavy traffic
    ends = sorted([servers * shortest_rest(unit, servers), (1.0 + unit.scv) / 2.0])
    found = min(max(found, ends[0]), ends[1])
    return found * float(
        mmc_mean_wait(servers=servers, utilization=utilization, mean_service=law.mean)
    )


def large_servers(
    *,
    servers: int,
    service: Service,
    arrival_rate: float | None = None,
    utilization: float | None = None,
) -> Wait:
    """Return the wait of phase-type service at many servers, by extrapolation.

    Parameters
    ----------
    servers : int
        Servers.
    service : Service
        Phase-type law of service times.
    arrival_rate : float, optional
        Requests per second; this or `utilization`.
    utilization : float, optional
        Offered load over servers, below 1.

    Returns
    -------
    Wait
        Approximate, with the law of the largest anchor in another unit of time.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    Poisson arrivals, first come first served; `continued` states the error measured on M/D/c. For
    two phases the anchors are 32, 64 and 128 servers; measured at 256 with Erlang-2 and
    hyperexponential service of scv 4 and ``(1 - rho) sqrt(c)`` up to 5: at most 0.05%. Three and
    four phases have anchors up to 16 and 8 servers.

    References
    ----------
    .. [1] S. Halfin, W. Whitt (1981), Heavy-traffic limits for queues with many exponential
       servers, https://doi.org/10.1287/opre.29.3.567

    Examples
    --------
    >>> from kvcost.queueing import Erlang
    >>> wait = large_servers(servers=1000, service=Erlang(stages=2, mean=1.0), utilization=0.98)
    >>> wait.error.kind, round(wait.mean, 3)
    ('approximation', 0.016)
    """
    load = load_of(
        servers=servers,
        mean_service=service.mean,
        arrival_rate=arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    count, rho = int(load.servers), load.utilization
    law = service.phase_type()
    phases = law.phases if law is not None else 1
    mean = mean_at(service, count, rho)
    anchor = min(_ANCHORS.get(phases, (1, 2, 4))[-1], count)
    near = same_shape(count, rho, anchor)
    known = mphc(servers=anchor, service=service, utilization=near)
    delayed, tail = stretched(
        known, mean=mean, servers=count, utilization=rho, anchor=anchor, near=near
    )
    stated = _STATED.get(phases, 0.1)
    warnings = []
    if near <= _LEAST_LOAD:
        warnings.append("few requests wait, so the relative error of the wait is not known")
    return Wait(
        mean=mean,
        mean_low=mean * (1.0 - stated),
        mean_high=mean * (1.0 + stated),
        method=f"M/PH/c continued to {count} servers from at most {anchor}",
        error=ErrorClass(
            kind="approximation",
            relative=stated,
            text=f"approximation, extrapolated in the number of servers, about {stated:.1%}",
        ),
        warnings=tuple(warnings),
        probability_of_wait=delayed,
        law=tail,
    )


def stretched(
    known: Wait, *, mean: float, servers: int, utilization: float, anchor: int, near: float
) -> tuple[float, WaitLaw]:
    """Return probability to wait and law at many servers from a smaller queue alike.

    Parameters
    ----------
    known : Wait
        Wait of the smaller queue, with its law.
    mean : float
        Mean wait asked for [s].
    servers : int
        Servers asked for.
    utilization : float
        Utilization there.
    anchor : int
        Servers of the smaller queue.
    near : float
        Utilization there.

    Returns
    -------
    tuple of float and WaitLaw
        Probability to wait, and law of the wait.
    """
    there = erlang_c(servers=servers, offered_load=servers * utilization)
    here = erlang_c(servers=anchor, offered_load=anchor * near)
    assert known.law is not None
    assert known.probability_of_wait is not None
    share = there / here if here > 0 else 0.0
    if share * _mean(known) <= 0:  # nobody waits, to the last digit
        return 0.0, StretchedLaw(known.law, share=0.0, seconds=1.0)
    scale = mean / (_mean(known) * share)
    delayed = min(1.0, known.probability_of_wait * share)
    return delayed, StretchedLaw(known.law, share=share, seconds=scale)


def _mean(wait: Wait) -> float:
    assert wait.mean is not None
    return wait.mean
