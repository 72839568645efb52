"""Erlang's formulas and the M/G/1 mean as traced closed forms, for cells and equations.

The number of servers is a whole number up to 2,000 here, since sheets know the Poisson law at whole
counts only; `kvcost.queueing.erlang` takes any number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from typing import Any

    from kvcost.ops import Num

__all__ = [
    "MOST_SERVERS",
    "erlang_b",
    "erlang_c",
    "mg1_mean_wait",
    "mmc_mean_wait",
    "mmc_wait_percentile",
    "offered_load",
    "utilization",
    "whole_servers",
]

MOST_SERVERS = 2000


def whole_servers(servers: Num) -> Any:
    """Return the condition that a number of servers is whole and at most `MOST_SERVERS`.

    Parameters
    ----------
    servers : Num
        Servers.

    Returns
    -------
    bool or array of bool
        Whether the formulas of this module hold.
    """
    return ops.all_of(servers >= 1, servers <= MOST_SERVERS, ops.equal(ops.floor(servers), servers))


@formula(symbol="A", unit="server")
def offered_load(*, arrival_rate: Num, service_seconds: Num) -> Num:
    """Return the servers that are busy on average.

    Parameters
    ----------
    arrival_rate : Num
        Requests that arrive a second [request/s].
    service_seconds : Num
        Mean service time [s].

    Returns
    -------
    Num
        Offered load in erlangs [server].

    Notes
    -----
    Little's law; any arrivals, any service, as long as nobody is turned away. Exact.

    References
    ----------
    .. [1] J. D. C. Little (1961), A proof for the queuing formula L = lambda W,
       https://doi.org/10.1287/opre.9.3.383

    Examples
    --------
    >>> offered_load(arrival_rate=24, service_seconds=0.3)
    7.199999999999999
    """
    return arrival_rate * service_seconds


@formula(symbol=r"\varrho", unit="1")
def utilization(*, arrival_rate: Num, service_seconds: Num, servers: Num) -> Num:
    """Return the share of the time that a server is busy.

    Parameters
    ----------
    arrival_rate : Num
        Requests that arrive a second [request/s].
    service_seconds : Num
        Mean service time [s].
    servers : Num
        Servers that share one queue [server].

    Returns
    -------
    Num
        Utilization; from 1 on the queue grows without end [1].

    Notes
    -----
    Little's law; any arrivals, any service. Exact below 1.

    References
    ----------
    .. [1] J. D. C. Little (1961), A proof for the queuing formula L = lambda W,
       https://doi.org/10.1287/opre.9.3.383

    Examples
    --------
    >>> utilization(arrival_rate=20, service_seconds=0.25, servers=8)
    0.625
    """
    return arrival_rate * service_seconds / servers


@formula(symbol=r"P_B", unit="1")
def erlang_b(*, servers: Num, offered_load: Num) -> Num:
    """Return the probability that all servers are busy where nobody waits.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
    offered_load : Num
        Servers that are busy on average [server].

    Returns
    -------
    Num
        Share of the requests that are turned away [1].

    Notes
    -----
    Erlang's loss formula. Poisson arrivals, any service with the same mean. Valid for whole
    numbers of servers up to 2,000. Relative error 1e-12.

    References
    ----------
    .. [1] D. L. Jagerman (1974), Some properties of the Erlang loss function,
       https://doi.org/10.1002/j.1538-7305.1974.tb02756.x

    Examples
    --------
    >>> round(erlang_b(servers=10, offered_load=7), 9)
    0.078740883
    """
    busy = ops.poisson_pmf(servers, offered_load) / ops.poisson_cdf(servers, offered_load)
    inside = ops.all_of(whole_servers(servers), offered_load >= 0)
    return ops.where(inside, ops.where(offered_load > 0, busy, 0.0), ops.nan)


@formula(symbol=r"P_W", unit="1")
def erlang_c(*, servers: Num, utilization: Num) -> Num:
    """Return the probability that a request waits in M/M/c.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
    utilization : Num
        Share of the time that a server is busy [1].

    Returns
    -------
    Num
        Probability to wait; 1 from utilization 1 on [1].

    Notes
    -----
    Erlang's delay formula. Poisson arrivals, exponential service. Valid for whole numbers of
    servers up to 2,000. Relative error 1e-12.

    References
    ----------
    .. [1] R. B. Cooper (1981), Introduction to Queueing Theory, 2nd ed., section 3.4.

    Examples
    --------
    >>> round(erlang_c(servers=2, utilization=0.5), 12)
    0.333333333333
    """
    load = servers * utilization
    point, below = ops.poisson_pmf(servers, load), ops.poisson_cdf(servers, load)
    waits = point / (utilization * point + (1 - utilization) * below)
    inside = ops.all_of(whole_servers(servers), utilization >= 0)
    stable = ops.where(utilization < 1, waits, 1.0)
    return ops.where(inside, ops.where(utilization > 0, stable, 0.0), ops.nan)


@formula(symbol=r"W_M", unit="s")
def mmc_mean_wait(*, servers: Num, utilization: Num, service_seconds: Num) -> Num:
    """Return the mean wait in M/M/c.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
    utilization : Num
        Share of the time that a server is busy [1].
    service_seconds : Num
        Mean service time [s].

    Returns
    -------
    Num
        Mean over all requests; infinite from utilization 1 on [s].

    Notes
    -----
    Poisson arrivals, exponential service, first come, first served. Valid for whole numbers of
    servers up to 2,000. Exact.

    References
    ----------
    .. [1] R. B. Cooper (1981), Introduction to Queueing Theory, 2nd ed., section 3.4.

    Examples
    --------
    >>> round(mmc_mean_wait(servers=2, utilization=0.5, service_seconds=3), 12)
    1.0
    """
    waits = erlang_c(servers=servers, utilization=utilization)
    mean = waits * service_seconds / (servers * (1 - utilization))
    return ops.where(utilization < 1, mean, ops.where(utilization >= 1, ops.inf, ops.nan))


@formula(symbol=r"W_q", unit="s")
def mmc_wait_percentile(
    *, servers: Num, utilization: Num, service_seconds: Num, percentile: Num
) -> Num:
    """Return the wait in M/M/c that a share of the requests does not exceed.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
    utilization : Num
        Share of the time that a server is busy [1].
    service_seconds : Num
        Mean service time [s].
    percentile : Num
        Share of the requests that wait no longer [1].

    Returns
    -------
    Num
        Wait; 0 where fewer requests wait, infinite from utilization 1 on [s].

    Notes
    -----
    Poisson arrivals, exponential service, first come, first served. Valid for whole numbers of
    servers up to 2,000 and percentiles between 0 and 1. Exact.

    References
    ----------
    .. [1] R. B. Cooper (1981), Introduction to Queueing Theory, 2nd ed., section 3.4.

    Examples
    --------
    >>> round(
    ...     mmc_wait_percentile(servers=2, utilization=0.5, service_seconds=1, percentile=0.95), 9
    ... )
    1.897119985
    """
    waits = erlang_c(servers=servers, utilization=utilization)
    excess = ops.log(ops.maximum(waits / (1 - percentile), 1.0))
    wait = excess * service_seconds / (servers * (1 - utilization))
    stable = ops.where(utilization < 1, wait, ops.where(utilization >= 1, ops.inf, ops.nan))
    return ops.where(ops.all_of(percentile > 0, percentile < 1), stable, ops.nan)


@formula(symbol=r"W_1", unit="s")
def mg1_mean_wait(*, utilization: Num, service_seconds: Num, service_scv: Num) -> Num:
    """Return the mean wait in M/G/1.

    Parameters
    ----------
    utilization : Num
        Share of the time that a server is busy [1].
    service_seconds : Num
        Mean service time [s].
    service_scv : Num
        Squared coefficient of variation of a service [1].

    Returns
    -------
    Num
        Mean over all requests; infinite from utilization 1 on [s].

    Notes
    -----
    The formula of Pollaczek and Khinchine. Poisson arrivals, any service, one server, first come,
    first served. Exact.

    References
    ----------
    .. [1] L. Kleinrock (1975), Queueing Systems I, section 5.6.

    Examples
    --------
    >>> mg1_mean_wait(utilization=0.5, service_seconds=1, service_scv=0)
    0.5
    """
    mean = utilization * service_seconds * (1 + service_scv) / (2 * (1 - utilization))
    stable = ops.where(utilization < 1, mean, ops.inf)
    return ops.where(ops.all_of(utilization >= 0, service_scv >= 0), stable, ops.nan)
