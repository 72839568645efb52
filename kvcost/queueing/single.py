"""M/G/1: exact mean, and percentiles by inverting the transform of the wait."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kvcost.queueing.deterministic import mdc
from kvcost.queueing.qbd import mphc
from kvcost.queueing.result import Wait, exact_wait
from kvcost.queueing.service import Deterministic, Gamma, require_finite_variance
from kvcost.queueing.validation import Load, load_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from kvcost.queueing.service import Service

__all__ = ["LatticeWait", "TransformWait", "euler_inverse", "mg1"]

_EULER_A = 18.4
_EULER_TERMS = 15
_EULER_AVERAGED = 11
_DAMPING = 1e-9
_POINTS = 1 << 17
_MOST_POINTS = 1 << 22
_PER_MEAN = 400
_RELATIVE = 1e-13


def euler_inverse(transform: Callable[[NDArray[np.complexfloating]], object], t: float) -> float:
    """Return a function from its Laplace transform, by Euler summation.

    Parameters
    ----------
    transform : callable
        Laplace transform, for an array of complex arguments.
    t : float
        Where, above 0.

    Returns
    -------
    float
        The function at `t`.

    Notes
    -----
    Discretisation error 1e-8 of the function's bound; near a kink, up to 3e-5.

    References
    ----------
    .. [1] J. Abate, W. Whitt (1995), Numerical inversion of Laplace transforms of probability
       distributions, https://doi.org/10.1287/ijoc.7.1.36
    """
    last = _EULER_TERMS + _EULER_AVERAGED
    k = np.arange(last + 1)
    values = np.real(np.asarray(transform(_EULER_A / (2.0 * t) + 1j * np.pi * k / t)))
    terms = np.where(k % 2 == 0, values, -values)
    terms[0] /= 2.0
    sums = np.cumsum(terms)[_EULER_TERMS:]
    weights = np.array([math.comb(_EULER_AVERAGED, j) for j in range(_EULER_AVERAGED + 1)])
    return math.exp(_EULER_A / 2.0) / t * float(weights @ sums) / 2.0**_EULER_AVERAGED


class _BySearch(ABC):
    """A wait whose percentiles are roots of its survival."""

    utilization: float
    scale: float

    @abstractmethod
    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t` seconds."""

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed [s]."""
        from scipy.optimize import brentq  # noqa: PLC0415 - loaded when asked

        rest = 1.0 - p
        if self.utilization <= rest:
            return 0.0
        high = self.scale
        while self.survival(high) > rest:
            high *= 2.0
        low = high
        while low > 1e-12 * self.scale and self.survival(low) <= rest:
            low /= 2.0
        if low <= 1e-12 * self.scale:
            return 0.0
        return float(brentq(lambda t: self.survival(t) - rest, low, high, rtol=1e-11, xtol=1e-300))


class TransformWait(_BySearch):
    """The wait in M/G/1 by Euler inversion, for smooth service laws with a transform.

    Parameters
    ----------
    service : Service
        Law of service times.
    arrival_rate : float
        Requests per second.
    """

    def __init__(self, *, service: Service, arrival_rate: float) -> None:
        self.service = service
        self.arrival_rate = arrival_rate
        self.utilization = arrival_rate * service.mean
        self.scale = service.mean / (1.0 - self.utilization)

    def _transform(self, s: NDArray[np.complexfloating]) -> NDArray[np.complex128]:
        """Return the transform of the probability to wait longer."""
        rest = (1.0 - self.service.lst(s)) / (s * self.service.mean)
        rho = self.utilization
        return np.asarray(rho * (1.0 - rest) / (s * (1.0 - rho * rest)))

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t` seconds."""
        if t <= 0:
            return self.utilization
        return min(1.0, max(0.0, euler_inverse(self._transform, t)))


