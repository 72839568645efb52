"""Random arrivals, deterministic service: finite Spitzer sums and a boundary-crossing recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array

__all__ = ["crossing_cdf", "poisson_means", "uniform_means"]


def _by_request(sums: Array, *, servers: int, requests: int) -> Array:
    return np.concatenate([[0.0], np.cumsum(sums)])[np.arange(requests) // servers]


def poisson_means(*, servers: int, requests: int, service: float, rate: float) -> Array:
    """Return the mean wait of each request that follows the one before after an exponential gap.

    Parameters
    ----------
    servers : int
        Servers, empty at the start.
    requests : int
        Requests.
    service : float
        Service time of every request [s].
    rate : float
        One over the mean gap [1/s].

    Returns
    -------
    array
        Mean waits in order of arrival [s].

    Notes
    -----
    First come, first served with equal services is cyclic, so request k waits like request
    ``k // c`` at one server whose gaps are sums of c gaps. Spitzer's identity for the maximum of a
    random walk then gives ``E w = sum_l E max(l s - T_lc, 0) / l`` over ``l <= k // c`` with T_n a
    gamma time. Valid under and over full load, exact up to rounding.

    References
    ----------
    Spitzer 1956, doi:10.1090/S0002-9947-1956-0079851-X.

    Examples
    --------
    >>> float(poisson_means(servers=1, requests=2, service=1.0, rate=1.0)[1])  # e^-1
    0.36787944117144...
    """
    from scipy.special import gammainc  # noqa: PLC0415 - loaded when asked

    turns = np.arange(1, (requests - 1) // servers + 1)
    ahead, span = turns * servers, turns * service
    mean_excess = span * gammainc(ahead, rate * span)
    mean_excess -= ahead / rate * gammainc(ahead + 1, rate * span)
    return _by_request(np.maximum(mean_excess, 0.0) / turns, servers=servers, requests=requests)


def uniform_means(*, servers: int, requests: int, service: float, window: float) -> Array:
    """Return the mean wait of each request, in order of arrival at uniform times in a window.

    Parameters
    ----------
    servers, requests, service
        See `poisson_means`.
    window : float
        The requests arrive independently and uniformly in it [s]; above 0.

    Returns
    -------
    array
        Mean waits in order of arrival [s].

    Notes
    -----
    As `poisson_means` with the n-th of the ordered arrivals in place of the gamma time, since the
    gaps between ordered uniform points are exchangeable. Exact up to rounding.

    References
    ----------
    Spitzer 1956, doi:10.1090/S0002-9947-1956-0079851-X.

    Examples
    --------
    >>> waits = uniform_means(servers=1, requests=2, service=1.0, window=1.0)
    >>> round(float(waits[1]), 12)  # 1 - E|U - V|
    0.666666666667
    """
    from scipy.special import betainc  # noqa: PLC0415 - loaded when asked

    turns = np.arange(1, (requests - 1) // servers + 1)
    ahead, span = turns * servers, turns * service
    reach = np.minimum(span / window, 1.0)
    behind = requests + 1 - ahead
    mean_excess = span * betainc(ahead, behind, reach)
    mean_excess -= window * ahead / (requests + 1) * betainc(ahead + 1, behind, reach)
    return _by_request(np.maximum(mean_excess, 0.0) / turns, servers=servers, requests=requests)


def crossing_cdf(
    x: float, *, servers: int, requests: int, service: float, rate: float, window: float | None
) -> Array:
    """Return the probability that each request waits at most `x` seconds.

    Parameters
    ----------
    x : float
        Seconds, not negative.
    servers, requests, service, rate
        See `poisson_means`.
    window : float or None
        Uniform arrivals in this window [s] (then `rate` is requests over window), or None for
        exponential gaps.

    Returns
    -------
    array
        Probabilities in order of arrival.

    Notes
    -----
    Request k waits at most x when, for each ``l <= k // c``, fewer than ``l c`` arrivals of the
    reversed stream fall before ``l s - x``: the count is followed from one such time to the next,
    and what reaches a boundary is dropped. Uniform arrivals are a Poisson stream given its count.
    Exact up to rounding.
    """
    from scipy.special import gammaln, xlogy  # noqa: PLC0415 - loaded when asked

    turns = (requests - 1) // servers
    counts = np.arange(max(turns * servers, 1) + 1, dtype=np.float64)
    log_factorial = gammaln(np.arange(requests + 1) + 1.0)

    def poisson(mean: float, n: Array) -> Array:
        return np.asarray(np.exp(xlogy(n, mean) - mean - gammaln(n + 1.0)))

    alive = np.zeros(1)
    alive[0] = 1.0
    passed = np.ones(turns + 1)
    before = 0.0
    for turn in range(1, turns + 1):
        time = max(turn * service - x, 0.0)
        if time > before:
            step = poisson(rate * (time - before), counts[: turn * servers])
            alive = np.convolve(alive, step)[: turn * servers]
            before = time
        if window is None:
            passed[turn] = alive.sum()
        elif time >= window:
            passed[turn:] = 0.0
            break
        else:
            n = np.arange(min(alive.size, requests + 1))
            rest = requests - n
            chance = xlogy(rest, rate * (window - time)) - log_factorial[rest] + rate * time
            chance -= xlogy(requests, rate * window) - log_factorial[requests]
            passed[turn] = alive[: n.size] @ np.exp(chance)
    return np.minimum(passed, 1.0)[np.arange(requests) // servers]
