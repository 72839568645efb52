"""Round robin: requests go to the servers in turn."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from kvcost.queueing.deterministic import mdc
from kvcost.queueing.dispatch.erlang_arrivals import ErlangArrivals, ErlangArrivalsWait
from kvcost.queueing.erlang import ExponentialTail
from kvcost.queueing.renewal import renewal_root
from kvcost.queueing.result import ErrorClass, Wait, exact_wait
from kvcost.queueing.service import (
    Atoms,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    require_finite_variance,
)
from kvcost.queueing.validation import load_of

if TYPE_CHECKING:
    from kvcost.queueing.service import Service

__all__ = ["round_robin"]

_ROOTS = "round robin = E_c/G/1 by the roots of its characteristic equation"
_CIRCLE = "round robin = E_c/G/1 by Spitzer's identity on the unit circle"
_LOOSE = 1e-6


def round_robin(
    *,
    servers: int,
    service: Service,
    arrival_rate: float | None = None,
    utilization: float | None = None,
) -> Wait:
    """Return the wait where requests go to the servers in turn.

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
        Exact for every law, with its distribution where the roots of the characteristic equation
        are found.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the variance of service is infinite.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    Poisson arrivals at the dispatcher, first come first served at each server. A server sees every
    c-th arrival: E_c/G/1. With deterministic service this equals M/D/c, so round robin costs
    nothing there; with variable service it does not pool. The mean is exact to rounding, which is
    absolute (about 1e-14 mean services): a wait far below that has no correct digits, and the
    error says so. Percentiles by Euler inversion: probabilities to 1e-8 for laws with a smooth
    density; near a jump of the density or an atom up to 1e-4, which is warned of for laws of
    atoms.

    References
    ----------
    .. [1] N. T. J. Bailey (1954), On queueing processes with bulk service,
       https://doi.org/10.1111/j.2517-6161.1954.tb00149.x
    .. [2] A. J. E. M. Janssen, J. S. H. van Leeuwaarden (2005), Analytic computation schemes for
       the discrete-time bulk service queue, https://doi.org/10.1007/s11134-005-0402-z
    .. [3] F. Spitzer (1956), A combinatorial lemma and its application to probability theory,
       https://doi.org/10.1090/S0002-9947-1956-0079851-X

    Examples
    --------
    >>> from kvcost.queueing.service import Deterministic, Exponential
    >>> for law in Deterministic(mean=1.0), Exponential(mean=1.0):
    ...     print(round(round_robin(servers=16, service=law, utilization=0.8).mean, 7))
    0.0525479
    1.8361324
    """
    require_finite_variance(service)
    load = load_of(
        servers=servers,
        mean_service=service.mean,
        arrival_rate=arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    count = int(load.servers)
    if isinstance(service, Deterministic):
        pooled = mdc(servers=count, mean_service=service.mean, utilization=load.utilization)
        return replace(pooled, method=f"round robin = {pooled.method}")
    if isinstance(service, Exponential):
        return _exponential(count, service.mean, load.utilization)
    return _by_roots(count, service, load.utilization)


def _exponential(servers: int, mean_service: float, utilization: float) -> Wait:
    mu = 1 / mean_service
    gaps = Erlang(stages=servers, mean=mean_service / utilization)
    sigma = renewal_root(gaps=gaps, rate=mu)
    rate = mu * (1 - sigma)
    return exact_wait(
        mean=sigma / rate,
        probability_of_wait=sigma,
        method="round robin = E_c/M/1 by its renewal root",
        relative=1e-10,
        law=ExponentialTail(probability=sigma, rate=rate),
        second_moment=2 * sigma / rate**2,
    )


@lru_cache(maxsize=256)
def _by_roots(servers: int, service: Service, utilization: float) -> Wait:
    queue = ErlangArrivals(servers, servers * utilization / service.mean, service)
    mean, error = queue.mean_and_error
    relative = max(error / mean, 1e-11) if mean > 0 else 1.0
    text = f"exact to {relative:.0e}"
    if relative > _LOOSE:
        text = f"exact to {error:.0e} s, which is coarse beside a wait this small"
    waits = queue.probability_of_wait
    warnings: tuple[str, ...] = ()
    if isinstance(service, Atoms | Empirical):
        warnings = ("percentiles come from a law with atoms: probabilities to 1e-4 only",)
    return Wait(
        mean=mean,
        mean_low=max(mean - error, 0.0),
        mean_high=mean + error,
        probability_of_wait=waits,
        method=_CIRCLE if waits is None else _ROOTS,
        error=ErrorClass(kind="exact", relative=relative, text=text),
        warnings=warnings,
        law=ErlangArrivalsWait(queue, probability_of_wait=waits, mean=mean) if waits else None,
    )
