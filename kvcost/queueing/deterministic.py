"""M/D/c: exact mean, probability to wait and percentiles, for one server or ten thousand.

The mean has two routes. Spitzer's sum has positive terms only, but needs about
``1 / (c (1 - rho)^2)`` of them; the roots of ``z^c = exp(c rho (z - 1))`` come in closed form from
Lambert's W, but their sum cancels where waits are short. Each is used where it is good.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kvcost.ops import poisson
from kvcost.queueing.deterministic_law import LARGEST_UTILIZATION, unit_law
from kvcost.queueing.result import Wait, exact_wait
from kvcost.queueing.validation import load_of, positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.deterministic_law import UnitLaw

__all__ = ["mdc", "queue_by_roots", "queue_by_sums"]

_SUMS_ABOVE = ((1_000, 0.3), (10_000, 2.0), (math.inf, 4.0))
_NEGLIGIBLE = 45.0
_FAR = 3.0
_RELATIVE = 1e-12
_RELATIVE_LARGE = 1e-10


def queue_by_roots(*, servers: int, utilization: float) -> float:
    """Return the mean number of waiting requests in M/D/c by the roots.

    Parameters
    ----------
    servers : int
        Servers.
    utilization : float
        Offered load over servers, below 1.

    Returns
    -------
    float
        Requests.

    Notes
    -----
    With ``u = 1 - z`` each root solves ``1 - u = w exp(-rho u)`` for a root of unity w; Lambert's W
    gives it and one step of Newton restores the digits lost near the branch point. Conjugate roots
    are counted twice. Rounding grows where the queue is short: 4e-11 at 16 servers and rho 0.3.

    References
    ----------
    .. [1] A. J. E. M. Janssen, J. S. H. van Leeuwaarden (2008), Back to the roots of the M/D/s
       queue and the works of Erlang, Crommelin and Pollaczek,
       https://doi.org/10.1111/j.1467-9574.2008.00395.x
    """
    c, rho = servers, utilization
    total = rho / (2.0 * (1.0 - rho)) - (c + c * rho - 1.0) / 2.0
    if c > 1:
        from scipy.special import lambertw  # noqa: PLC0415 - loaded when asked

        half = np.pi / c * np.arange(1, c // 2 + 1)
        turn = np.exp(2j * half)
        u = 1.0 + lambertw(-rho * turn * math.exp(-rho)) / rho
        less_one = 2j * np.sin(half) * np.exp(1j * half)
        decay = np.exp(-rho * u)
        miss = -less_one - u - turn * np.expm1(-rho * u)
        u = u - miss / (rho * turn * decay - 1.0)
        parts = (1.0 / u).real
        twice = 2.0 * math.fsum(parts)
        total += twice - (float(parts[-1]) if c % 2 == 0 else 0.0)
    return total


def _excess_terms(counts: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    """Return ``E (N - n)^+`` for N Poisson of mean ``rho n``, for each n."""
    from scipy.special import gammainc  # noqa: PLC0415 - loaded when asked

    point = np.exp(poisson.log_pmf(counts, np.full_like(counts, rho - 1.0)))
    beyond = gammainc(counts, rho * counts)
    value = counts * (point - (1.0 - rho) * beyond)
    if counts[0] * (1.0 - rho) ** 2 > _FAR:
        # the difference cancels where even the first term is far out; this sum does not
        length = math.ceil(min(-_NEGLIGIBLE / math.log(rho), 10.0 * math.sqrt(counts[-1]) + 40.0))
        steps = np.arange(1.0, length + 1.0)
        ratios = rho * counts[:, None] / (counts[:, None] + steps)
        value = point * (np.cumprod(ratios, axis=1) @ steps)
    return np.asarray(value)


def queue_by_sums(*, servers: int, utilization: float) -> float:
    """Return the mean number of waiting requests in M/D/c by Spitzer's identity.

    Parameters
    ----------
    servers : int
        Servers.
    utilization : float
        Offered load over servers, below 1.

    Returns
    -------
    float
        Requests.

    Notes
    -----
    ``sum over l of E(N_l - l c)^+ / l`` with N_l Poisson of mean ``l c rho``: the number that
    waits is the maximum of a random walk with steps N - c. Every term is positive.

    References
    ----------
    .. [1] F. Spitzer (1956), A combinatorial lemma and its application to probability theory,
       https://doi.org/10.1090/S0002-9947-1956-0079851-X
    """
    c, rho = servers, utilization
    last = math.ceil(_NEGLIGIBLE / (c * poisson.deviance(rho - 1.0))) + 1
    total = 0.0
    for start in range(1, last + 1, 65536):
        order = np.arange(start, min(start + 65536, last + 1), dtype=float)
        total += float(np.sum(_excess_terms(order * c, rho) / order))
    return total


@lru_cache(maxsize=4096)
def _mean_queue(servers: int, utilization: float) -> tuple[float, str]:
    # large counts cost the sums digits, in scipy's incomplete gamma function
    threshold = next(value for most, value in _SUMS_ABOVE if servers <= most)
    if servers * (1.0 - utilization) ** 2 > threshold:
        queue = queue_by_sums(servers=servers, utilization=utilization)
        return queue, "M/D/c by Spitzer's sum"
    queue = queue_by_roots(servers=servers, utilization=utilization)
    return queue, "M/D/c by Lambert-W roots"


class _Scaled:
    """The law of a wait at a service time other than one second."""

    def __init__(self, law: UnitLaw, seconds: float) -> None:
        self.law = law
        self.seconds = seconds

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t` seconds."""
        return self.law.survival(t / self.seconds)

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed [s]."""
        return self.seconds * self.law.quantile(p)


def mdc(
    *,
    servers: int,
    mean_service: float,
    arrival_rate: float | None = None,
    utilization: float | None = None,
) -> Wait:
    """Return the wait in M/D/c, where every service takes the same time.

    Parameters
    ----------
    servers : int
        Servers.
    mean_service : float
        Service time [s].
    arrival_rate : float, optional
        Requests per second; this or `utilization`.
    utilization : float, optional
        Offered load over servers, below 1.

    Returns
    -------
    Wait
        Exact; with its distribution up to utilization 0.99998.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    Poisson arrivals, first come first served. Relative error of the mean below 1e-12 up to 10,000
    servers and 1e-10 up to 100,000, of the distribution below 1e-11.

    References
    ----------
    .. [1] C. D. Crommelin (1932), Delay probability formulae when the holding times are constant,
       Post Office Electrical Engineers Journal 25, 41-50.
    .. [2] G. J. Franx (2001), A simple solution for the M/D/c waiting time distribution,
       https://doi.org/10.1016/S0167-6377(01)00108-0

    Examples
    --------
    >>> wait = mdc(servers=1, mean_service=1.0, utilization=0.5)
    >>> round(wait.mean, 12), round(wait.probability_of_wait, 12)
    (0.5, 0.5)
    """
    mean_service = positive("mean_service", mean_service, unit="s")
    load = load_of(
        servers=servers,
        mean_service=mean_service,
        arrival_rate=arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    c, rho = int(load.servers), load.utilization
    queue, method = _mean_queue(c, rho)
    law = _law(c, rho) if rho <= LARGEST_UTILIZATION else None
    return exact_wait(
        mean=mean_service * queue / (c * rho),
        probability_of_wait=law.probability_of_wait if law else None,
        method=method,
        relative=_RELATIVE if c <= 10_000 else _RELATIVE_LARGE,
        law=_Scaled(law, mean_service) if law else None,
        warnings=()
        if law
        else (f"no distribution above utilization {LARGEST_UTILIZATION}: only the mean is given",),
    )


@lru_cache(maxsize=256)
def _law(servers: int, utilization: float) -> UnitLaw:
    return unit_law(servers=servers, utilization=utilization)
