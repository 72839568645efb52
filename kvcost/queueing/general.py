"""M/G/c from a named law of service: exact where a method exists, else a stated approximation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.queueing.deterministic import mdc
from kvcost.queueing.erlang import mmc
from kvcost.queueing.qbd import mphc
from kvcost.queueing.service import Deterministic, Exponential, require_finite_variance
from kvcost.queueing.single import mg1
from kvcost.queueing.validation import load_of

if TYPE_CHECKING:
    from kvcost.queueing.result import Wait
    from kvcost.queueing.service import Service

__all__ = ["mgc"]


def mgc(
    *,
    servers: float,
    service: Service,
    arrival_rate: float | None = None,
    utilization: float | None = None,
) -> Wait:
    """Return the wait in M/G/c for a law of service times.

    Parameters
    ----------
    servers : float
        Servers; a whole number unless service is exponential.
    service : Service
        Law of service times, of finite variance.
    arrival_rate : float, optional
        Requests per second; this or `utilization`.
    utilization : float, optional
        Offered load over servers, below 1.

    Returns
    -------
    Wait
        Exact for exponential, deterministic and phase-type laws and for one server; otherwise an
        approximation with its stated error.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the variance of service is infinite.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    Poisson arrivals, alike servers, first come first served. A phase-type law whose states are too
    many for the exact method is treated as any other law.

    References
    ----------
    .. [1] V. Gupta, M. Harchol-Balter, J. G. Dai, B. Zwart (2010), On the inapproximability of
       M/G/K, https://doi.org/10.1007/s11134-009-9133-x

    Examples
    --------
    >>> from kvcost.queueing import Erlang
    >>> wait = mgc(servers=4, service=Erlang(stages=2, mean=1.0), utilization=0.8)
    >>> round(wait.mean, 9), wait.error.kind
    (0.567652107, 'exact')
    """
    require_finite_variance(service)
    exponential = isinstance(service, Exponential)
    load = load_of(
        servers=servers,
        mean_service=service.mean,
        arrival_rate=arrival_rate,
        utilization=utilization,
        whole_servers=not exponential,
    )
    rho = load.utilization
    if exponential:
        return mmc(servers=load.servers, mean_service=service.mean, utilization=rho)
    count = int(load.servers)
    if isinstance(service, Deterministic):
        return mdc(servers=count, mean_service=service.mean, utilization=rho)
    if count == 1:
        return mg1(service=service, utilization=rho)
    return _by_shape(service, count, rho)


def _by_shape(service: Service, servers: int, rho: float) -> Wait:
    """Return the wait at many servers for a law that is neither exponential nor deterministic."""
    law = service.phase_type()
    if law is not None:
        from kvcost.queueing.large import exact_states, large_servers  # noqa: PLC0415 - when asked

        if exact_states(servers=servers, phases=law.phases):
            return mphc(servers=servers, service=law, utilization=rho)
        if law.phases <= 2:
            return large_servers(servers=servers, service=law, utilization=rho)
    if service.scv <= 1:
        from kvcost.queueing.skew import scv_at_most_one  # noqa: PLC0415 - loaded when asked

        return scv_at_most_one(servers=servers, utilization=rho, service=service)
    from kvcost.queueing.coxian import fitted_coxian  # noqa: PLC0415 - loaded when asked

    return fitted_coxian(servers=servers, utilization=rho, service=service)
