"""Random split: every request goes to a server drawn at random."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvcost.queueing.single import mg1
from kvcost.queueing.validation import load_of

if TYPE_CHECKING:
    from kvcost.queueing.result import Wait
    from kvcost.queueing.service import Service

__all__ = ["random_split"]


def random_split(
    *,
    servers: int,
    service: Service,
    arrival_rate: float | None = None,
    utilization: float | None = None,
) -> Wait:
    """Return the wait where each request goes to a server drawn at random.

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
        Exact, with its distribution.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the variance of service is infinite.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    Poisson arrivals; a random share of a Poisson stream is a Poisson stream, so each server is
    M/G/1 and the wait does not depend on the number of servers. First come first served.

    References
    ----------
    .. [1] L. Takacs (1962), Introduction to the Theory of Queues, chapter 1.

    Examples
    --------
    >>> from kvcost.queueing.service import Exponential
    >>> round(random_split(servers=8, service=Exponential(mean=1.0), utilization=0.8).mean, 9)
    4.0
    """
    load = load_of(
        servers=servers,
        mean_service=service.mean,
        arrival_rate=arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    alone = mg1(service=service, utilization=load.utilization)
    return replace(alone, method=f"random split: {alone.method}")
