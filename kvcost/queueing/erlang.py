"""M/M/c: Erlang B and C, mean wait and percentiles, for any number of servers.

Everything follows from the Poisson point and distribution functions, so the number of servers may
be real and as large as 1e5, and the time an element costs does not depend on it. The scalar path
works on plain floats. Large arrays are computed in blocks on all cores.
"""

from __future__ import annotations

import math
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.ops import poisson
from kvcost.queueing.exponential_tail import ExponentialTail
from kvcost.queueing.result import Wait, exact_wait
from kvcost.queueing.validation import load_of, positive

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    Kernel = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

__all__ = [
    "ExponentialTail",
    "erlang_b",
    "erlang_c",
    "mmc",
    "mmc_mean_wait",
    "mmc_wait_quantile",
]

_BLOCK = 8192
_PARALLEL_FROM = 65536
_LOWEST_LOG = -690.0
_RELATIVE = 2e-13


def _blocking_scalar(servers: float, relative: float) -> float:
    """Return Erlang B at load ``servers * (1 + relative)``."""
    if relative <= -1.0:
        return 0.0 if relative == -1.0 else math.nan
    log = poisson.log_pmf(servers, relative)
    if log < _LOWEST_LOG:
        if relative <= 0:
            return 0.0
        return float(1.0 / _inverse_blocking(servers, servers * (1.0 + relative)))
    return math.exp(log) / poisson.cdf_scalar(servers, servers * (1.0 + relative))


def _inverse_blocking(servers: Any, load: Any) -> Any:
    """Return 1/B where the load is many deviations above the servers, by a continued fraction.

    ``1/B = a exp(a) a^(-c-1) Gamma(c + 1, a)``; Legendre's fraction, evaluated from its end.
    """
    tail: Any = 0.0 * load
    for j in range(200, 0, -1):
        tail = j * (servers + 1 - j) / (load + 2 * j - servers + tail)
    return load / (load - servers + tail)


def _blocking(servers: NDArray[np.float64], relative: NDArray[np.float64]) -> Any:
    from scipy.special import gammaincc  # noqa: PLC0415 - loaded when asked

    inside = (servers > 0) & (relative > -1) & np.isfinite(servers) & np.isfinite(relative)
    everywhere = bool(inside.all())
    c = servers if everywhere else np.where(inside, servers, 1.0)
    d = relative if everywhere else np.where(inside, relative, -0.5)
    log = poisson.log_pmf(c, d)
    load = c * (1.0 + d)
    value = np.exp(log) / gammaincc(c + 1.0, load)
    flooded = (log < _LOWEST_LOG) & (d > 0)
    if flooded.any():
        value[flooded] = 1.0 / _inverse_blocking(c[flooded], load[flooded])
    if not everywhere:
        value = np.where(inside, value, np.where((relative == -1) & (servers > 0), 0.0, np.nan))
    return value


@cache
def _pool() -> ThreadPoolExecutor | None:
    cores = os.cpu_count() or 1
    if cores == 1:
        return None
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only for large arrays

    return ThreadPoolExecutor(max_workers=cores)


def _blockwise(kernel: Kernel, first: Any, second: Any) -> Any:
    """Apply a kernel to broadcast arrays in blocks that stay in the cache."""
    one = np.asarray(first, dtype=float)
    two = np.asarray(second, dtype=float)
    shape = np.broadcast_shapes(one.shape, two.shape)
    one = np.ascontiguousarray(np.broadcast_to(one, shape)).ravel()
    two = np.ascontiguousarray(np.broadcast_to(two, shape)).ravel()
    out = np.empty(one.size)

    def run(start: int) -> None:
        part = slice(start, start + _BLOCK)
        with np.errstate(all="ignore"):
            out[part] = kernel(one[part], two[part])

    starts = range(0, one.size, _BLOCK)
    pool = _pool() if one.size >= _PARALLEL_FROM else None
    if pool is None:
        for start in starts:
            run(start)
    else:
        for _ in pool.map(run, starts):
            pass
    return out.reshape(shape)


def _relative_load(servers: Any, offered_load: Any) -> Any:
    with np.errstate(all="ignore"):
        c = np.asarray(servers, dtype=float)
        return (np.asarray(offered_load, dtype=float) - c) / c


