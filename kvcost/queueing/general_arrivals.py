"""G/G/c: arrivals that are not Poisson, by the law or scv of their gaps, or their dispersion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.queueing.dispersion import effective_scv
from kvcost.queueing.erlang import mmc_mean_wait
from kvcost.queueing.general import mgc
from kvcost.queueing.renewal import gimc
from kvcost.queueing.result import ErrorClass, Wait
from kvcost.queueing.service import (
    Exponential,
    Gamma,
    HyperExponential,
    Lognormal,
    require_finite_variance,
)
from kvcost.queueing.validation import load_of, not_negative, positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.queueing.service import Service

__all__ = ["ggc", "ggc_bound"]

_BURSTY, _LIGHT, _REGULAR, _EVEN_SERVICE, _CORRELATED = 0.15, 0.25, 0.25, 3.0, 0.2
_MOST_SERVERS = 200
_LEAST_SCV = 1e-3


def ggc(
    *,
    servers: int,
    service: Service,
    gaps: Service | None = None,
    arrival_rate: float | None = None,
    utilization: float | None = None,
    arrival_scv: float | None = None,
    dispersion: float | Callable[[float], float] | None = None,
) -> Wait:
    """Return the wait in G/G/c.

    Parameters
    ----------
    servers : int
        Servers.
    service : Service
        Law of service times, of finite variance.
    gaps : Service, optional
        Law of independent times between arrivals; this alone, or a load and one of the next two.
    arrival_rate : float, optional
        Requests per second.
    utilization : float, optional
        Offered load over servers, below 1.
    arrival_scv : float, optional
        Squared coefficient of variation of independent times between arrivals; 1 for Poisson.
    dispersion : float or callable, optional
        Index of dispersion of the arrivals, variance over mean of their number in a window; a
        number for long windows, or a function of the window's length in seconds.

    Returns
    -------
    Wait
        Exact for Poisson arrivals where `mgc` is and for exponential service with known gaps;
        otherwise approximate, without percentiles. By scv alone, above 1, the range of the mean
        goes from lognormal to gamma gaps.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    MissingFactError
        If nothing says how regular the arrivals are.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    The mean wait in M/G/c, times that in GI/M/c over that in M/M/c (both exact), times the factor
    that makes the product right in heavy traffic, where the wait grows with the sum of both
    coefficients. First come first served.

    Error against simulation (2 to 32 servers; deterministic, gamma scv 0.5, exponential and
    lognormal service, scv 2 and 4): gamma and lognormal gaps of scv 4 and 9, utilization 0.7 to
    0.9, -13% to +12%, and at 0.5 -14% to +23%; gaps of scv 0.25 and 0.5, -20% to +19%, but for
    deterministic service, whose wait nearly vanishes, up to 3.6 times too much. By scv alone the
    truth of lognormal, hyperexponential and gamma gaps lies in the stated range.

    By dispersion: the arrival scv is the one that a queue of this load sees (`effective_scv`); the
    mean lies geometrically between two cases, that bursts find the servers as Poisson arrivals do,
    and that bursts last and keep all servers busy. Arrivals whose rate switches between two values,
    1.5 and 3 times apart, for 5 to 100 services at a time: the mean is within -35% and +35%, the
    truth within the stated range.

    References
    ----------
    .. [1] W. Whitt (1993), Approximations for the GI/G/m queue,
       https://doi.org/10.1111/j.1937-5956.1993.tb00094.x
    .. [2] W. Whitt, W. You (2018), Using robust queueing to expose the impact of dependence in
       single-server queues, https://doi.org/10.1287/opre.2017.1649

    Examples
    --------
    >>> from kvcost.queueing import Exponential
    >>> wait = ggc(servers=8, service=Exponential(mean=1.0), utilization=0.9, arrival_scv=4.0)
    >>> wait.error.kind, round(wait.mean, 1), wait.mean_low < wait.mean < wait.mean_high
    ('approximation', 2.4, True)
    """
    require_finite_variance(service)
    told = [gaps is not None, arrival_scv is not None, dispersion is not None]
    if not any(told):
        raise MissingFactError(
            fact="the variability",
            subject="the arrivals",
            remedy="give arrival_scv (1 for Poisson), dispersion or the law of the gaps",
        )
    rated = arrival_rate is not None or utilization is not None
    if sum(told) > 1 or (gaps is not None and rated):
        raise InvalidValueError(
            field="arrival_scv",
            value=arrival_scv,
            bound="and the law of the gaps or dispersion say the same thing",
            remedy="give exactly one of them",
        )
    load = load_of(
        servers=servers,
        mean_service=service.mean,
        arrival_rate=1.0 / gaps.mean if gaps is not None else arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    count, rho = int(load.servers), load.utilization
    if isinstance(gaps, Exponential) or arrival_scv == 1:
        return mgc(servers=count, service=service, utilization=rho)
    if gaps is not None:
        require_finite_variance(gaps)
        if isinstance(service, Exponential):
            return gimc(servers=count, gaps=gaps, mean_service=service.mean)
        return _known_gaps(count, service, gaps, rho)
    if dispersion is not None:
        return _correlated(count, service, dispersion, load.arrival_rate, rho)
    assert arrival_scv is not None
    scv = not_negative("arrival_scv", arrival_scv, unit="1")
    return _by_scv(count, service, scv, 1.0 / load.arrival_rate, rho)


def _ratio(servers: int, gaps: Service, mean_service: float, rho: float) -> float:
    """Return the mean wait in GI/M/c over that in M/M/c, at most 200 servers as such."""
    if servers > _MOST_SERVERS:
        near = 1.0 - (1.0 - rho) * math.sqrt(servers / _MOST_SERVERS)
        if near <= 0:
            raise InvalidValueError(
                field="utilization",
                value=rho,
                bound=f"is too low for {servers} servers, where almost no request waits",
                remedy="model fewer servers",
            )
        gap = mean_service / (_MOST_SERVERS * near)
        return _ratio(_MOST_SERVERS, gaps.scaled(gap / gaps.mean), mean_service, near)
    wait = gimc(servers=servers, gaps=gaps, mean_service=mean_service).mean
    assert wait is not None
    return wait / float(mmc_mean_wait(servers=servers, utilization=rho, mean_service=mean_service))


def _product(servers: int, service: Service, gaps: Service, rho: float) -> tuple[float, Wait]:
    poisson = mgc(servers=servers, service=service, utilization=rho)
    assert poisson.mean is not None
    arrival, own = gaps.scv, service.scv
    heavy = 2.0 * (arrival + own) / ((1.0 + own) * (1.0 + arrival))
    return poisson.mean * _ratio(servers, gaps, service.mean, rho) * heavy, poisson


def _stated(arrival: float, own: float, rho: float) -> float:
    if arrival >= 1:
        return _BURSTY if rho >= 0.7 else _LIGHT
    return _REGULAR if own >= 0.5 else _EVEN_SERVICE


def _known_gaps(servers: int, service: Service, gaps: Service, rho: float) -> Wait:
    mean, poisson = _product(servers, service, gaps, rho)
    return _answer(
        mean,
        low=mean,
        high=mean,
        stated=_stated(gaps.scv, service.scv, rho),
        method="GI/G/c by M/G/c and exact GI/M/c",
        warnings=poisson.warnings,
    )


def _answer(
    mean: float,
    *,
    low: float,
    high: float,
    stated: float,
    method: str,
    warnings: tuple[str, ...],
) -> Wait:
    below, above = min(low, mean) / (1.0 + stated), max(high, mean) * (1.0 + stated)
    relative = max(1.0 - below / mean, above / mean - 1.0) if mean > 0 else None
    text = f"approximation, within a factor {1.0 + stated:g} on the laws simulated"
    if low < high:
        text += ", around the range that the facts about the arrivals leave open"
    return Wait(
        mean=mean,
        mean_low=below,
        mean_high=above,
        probability_of_wait=None,
        method=method,
        error=ErrorClass(kind="approximation", relative=relative, text=text),
        warnings=warnings,
    )


def _by_scv(servers: int, service: Service, scv: float, gap: float, rho: float) -> Wait:
    if scv <= 1:
        law = Gamma(mean=gap, scv=max(scv, _LEAST_SCV))
        mean, poisson = _product(servers, service, law, rho)
        low = high = mean
    else:
        ends = [
            _product(servers, service, law, rho)[0]
            for law in (Gamma(mean=gap, scv=scv), Lognormal(mean=gap, scv=scv))
        ]
        low, high = min(ends), max(ends)
        mean, poisson = _product(
            servers, service, HyperExponential.balanced(mean=gap, scv=scv), rho
        )
    warnings = poisson.warnings
    if scv > 1:
        warnings += ("the scv of the gaps leaves their third moment open: give their law",)
    return _answer(
        mean,
        low=low,
        high=high,
        stated=_stated(scv, service.scv, rho),
        method="GI/G/c by the scv of the gaps, M/G/c and exact GI/M/c",
        warnings=warnings,
    )


def _correlated(
    servers: int,
    service: Service,
    dispersion: float | Callable[[float], float],
    arrival_rate: float,
    rho: float,
) -> Wait:
    if callable(dispersion):
        scv = effective_scv(
            dispersion=dispersion,
            arrival_rate=arrival_rate,
            utilization=rho,
            service_scv=service.scv,
        )
    else:
        scv = positive("dispersion", dispersion, unit="1")
    poisson = mgc(servers=servers, service=service, utilization=rho)
    assert poisson.mean is not None
    few = poisson.mean * (scv + service.scv) / (1.0 + service.scv)
    # a burst that lasts keeps all servers busy, which then act as a single fast one
    many = rho * service.mean * (scv + service.scv) / (2.0 * servers * (1.0 - rho))
    return _answer(
        math.sqrt(few * many),
        low=min(few, many),
        high=max(few, many),
        stated=_CORRELATED,
        method=f"G/G/c by the dispersion of the arrivals, effective scv {scv:.4g}",
        warnings=(
            *poisson.warnings,
            "correlated arrivals: check by kvcost.simulation.kiefer_wolfowitz.simulate_queue",
        ),
    )


def ggc_bound(
    *,
    servers: int,
    mean_service: float,
    service_scv: float,
    arrival_scv: float,
    arrival_rate: float | None = None,
    utilization: float | None = None,
) -> Wait:
    """Return what the mean wait in GI/G/c cannot exceed for any laws of two given moments each.

    Parameters
    ----------
    servers : int
        Servers.
    mean_service : float
        Mean service time [s].
    service_scv, arrival_scv : float
        Squared coefficients of variation of service times and of gaps.
    arrival_rate : float, optional
        Requests per second; this or `utilization`.
    utilization : float, optional
        Offered load over servers, below 1.

    Returns
    -------
    Wait
        A bound: from 0 to Kingman's.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    ``lambda (Var gap + Var S / c + (1 - 1/c) E(S)^2 / c) / (2 (1 - rho))``. Independent gaps and
    service times, first come first served. Tight in heavy traffic with one server; loose otherwise.

    References
    ----------
    .. [1] J. F. C. Kingman (1970), Inequalities in the theory of queues, J. R. Stat. Soc. B
       32, 102-110.
    .. [2] J. Kollerstrom (1974), Heavy traffic theory for queues with several servers. I,
       J. Appl. Probab. 11, 544-552.

    Examples
    --------
    >>> bound = ggc_bound(
    ...     servers=1, mean_service=1.0, service_scv=1.0, arrival_scv=1.0, utilization=0.5
    ... )
    >>> bound.error.kind, bound.mean_high
    ('bound', 2.5)
    """
    mean_service = positive("mean_service", mean_service, unit="s")
    own = not_negative("service_scv", service_scv, unit="1")
    arrival = not_negative("arrival_scv", arrival_scv, unit="1")
    load = load_of(
        servers=servers,
        mean_service=mean_service,
        arrival_rate=arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    c, rate = load.servers, load.arrival_rate
    square = mean_service**2
    spread = arrival / rate**2 + own * square / c + (1.0 - 1.0 / c) * square / c
    high = rate * spread / (2.0 * (1.0 - load.utilization))
    return Wait(
        mean=None,
        mean_low=0.0,
        mean_high=high,
        probability_of_wait=None,
        method="GI/G/c, Kingman's upper bound",
        error=ErrorClass(kind="bound", relative=None, text="bound for any laws of these moments"),
    )
