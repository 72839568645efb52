"""Join the shortest queue: every request goes to the server with the fewest requests."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from kvcost.queueing.dispatch.ahead import queue_wait
from kvcost.queueing.dispatch.shortest_chain import (
    ShortestQueue,
    chain_states,
    shortest_queue_chain,
)
from kvcost.queueing.dispatch.turns import round_robin
from kvcost.queueing.erlang import mmc
from kvcost.queueing.general import mgc
from kvcost.queueing.qbd import mphc
from kvcost.queueing.result import ErrorClass, Wait
from kvcost.queueing.service import Exponential, HyperExponential, require_finite_variance
from kvcost.queueing.single import mg1
from kvcost.queueing.validation import load_of, whole

if TYPE_CHECKING:
    from kvcost.queueing.service import Service

__all__ = ["join_shortest_queue", "no_skewer_than_gamma"]

_MOST_STATES = 4000
_MOST_STATES_OF_MANY = 6000
_MANY = 12
_MOST_PLANE_STATES = 40_000
_EXACT = 1e-6
_SETTLED = 1e-9
_NEARLY = 1e-5
_LARGEST_SPREAD = 60
_NEAR_GAMMA = 1.02
_ANCHORS = (64, 144)
_LEAST_LOAD = 0.02
_FAR = 0.2


def join_shortest_queue(
    *,
    servers: int,
    service: Service,
    arrival_rate: float | None = None,
    utilization: float | None = None,
    spread: int | None = None,
) -> Wait:
    """Return the wait where each request goes to a server with the fewest requests.

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
    spread : int, optional
        Largest difference of two queues in the chain; grown until the wait settles or a level has
        more than 4,000 states (6,000 from 12 servers on) if not given.

    Returns
    -------
    Wait
        Exponential service: the wait in a truncated chain with the range that holds the truth,
        called exact where the range is narrower than 1e-6 of the mean. Any other law: an
        approximation with its stated error and no distribution.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the variance of service is infinite.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    Poisson arrivals, ties at random, first come first served at each server. Exponential service:
    a chain on sorted queues, bounded by jockeying below and by blocking and by round robin above.
    From 282 servers on the ratio to M/M/c is extrapolated in ``1 / sqrt(c)`` at fixed
    ``(1 - rho) sqrt(c)`` (at 256 and 500 servers within 0.5% up to utilization 0.95, 5% at 0.99).

    Other laws: the exponential wait times ``(1 + scv) / 2``, which is right in heavy traffic, in
    light traffic and (by simulation) for gamma laws; where the third moment exceeds the gamma
    law's, less the amount by which the wait in M/G/c falls below that of a gamma-like law. Error
    against simulations with 2 to 64 servers at utilization 0.3 to 0.95: at most 6% for scv up to 1
    and for gamma laws, 20% for skewer laws of scv up to 4, 45% for those up to 9.

    References
    ----------
    .. [1] I. J. B. F. Adan, G. J. van Houtum, J. van der Wal (1994), Upper and lower bounds for
       the waiting time in the symmetric shortest queue system, Annals of Operations Research 48,
       197-217.
    .. [2] R. D. Nelson, T. K. Philips (1993), An approximation for the mean response time for
       shortest queue routing with general interarrival and service times, Performance Evaluation
       17, 123-139.

    Examples
    --------
    >>> wait = join_shortest_queue(servers=4, service=Exponential(mean=1.0), utilization=0.5)
    >>> round(wait.mean, 8), wait.error.kind
    (0.15815064, 'exact')
    """
    require_finite_variance(service)
    load = load_of(
        servers=servers,
        mean_service=service.mean,
        arrival_rate=arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    count, rho = int(load.servers), load.utilization
    if spread is not None:
        spread = whole("spread", spread, least=2)
    if count == 1:
        alone = mg1(service=service, utilization=rho)
        return replace(alone, method=f"one server: {alone.method}")
    exponential = _exponential(count, service.mean, rho, spread)
    if isinstance(service, Exponential):
        return exponential
    return _general(count, service, rho, exponential)


@dataclass(frozen=True, kw_only=True)
class _Bracket:
    law: ShortestQueue
    low: float
    high: float
    spread: int


def _bracket(servers: int, rho: float, spread: int) -> _Bracket:
    below = shortest_queue_chain(servers=servers, utilization=rho, spread=spread)
    above = shortest_queue_chain(
        servers=servers, utilization=rho, spread=spread, truncation="blocking"
    )
    load = servers * rho
    return _Bracket(
        law=below, low=below.total / load - 1, high=above.total / load - 1, spread=spread
    )


def _spreads(servers: int) -> list[int]:
    """Return the spreads to try, each a quarter larger, as far as the states allow."""
    most = _MOST_STATES if servers < _MANY else _MOST_STATES_OF_MANY
    spreads = [2]
    while True:
        larger = math.ceil(spreads[-1] * 1.25)
        while chain_states(servers=servers, spread=larger) > most:
            larger -= 1
        if larger <= spreads[-1] or larger > _LARGEST_SPREAD:
            return spreads
        spreads.append(larger)


@lru_cache(maxsize=256)
def _found(servers: int, rho: float, spread: int | None) -> _Bracket | None:
    if spread is not None:
        return _bracket(servers, rho, spread)
    if chain_states(servers=servers, spread=2) > _MOST_PLANE_STATES:
        return None
    spreads = _spreads(servers)
    last = 0.0
    for tried in spreads[:-1]:
        low = shortest_queue_chain(servers=servers, utilization=rho, spread=tried).total
        if abs(low - last) <= _NEARLY * low:
            found = _bracket(servers, rho, tried)
            if found.high - found.low <= _SETTLED * found.low:
                return found
        last = low
    return _bracket(servers, rho, spreads[-1])


def _exponential(servers: int, mean_service: float, rho: float, spread: int | None) -> Wait:
    found = _found(servers, rho, spread)
    if found is None:
        return _extrapolated(servers, mean_service, rho)
    ceiling = round_robin(servers=servers, service=Exponential(mean=1.0), utilization=rho).mean
    mean = float(found.law.tails.sum())
    high = found.high if ceiling is None else min(found.high, ceiling)
    low = max(min(found.low, mean), 0.0)
    relative = max(high - mean, mean - low, 1e-12 * mean) / mean
    kind = "exact" if relative <= _EXACT else "bound"
    text = f"exact to {relative:.0e}"
    warnings: tuple[str, ...] = ()
    if kind == "bound":
        text = f"between {low * mean_service:.6g} and {high * mean_service:.6g} s"
        warnings = (
            f"queues may be at most {found.spread} apart in the chain that was solved; "
            "give a larger spread to narrow the range",
        )
    return queue_wait(
        tails=found.law.tails,
        mean_service=mean_service,
        method=f"join the shortest queue: chain on sorted queues at most {found.spread} apart",
        error=ErrorClass(
            kind="exact" if kind == "exact" else "bound", relative=relative, text=text
        ),
        low=low * mean_service,
        high=high * mean_service,
        warnings=warnings,
    )


def _extrapolated(servers: int, mean_service: float, rho: float) -> Wait:
    """Return the wait of many servers: its ratio to M/M/c's at fixed ``(1 - rho) sqrt(c)``."""
    distance = (1 - rho) * math.sqrt(servers)
    roots, ratios = [], []
    for few in _ANCHORS:
        load = max(1 - distance / math.sqrt(few), _LEAST_LOAD)
        chain = shortest_queue_chain(servers=few, utilization=load, spread=2)
        roots.append(1 / math.sqrt(few))
        ratios.append(float(chain.tails.sum()) / _pooled(few, load))
    slope = (ratios[1] - ratios[0]) / (roots[1] - roots[0])
    ratio = ratios[1] + slope * (1 / math.sqrt(servers) - roots[1])
    pooled = _pooled(servers, rho)
    mean = min(max(ratio * pooled, pooled), pooled + 1) * mean_service
    return _approximate(
        mean,
        0.05 if distance > _FAR else 0.1,
        method="join the shortest queue: chains of 64 and 144 servers, extrapolated",
    )