class LatticeWait(_BySearch):
    """The wait in M/G/1 on a fine lattice, for any service law, with atoms or heavy tails.

    The wait is a geometric sum of rests of services. The rests are rounded to a lattice of at least
    400 steps a mean service, and the sum is a division of Fourier transforms, damped against
    wrapping around. No transform of the law is needed, only the mean of what exceeds a time.

    Parameters
    ----------
    service : Service
        Law of service times.
    arrival_rate : float
        Requests per second.
    """

    def __init__(self, *, service: Service, arrival_rate: float) -> None:
        self.service = service
        self.utilization = arrival_rate * service.mean
        self.mean = arrival_rate * service.moment(2) / (2.0 * (1.0 - self.utilization))
        self.scale = self.mean
        self._span = 24.0 * self.mean + 8.0 * service.mean
        self._known: tuple[float, NDArray[np.float64]] | None = None

    def _reaching(self, t: float) -> tuple[float, NDArray[np.float64]]:
        """Return tails that reach at least to `t`, computed anew only where they do not."""
        if self._known is None or 2.0 * t > 0.99 * self._span:
            self._span = max(self._span, 4.0 * t)
            self._known = self._tails(self._span)
        return self._known

    def _tails(self, span: float) -> tuple[float, NDArray[np.float64]]:
        """Return the step, and the tails at odd multiples of half of it."""
        points = _POINTS
        while points < _MOST_POINTS and span / points > self.service.mean / _PER_MEAN:
            points *= 2
        step = span / points
        rest = self.service.equilibrium_survival(
            np.concatenate([[0.0], (np.arange(points) + 0.5) * step])
        )
        damping = np.exp(math.log(_DAMPING) / points * np.arange(points))
        transform = np.fft.rfft(-np.diff(rest) * damping)
        rho = self.utilization
        law = np.fft.irfft((1.0 - rho) / (1.0 - rho * transform), points) / damping
        half = points // 2
        return step, 1.0 - np.cumsum(law[:half])

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t` seconds."""
        step, tails = self._reaching(t)
        place = t / step - 0.5
        if place <= 0:
            share = t / step * 2.0
            return float(self.utilization * (1.0 - share) + tails[0] * share)
        below = int(place)
        share = place - below
        return max(0.0, float(tails[below] * (1.0 - share) + tails[below + 1] * share))


@lru_cache(maxsize=256)
def _law(service: Service, arrival_rate: float) -> TransformWait | LatticeWait:
    if isinstance(service, Gamma):
        return TransformWait(service=service, arrival_rate=arrival_rate)
    return LatticeWait(service=service, arrival_rate=arrival_rate)


def mg1(
    *,
    service: Service,
    arrival_rate: float | None = None,
    utilization: float | None = None,
) -> Wait:
    """Return the wait in M/G/1.

    Parameters
    ----------
    service : Service
        Law of service times, of finite variance.
    arrival_rate : float, optional
        Requests per second; this or `utilization`.
    utilization : float, optional
        Arrival rate times mean service time, below 1.

    Returns
    -------
    Wait
        Exact, with its distribution.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the variance of service is infinite.
    UnstableError
        If more work arrives than the server can do.

    Notes
    -----
    Poisson arrivals, first come first served. The mean is Pollaczek and Khinchine's. Percentiles
    of deterministic and phase-type laws are exact, those of gamma laws come by Euler inversion of
    the transform (probabilities to 1e-8), all others by inversion on a lattice (to 1e-6).

    References
    ----------
    .. [1] L. Takacs (1962), Introduction to the Theory of Queues, chapter 1.
    .. [2] J. Abate, W. Whitt (1995), Numerical inversion of Laplace transforms of probability
       distributions, https://doi.org/10.1287/ijoc.7.1.36

    Examples
    --------
    >>> from kvcost.queueing import Gamma
    >>> wait = mg1(service=Gamma(mean=1.0, scv=3.0), utilization=0.5)
    >>> wait.mean, wait.probability_of_wait
    (2.0, 0.5)
    """
    require_finite_variance(service)
    load = load_of(
        servers=1,
        mean_service=service.mean,
        arrival_rate=arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    if isinstance(service, Deterministic):
        return mdc(servers=1, mean_service=service.mean, utilization=load.utilization)
    if service.phase_type() is not None:
        return mphc(servers=1, service=service, utilization=load.utilization)
    return _general(service, load)


def _general(service: Service, load: Load) -> Wait:
    rho = load.utilization
    mean = rho * service.mean * (1.0 + service.scv) / (2.0 * (1.0 - rho))
    third = service.moment(3)
    second = 2.0 * mean**2 + load.arrival_rate * third / (3.0 * (1.0 - rho))
    law = _law(service, load.arrival_rate)
    inversion = "Euler" if isinstance(law, TransformWait) else "lattice"
    return exact_wait(
        mean=mean,
        probability_of_wait=rho,
        method=f"M/G/1 by Pollaczek-Khinchine, percentiles by {inversion} inversion",
        relative=_RELATIVE,
        law=law,
        second_moment=second,
    )