def _floats(*values: Any) -> bool:
    return all(type(value) is float or type(value) is int for value in values)


def erlang_b(*, servers: Any, offered_load: Any) -> Any:
    """Return the probability that all servers are busy where nobody waits (Erlang's loss formula).

    Parameters
    ----------
    servers : float or array
        Servers, above 0, not necessarily whole.
    offered_load : float or array
        Arrival rate times mean service time, 0 or more.

    Returns
    -------
    float or array
        Probability; nan outside the domain.

    Notes
    -----
    Poisson arrivals; any service law with the same mean. Relative error below 1e-12 for up to 1e5
    servers. Between whole numbers it is the usual continuation by the incomplete gamma function.

    References
    ----------
    .. [1] D. L. Jagerman (1974), Some properties of the Erlang loss function,
       https://doi.org/10.1002/j.1538-7305.1974.tb02756.x

    Examples
    --------
    >>> round(erlang_b(servers=10, offered_load=7), 10)
    0.078740883
    """
    if _floats(servers, offered_load):
        c, a = float(servers), float(offered_load)
        if not (0 < c < math.inf and 0 <= a < math.inf):
            return math.nan
        return _blocking_scalar(c, (a - c) / c)
    return _scalar_out(_blockwise(_blocking, servers, _relative_load(servers, offered_load)))


def _scalar_out(value: Any) -> Any:
    return float(value) if value.ndim == 0 else value


def _delay_scalar(servers: float, relative: float) -> float:
    if relative >= 0:
        return 1.0 if math.isfinite(relative) else math.nan
    blocked = _blocking_scalar(servers, relative)
    return blocked / (blocked * (1.0 + relative) - relative)


def _delay(servers: NDArray[np.float64], relative: NDArray[np.float64]) -> Any:
    full = relative >= 0
    if not full.any():
        blocked = _blocking(servers, relative)
        return blocked / (blocked * (1.0 + relative) - relative)
    below = np.where(full, -0.5, relative)
    blocked = _blocking(servers, below)
    value = blocked / (blocked * (1.0 + below) - below)
    return np.where(full, np.where(np.isfinite(relative) & (servers > 0), 1.0, np.nan), value)


def erlang_c(*, servers: Any, offered_load: Any) -> Any:
    """Return the probability that a request waits in M/M/c (Erlang's delay formula).

    Parameters
    ----------
    servers : float or array
        Servers, above 0, not necessarily whole.
    offered_load : float or array
        Arrival rate times mean service time, 0 or more.

    Returns
    -------
    float or array
        Probability; 1 where the load reaches the servers, nan outside the domain.

    Notes
    -----
    Poisson arrivals, exponential service. Relative error below 1e-12 for up to 1e5 servers.

    References
    ----------
    .. [1] R. B. Cooper (1981), Introduction to Queueing Theory, 2nd ed., section 3.4.

    Examples
    --------
    >>> round(erlang_c(servers=2, offered_load=1), 12)
    0.333333333333
    """
    if _floats(servers, offered_load):
        c, a = float(servers), float(offered_load)
        if not (0 < c < math.inf and 0 <= a < math.inf):
            return math.nan
        return _delay_scalar(c, (a - c) / c)
    return _scalar_out(_blockwise(_delay, servers, _relative_load(servers, offered_load)))


def mmc_mean_wait(*, servers: Any, utilization: Any, mean_service: Any = 1.0) -> Any:
    """Return the mean wait in M/M/c.

    Parameters
    ----------
    servers : float or array
        Servers, above 0, not necessarily whole.
    utilization : float or array
        Offered load over servers, 0 or more.
    mean_service : float or array
        Mean service time [s].

    Returns
    -------
    float or array
        Seconds; inf from utilization 1 on, nan outside the domain.

    Notes
    -----
    Poisson arrivals, exponential service, first come first served.

    References
    ----------
    .. [1] R. B. Cooper (1981), Introduction to Queueing Theory, 2nd ed., section 3.4.

    Examples
    --------
    >>> round(mmc_mean_wait(servers=2, utilization=0.5), 12)
    0.333333333333
    """
    if _floats(servers, utilization, mean_service):
        return _mean_wait_scalar(float(servers), float(utilization), float(mean_service))
    c, rho = np.asarray(servers, dtype=float), np.asarray(utilization, dtype=float)
    mean = np.asarray(mean_service, dtype=float)
    with np.errstate(all="ignore"):
        idle = c * (1.0 - rho)
        value = _blockwise(_delay, c, rho - 1.0) * mean / np.where(rho < 1, idle, 1.0)
        value = np.where((rho >= 1) & np.isfinite(value), np.inf, value)
        return _scalar_out(np.where((mean >= 0) & np.isfinite(mean), value, np.nan))


