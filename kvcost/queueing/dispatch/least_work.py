"""Least work left: every request goes to the server that would start it first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvcost.queueing.general import mgc
from kvcost.queueing.validation import whole

if TYPE_CHECKING:
    from kvcost.queueing.result import Wait
    from kvcost.queueing.service import Service

__all__ = ["least_work_left"]


def least_work_left(
    *,
    servers: int,
    service: Service,
    arrival_rate: float | None = None,
    utilization: float | None = None,
) -> Wait:
    """Return the wait where each request goes to the server with the least work left.

    Parameters
    ----------
    servers : int
        Servers, each with its own queue.
    service : Service
        Law of service times, of finite variance.
    arrival_rate : float, optional
        Requests per second at all servers together; this or `utilization`.
    utilization : float, optional
        Share of the time that a server is busy, below 1.

    Returns
    -------
    Wait
        Of the one queue in front of all servers, in every respect.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the variance of service is infinite.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    Each request starts where and when it would start from one common queue, served first come
    first served, so this is M/G/c without approximation. The dispatcher must know the work left,
    not only the number of requests.

    References
    ----------
    .. [1] M. Harchol-Balter, M. E. Crovella, C. D. Murta (1999), On choosing a task assignment
       policy for a distributed server system, https://doi.org/10.1006/jpdc.1999.1577

    Examples
    --------
    >>> from kvcost.queueing.service import Exponential
    >>> wait = least_work_left(servers=2, service=Exponential(mean=1.0), utilization=0.5)
    >>> round(wait.mean, 9)
    0.333333333
    """
    pooled = mgc(
        servers=whole("servers", servers),
        service=service,
        arrival_rate=arrival_rate,
        utilization=utilization,
    )
    return replace(pooled, method=f"least work left = one queue: {pooled.method}")
