"""How long requests wait, from whatever is known about arrivals and service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.queueing.moments import moments_wait
from kvcost.queueing.named import named_law
from kvcost.queueing.validation import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.queueing.result import Wait
    from kvcost.queueing.service import Service

__all__ = ["queue"]


def queue(
    *,
    servers: float,
    service_mean: float | None = None,
    utilization: float | None = None,
    arrival_rate: float | None = None,
    service_scv: float | None = None,
    third_moment: float | None = None,
    distribution: str | Service | None = None,
    arrival_scv: float | None = None,
    dispersion: float | Callable[[float], float] | None = None,
) -> Wait:
    """Return the wait in one queue before alike servers, by the best method for what is known.

    Parameters
    ----------
    servers : float
        Servers; a whole number unless service is exponential.
    service_mean : float, optional
        Mean service time [s]; needed unless `distribution` is a law.
    utilization : float, optional
        Offered load over servers, below 1; this or `arrival_rate`.
    arrival_rate : float, optional
        Requests per second.
    service_scv : float, optional
        Squared coefficient of variation of a service.
    third_moment : float, optional
        Mean of the third power of a service time [s^3].
    distribution : str or Service, optional
        Name of the law of service (`kvcost.queueing.named.NAMES`), or the law itself.
    arrival_scv : float, optional
        Squared coefficient of variation of the gaps between arrivals; Poisson if neither this nor
        `dispersion` is given.
    dispersion : float or callable, optional
        Index of dispersion of the arrivals; see `ggc`.

    Returns
    -------
    Wait
        With its method and error class; a range where the facts determine no number.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain or contradicts another.
    MissingFactError
        If a fact is missing.
    UnknownNameError
        If `distribution` is no known name.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    First come first served. See `mgc` for laws, `moments_wait` for moments and `ggc` for arrivals
    that are not Poisson.

    References
    ----------
    .. [1] V. Gupta, M. Harchol-Balter, J. G. Dai, B. Zwart (2010), On the inapproximability of
       M/G/K, https://doi.org/10.1007/s11134-009-9133-x

    Examples
    --------
    >>> wait = queue(servers=8, utilization=0.9, service_mean=0.3, service_scv=4.0)
    >>> wait.mean is None, wait.error.kind
    (True, 'range')
    >>> wait = queue(servers=8, utilization=0.9, service_mean=0.3, distribution="deterministic")
    >>> round(wait.mean, 4), wait.error.kind
    (0.135, 'exact')
    """
    law = _law(distribution, service_mean, service_scv, third_moment)
    if arrival_scv is not None or dispersion is not None:
        from kvcost.queueing.general_arrivals import ggc  # noqa: PLC0415 - loaded when asked

        if law is None:
            raise InvalidValueError(
                field="arrival_scv" if arrival_scv is not None else "dispersion",
                value=arrival_scv if arrival_scv is not None else dispersion,
                bound="needs the law of service",
                remedy="name the distribution of the service time",
            )
        return ggc(
            servers=whole("servers", servers),
            service=law,
            arrival_rate=arrival_rate,
            utilization=utilization,
            arrival_scv=arrival_scv,
            dispersion=dispersion,
        )
    if law is not None:
        from kvcost.queueing.general import mgc  # noqa: PLC0415 - loaded when asked

        return mgc(servers=servers, service=law, arrival_rate=arrival_rate, utilization=utilization)
    assert service_mean is not None
    return moments_wait(
        servers=whole("servers", servers),
        mean_service=service_mean,
        scv=service_scv,
        third_moment=third_moment,
        arrival_rate=arrival_rate,
        utilization=utilization,
    )


def _law(
    distribution: str | Service | None,
    mean: float | None,
    scv: float | None,
    third: float | None,
) -> Service | None:
    if distribution is not None and not isinstance(distribution, str):
        given = {"service_mean": mean, "service_scv": scv, "third_moment": third}
        for field, value in given.items():
            if value is not None:
                raise InvalidValueError(
                    field=field,
                    value=value,
                    bound="and a law of service say the same thing",
                    remedy="give the law alone",
                )
        return distribution
    if mean is None:
        raise MissingFactError(
            fact="the mean", subject="the service time", remedy="give service_mean in seconds"
        )
    if distribution is None:
        return None
    return named_law(distribution, mean=mean, scv=scv, third_moment=third)