def _mean_wait_scalar(c: float, rho: float, mean: float) -> float:
    if not (0 < c < math.inf and 0 <= rho < math.inf and 0 <= mean < math.inf):
        return math.nan
    if rho >= 1:
        return math.inf
    return _delay_scalar(c, rho - 1.0) * mean / (c * (1.0 - rho))


def mmc_wait_quantile(
    *, servers: Any, utilization: Any, quantile: Any, mean_service: Any = 1.0
) -> Any:
    """Return the wait in M/M/c that a share of the requests does not exceed.

    Parameters
    ----------
    servers : float or array
        Servers, above 0, not necessarily whole.
    utilization : float or array
        Offered load over servers, 0 or more.
    quantile : float or array
        Share, above 0 and below 1.
    mean_service : float or array
        Mean service time [s].

    Returns
    -------
    float or array
        Seconds; 0 where fewer wait, inf from utilization 1 on, nan outside the domain.

    Notes
    -----
    ``P(W > t) = C exp(-c (1 - rho) t / mean_service)``.

    References
    ----------
    .. [1] R. B. Cooper (1981), Introduction to Queueing Theory, 2nd ed., section 3.4.

    Examples
    --------
    >>> round(mmc_wait_quantile(servers=2, utilization=0.5, quantile=0.95), 9)
    1.897119985
    """
    c, rho = np.asarray(servers, dtype=float), np.asarray(utilization, dtype=float)
    mean, p = np.asarray(mean_service, dtype=float), np.asarray(quantile, dtype=float)
    with np.errstate(all="ignore"):
        delayed = _blockwise(_delay, c, rho - 1.0)
        excess = np.maximum(np.log(delayed / (1.0 - p)), 0.0)
        value = excess * mean / np.where(rho < 1, c * (1.0 - rho), 1.0)
        value = np.where((rho >= 1) & np.isfinite(value), np.inf, value)
        inside = (p > 0) & (p < 1) & (mean >= 0) & np.isfinite(mean)
        return _scalar_out(np.where(inside, value, np.nan))


def mmc(
    *,
    servers: float,
    mean_service: float,
    arrival_rate: float | None = None,
    utilization: float | None = None,
) -> Wait:
    """Return the wait in M/M/c.

    Parameters
    ----------
    servers : float
        Servers, above 0, not necessarily whole.
    mean_service : float
        Mean service time [s].
    arrival_rate : float, optional
        Requests per second; this or `utilization`.
    utilization : float, optional
        Offered load over servers, below 1.

    Returns
    -------
    Wait
        Exact, with its distribution.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    Poisson arrivals, exponential service, first come first served. Relative error below 2e-13 for
    up to 1e4 servers.

    References
    ----------
    .. [1] R. B. Cooper (1981), Introduction to Queueing Theory, 2nd ed., section 3.4.

    Examples
    --------
    >>> wait = mmc(servers=8, mean_service=0.3, utilization=0.9)
    >>> round(wait.mean, 6), round(wait.p95, 6), wait.error.kind
    (0.263075, 0.990467, 'exact')
    """
    mean_service = positive("mean_service", mean_service, unit="s")
    load = load_of(
        servers=servers,
        mean_service=mean_service,
        arrival_rate=arrival_rate,
        utilization=utilization,
    )
    delayed = _delay_scalar(load.servers, load.utilization - 1.0)
    rate = load.servers * (1.0 - load.utilization) / mean_service
    return exact_wait(
        mean=delayed / rate,
        probability_of_wait=delayed,
        method="M/M/c by Erlang's delay formula",
        relative=_RELATIVE,
        law=ExponentialTail(probability=delayed, rate=rate),
        second_moment=2.0 * delayed / rate**2,
    )
