"""A quick estimate of an overloading burst, with the error that it may have."""

from __future__ import annotations

import math

from kvcost.errors import InvalidValueError
from kvcost.queueing.burst.formulas import fluid_burst_wait
from kvcost.queueing.result import ErrorClass, Wait
from kvcost.queueing.validation import not_negative, positive, require_stable, whole

__all__ = ["fluid_burst"]

_LEAST_SIGNAL = 1.5


def fluid_burst(
    *,
    servers: int,
    requests: int,
    window_seconds: float,
    mean_service: float,
    scv: float,
    background_utilization: float,
) -> Wait:
    """Return the mean wait of an overloading burst by the corrected fluid formula.

    Parameters
    ----------
    servers : int
        Servers that share one queue.
    requests : int
        Requests of the burst.
    window_seconds : float
        Time over which they arrive [s].
    mean_service : float
        Mean service time [s].
    scv : float
        Squared coefficient of variation of the service time.
    background_utilization : float
        Share of the servers that other requests take.

    Returns
    -------
    Wait
        An approximation with its range.

    Raises
    ------
    InvalidValueError
        If the burst overloads the servers by less than 1.5 standard deviations of what arrives:
        chance then makes the wait, and the formula would be far too low.
    UnstableError
        If the background alone overloads the servers.

    Notes
    -----
    The formula leaves out the queue that the background keeps, and that services end in steps and
    spread. So the range is half a service time (times the scv where that is above 1) plus the
    background's own heavy-traffic wait, to both sides; random bursts (2 to 16 servers, scv 0
    to 4, background 0 to 0.8) lie inside against exact answers.

    Examples
    --------
    >>> answer = fluid_burst(servers=8, requests=64, window_seconds=4.0, mean_service=1.0,
    ...                      scv=1.0, background_utilization=0.6)
    >>> round(answer.mean, 2), round(answer.mean_low, 2), round(answer.mean_high, 2)
    (2.97, 2.16, 3.78)
    """
    number, count = whole("servers", servers), whole("requests", requests)
    window = positive("window_seconds", window_seconds, unit="s")
    unit = positive("mean_service", mean_service, unit="s")
    spread = not_negative("scv", scv, unit="1")
    busy = not_negative("background_utilization", background_utilization, unit="1")
    require_stable(servers=number, offered_load=busy * number)
    load = count * unit / window + number * busy
    signal = (load - number) * math.sqrt(window / unit / load)
    mean = fluid_burst_wait(
        burst_requests=count,
        burst_seconds=window,
        servers=number,
        service_seconds=unit,
        service_scv=spread,
        background_utilization=busy,
    )
    if signal < _LEAST_SIGNAL or math.isnan(mean):
        raise InvalidValueError(
            field="requests",
            value=requests,
            bound=f"overload the servers by {signal:.2g} standard deviations of what arrives, "
            f"and the fluid formula needs {_LEAST_SIGNAL}",
            remedy="use kvcost.queueing.burst.burst, which is exact",
        )
    margin = unit * (0.5 * max(1.0, spread) + (1 + spread) / (2 * number * (1 - busy)))
    return Wait(
        mean=mean,
        mean_low=max(0.0, mean - margin),
        mean_high=mean + margin,
        probability_of_wait=None,
        method="fluid with the first corrections",
        error=ErrorClass(
            kind="approximation",
            relative=margin / mean,
            text=f"approximation, within {margin:.3g} s of exact answers on bursts tested",
        ),
    )