def _pooled(servers: int, rho: float) -> float:
    return mmc(servers=servers, mean_service=1.0, utilization=rho).mean_high


def _approximate(
    mean: float, relative: float, *, method: str, warnings: tuple[str, ...] = ()
) -> Wait:
    return Wait(
        mean=mean,
        mean_low=mean / (1 + relative),
        mean_high=mean / (1 - relative),
        probability_of_wait=None,
        method=method,
        error=ErrorClass(
            kind="approximation",
            relative=relative,
            text=f"approximation, at most {relative:.0%} on the laws simulated",
        ),
        warnings=warnings,
    )


def no_skewer_than_gamma(service: Service) -> bool:
    """Tell whether ``(1 + scv) / 2`` scales waits well: scv up to 1, or a gamma law's third moment.

    Parameters
    ----------
    service : Service
        Law of service times.

    Returns
    -------
    bool
        False for laws of scv above 1 with a longer tail than the gamma law.
    """
    scv = service.scv
    third = service.moment(3) / service.mean**3
    return scv <= 1 or third <= _NEAR_GAMMA * (1 + scv) * (1 + 2 * scv)


def _general(servers: int, service: Service, rho: float, exponential: Wait) -> Wait:
    scv = service.scv
    base = exponential.mean if exponential.mean is not None else exponential.mean_high
    own = (exponential.error.relative or 0.0) if exponential.error.kind != "exact" else 0.0
    mean = base * (1 + scv) / 2
    method = "join the shortest queue: exponential wait times (1 + scv) / 2"
    if no_skewer_than_gamma(service):
        return _approximate(mean, 0.06 + own, method=method, warnings=exponential.warnings)
    like = HyperExponential.gamma_like(mean=service.mean, scv=scv)
    pooled_like = mphc(servers=servers, service=like, utilization=rho).mean or 0.0
    pooled = mgc(servers=servers, service=service, utilization=rho)
    saved = max(0.0, pooled_like - (pooled.mean if pooled.mean is not None else pooled.mean_low))
    warnings = exponential.warnings
    if scv > 9:
        warnings = (*warnings, "laws of scv above 9 were not simulated")
    return _approximate(
        mean - saved,
        (0.2 if scv <= 4 else 0.45) + own,
        method=f"{method}, less what the third moment saves in M/G/c",
        warnings=warnings,
    )
