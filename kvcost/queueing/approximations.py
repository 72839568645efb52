"""Named two-moment approximations of the mean wait in M/G/c and G/G/c, as traced closed forms.

No formula of two moments can be accurate for all laws; each docstring states its error against
exact waits of deterministic, Erlang and hyperexponential service with 2 to 64 servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula
from kvcost.queueing.formulas import mmc_mean_wait

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "allen_cunneen_wait",
    "cosmetatos_deterministic_wait",
    "cosmetatos_wait",
    "kimura_wait",
    "sakasegawa_wait",
]


@formula(symbol=r"W_{AC}", unit="s")
def allen_cunneen_wait(
    *,
    servers: Num,
    utilization: Num,
    service_seconds: Num,
    service_scv: Num,
    arrival_scv: Num,
) -> Num:
    """Return the mean wait in G/G/c after Allen and Cunneen.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
    utilization : Num
        Share of the time that a server is busy [1].
    service_seconds : Num
        Mean service time [s].
    service_scv : Num
        Squared coefficient of variation of a service [1].
    arrival_scv : Num
        Squared coefficient of variation of the gaps, 1 for Poisson arrivals [1].

    Returns
    -------
    Num
        Mean over all requests; infinite from utilization 1 on [s].

    Notes
    -----
    The wait in M/M/c times the mean of the two coefficients. First come, first served; whole
    servers up to 2,000. Exact for M/M/c and M/G/1. Relative error at utilization 0.7 to 0.99, 2 to
    64 servers and Poisson arrivals: -34% to 0 for deterministic and Erlang service (-16% up to 16
    servers), 0 to +44% at scv 2, to +134% at scv 4 and to +375% at scv 9 of hyperexponential
    service.

    References
    ----------
    .. [1] A. O. Allen (1990), Probability, Statistics, and Queueing Theory, 2nd ed., section 5.4.
    .. [2] A. M. Lee, P. A. Longton (1959), Queueing processes associated with airline passenger
       check-in, https://doi.org/10.1057/jors.1959.5

    Examples
    --------
    >>> round(
    ...     allen_cunneen_wait(
    ...         servers=2, utilization=0.5, service_seconds=3, service_scv=0, arrival_scv=1
    ...     ),
    ...     12,
    ... )
    0.5
    """
    exponential = mmc_mean_wait(
        servers=servers, utilization=utilization, service_seconds=service_seconds
    )
    wait = exponential * (arrival_scv + service_scv) / 2
    return ops.where(ops.all_of(arrival_scv >= 0, service_scv >= 0), wait, ops.nan)


@formula(symbol=r"W_D", unit="s")
def cosmetatos_deterministic_wait(*, servers: Num, utilization: Num, service_seconds: Num) -> Num:
    """Return the mean wait in M/D/c after Cosmetatos.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
    utilization : Num
        Share of the time that a server is busy [1].
    service_seconds : Num
        Service time, always the same [s].

    Returns
    -------
    Num
        Mean over all requests; infinite from utilization 1 on [s].

    Notes
    -----
    Poisson arrivals, first come, first served, whole servers up to 2,000. Exact for one server.
    Relative error at utilization 0.7 to 0.99: 1% up to 16 servers, -5% to +1% up to 64.
    `kvcost.queueing.mdc` is exact.

    References
    ----------
    .. [1] G. P. Cosmetatos (1975), Approximate explicit formulae for the average queueing time in
       the processes (M/D/r) and (D/M/r), https://doi.org/10.1080/03155986.1975.11731637

    Examples
    --------
    >>> round(cosmetatos_deterministic_wait(servers=1, utilization=0.5, service_seconds=1), 12)
    0.5
    """
    exponential = mmc_mean_wait(
        servers=servers, utilization=utilization, service_seconds=service_seconds
    )
    more = (1 - utilization) * (servers - 1) * (ops.sqrt(4 + 5 * servers) - 2)
    factor = (1 + more / (16 * servers * utilization)) / 2
    return ops.where(utilization > 0, exponential * factor, exponential)


@formula(symbol=r"W_{Co}", unit="s")
def cosmetatos_wait(
    *, servers: Num, utilization: Num, service_seconds: Num, service_scv: Num
) -> Num:
    """Return the mean wait in M/G/c between M/D/c and M/M/c, after Cosmetatos.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
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
    Linear in the coefficient between M/D/c and M/M/c. Poisson arrivals, first come, first
    served, whole servers up to 2,000. Exact for one server. Relative error at utilization 0.7 to
    0.99 and 2 to 64 servers: -5% to +1% for deterministic and Erlang service (1.2% up to 16
    servers), 0 to +26% at scv 2, to +83% at scv 4 and to +255% at scv 9 of hyperexponential
    service.

    References
    ----------
    .. [1] G. P. Cosmetatos (1976), Some approximate equilibrium results for the multi-server queue
       (M/G/r), https://doi.org/10.1057/jors.1976.120

    Examples
    --------
    >>> round(
    ...     cosmetatos_wait(servers=1, utilization=0.5, service_seconds=1, service_scv=3), 12
    ... )
    2.0
    """
    exponential = mmc_mean_wait(
        servers=servers, utilization=utilization, service_seconds=service_seconds
    )
    equal = cosmetatos_deterministic_wait(
        servers=servers, utilization=utilization, service_seconds=service_seconds
    )
    mean = ops.where(
        utilization < 1, service_scv * exponential + (1 - service_scv) * equal, exponential
    )
    return ops.where(service_scv >= 0, mean, ops.nan)


@formula(symbol=r"W_K", unit="s")
def kimura_wait(*, servers: Num, utilization: Num, service_seconds: Num, service_scv: Num) -> Num:
    """Return the mean wait in M/G/c as a harmonic mean of M/D/c and M/M/c, after Kimura.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
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
    M/D/c after Cosmetatos. Poisson arrivals, first come, first served, whole servers up to
    2,000. Exact for one server. Relative error at utilization 0.7 to 0.99 and 2 to 64 servers: -5%
    to +2.4% for deterministic and Erlang service (1.4% up to 16 servers), -7% to +16% at scv 2,
    -22% to +37% at scv 4 and -45% to +85% at scv 9 of hyperexponential service.

    References
    ----------
    .. [1] T. Kimura (1986), A two-moment approximation for the mean waiting time in the GI/G/s
       queue, https://doi.org/10.1287/mnsc.32.6.751

    Examples
    --------
    >>> round(kimura_wait(servers=1, utilization=0.5, service_seconds=1, service_scv=3), 12)
    2.0
    """
    exponential = mmc_mean_wait(
        servers=servers, utilization=utilization, service_seconds=service_seconds
    )
    more = (1 - utilization) * (servers - 1) * (ops.sqrt(4 + 5 * servers) - 2)
    factor = (1 + more / (16 * servers * utilization)) / 2
    share = (1 + service_scv) / (2 * service_scv + (1 - service_scv) / factor)
    mean = ops.where(ops.all_of(utilization > 0, utilization < 1), exponential * share, exponential)
    return ops.where(service_scv >= 0, mean, ops.nan)


@formula(symbol=r"W_S", unit="s")
def sakasegawa_wait(
    *,
    servers: Num,
    utilization: Num,
    service_seconds: Num,
    service_scv: Num,
    arrival_scv: Num,
) -> Num:
    """Return the mean wait in G/G/c after Sakasegawa, without a Poisson probability.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
    utilization : Num
        Share of the time that a server is busy [1].
    service_seconds : Num
        Mean service time [s].
    service_scv : Num
        Squared coefficient of variation of a service [1].
    arrival_scv : Num
        Squared coefficient of variation of the gaps, 1 for Poisson arrivals [1].

    Returns
    -------
    Num
        Mean over all requests; infinite from utilization 1 on [s].

    Notes
    -----
    First come, first served; servers need not be whole. Exact for M/G/1. Relative error at
    utilization 0.7 to 0.99 and Poisson arrivals, up to 16 servers: -3% to +38% for deterministic,
    Erlang and exponential service, to +80% at scv 2, to +167% at scv 4 and to +436% at scv 9 of
    hyperexponential service. Of no use where few wait: several times too high with 64 servers at
    utilization 0.7. Charts can compute it.

    References
    ----------
    .. [1] H. Sakasegawa (1977), An approximation formula L_q = alpha rho^beta / (1 - rho),
       https://doi.org/10.1007/BF02532775

    Examples
    --------
    >>> round(
    ...     sakasegawa_wait(
    ...         servers=1, utilization=0.5, service_seconds=1, service_scv=3, arrival_scv=1
    ...     ),
    ...     12,
    ... )
    2.0
    """
    grown = utilization ** (ops.sqrt(2 * (servers + 1)) - 1)
    mean = (arrival_scv + service_scv) / 2 * grown * service_seconds / (servers * (1 - utilization))
    inside = ops.all_of(servers >= 1, utilization >= 0, arrival_scv >= 0, service_scv >= 0)
    return ops.where(inside, ops.where(utilization < 1, mean, ops.inf), ops.nan)
