"""The distribution of the wait in M/D/c, without a root.

The number that waits is the maximum of a random walk with steps N - c, N Poisson. By the
factorisation of Wiener and Hopf its generating function is the exponential of the positive powers
of ``-log(1 - exp(c rho (z - 1)) / z^c)``. On the circle ``|z| = 1/rho`` the argument of the
logarithm stays away from zero, so fast Fourier transforms give the coefficients, scaled by the
radius, to full precision in the tail as well. Franx' formula turns them into waits.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kvcost.ops import poisson

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LARGEST_UTILIZATION", "UnitLaw", "tail_root", "unit_law"]

LARGEST_UTILIZATION = 0.99998
"""Above it the transforms would need more than four million points."""

_DIGITS = 42.0


def tail_root(utilization: float) -> float:
    """Return the root above 1 of ``z = exp(rho (z - 1))``, less one.

    Parameters
    ----------
    utilization : float
        Offered load over servers, below 1.

    Returns
    -------
    float
        ``z - 1``; the number that waits in M/D/c decays as ``z`` to minus its size.
    """
    rho = utilization
    # start right of the root, where log(1 + y) - rho y is concave and falling
    y = max(2.0 * (1.0 - rho) / rho**2, 4.0 * math.log(1.0 / rho) / rho + 2.0 / rho)
    for _ in range(200):
        step = (math.log1p(y) - rho * y) / (1.0 / (1.0 + y) - rho)
        y -= step
        if abs(step) <= 1e-15 * y:
            break
    return y


def _queue_law(servers: int, rho: float) -> NDArray[np.float64]:
    """Return the probabilities of the number that waits, up to where they vanish."""
    decay = math.log1p(tail_root(rho))
    margin = min(-math.log(rho), decay + math.log(rho))
    points = max(_DIGITS / margin, 30.0 * math.sqrt(servers) + 64.0)
    size = 1 << math.ceil(math.log2(points))
    steps = np.arange(size // 2 + 1)
    angle = 2.0 * np.pi / size * steps
    # log of exp(c rho (z - 1)) / z^c on |z| = 1/rho, each part without cancellation at angle 0
    real = -servers * (poisson.deviance(rho - 1.0) + 2.0 * np.sin(angle / 2.0) ** 2)
    turns = 2.0 * np.pi / size * ((servers * steps) % size)
    positive = np.fft.irfft(-_log_one_less_exp(real, turns - servers * np.sin(angle)), size)
    positive[size // 2 :] = 0.0
    positive[0] = 0.0
    scale = np.exp(math.log(rho) * np.arange(size // 2))
    at_one = float(positive[: size // 2] @ scale)
    scaled = np.fft.irfft(np.exp(np.fft.rfft(positive) - at_one), size)[: size // 2]
    return np.asarray(np.maximum(scaled, 0.0) * scale)


def _log_one_less_exp(
    real: NDArray[np.float64], imaginary: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """Return ``log(1 - exp(w))`` for a negative real part, to full precision at both ends."""
    grown = np.exp(real)
    x, y = grown * np.cos(imaginary), grown * np.sin(imaginary)
    left = 2.0 * np.sin(imaginary / 2.0) ** 2 * grown - np.expm1(real)
    squared = np.where(grown < 0.5, np.log1p(x * (x - 2.0) + y * y), np.log(left**2 + y**2))
    return np.asarray(0.5 * squared + 1j * np.arctan2(-y, left))


class UnitLaw:
    """The wait in M/D/c at a service time of one second.

    Parameters
    ----------
    servers : int
        Servers.
    utilization : float
        Offered load over servers.
    """

    def __init__(self, *, servers: int, utilization: float) -> None:
        self.servers = servers
        self.utilization = utilization
        self._tails = self._queue_tails()
        self._decay = math.log1p(tail_root(utilization))

    def _queue_tails(self) -> NDArray[np.float64]:
        """Return the probabilities that more than n wait, down to 1e-17 of the first."""
        law = _queue_law(self.servers, self.utilization)
        tails = np.concatenate([np.cumsum(law[:0:-1])[::-1], [0.0]])
        kept = int(np.searchsorted(-tails, -1e-17 * tails[0]))
        return tails[: max(kept, 2)]

    def _beyond(self, n: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probability that more than n wait; 1 below zero."""
        last = self._tails.size - 1
        inside = np.clip(n, 0, last)
        value = self._tails[inside] * np.exp(-self._decay * np.maximum(n - last, 0))
        return np.where(n < 0, 1.0, value)

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t`."""
        from scipy.special import gammainc  # noqa: PLC0415 - loaded when asked

        k = math.floor(t) + 1
        mean = self.servers * self.utilization * (k - t)
        count = k * self.servers
        spread = 10.0 * math.sqrt(mean) + 40.0
        low, high = max(0, math.floor(mean - spread)), min(count - 1, math.ceil(mean + spread))
        total = float(gammainc(count, mean))
        if low <= high:
            j = np.arange(low, high + 1)
            total += float(poisson.pmf(j.astype(float), mean) @ self._beyond(count - 1 - j))
        return min(total, 1.0)

    @cached_property
    def probability_of_wait(self) -> float:
        """Probability to wait at all."""
        return self.survival(0.0)

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed."""
        from scipy.optimize import brentq  # noqa: PLC0415 - loaded when asked

        rest = 1.0 - p
        if self.probability_of_wait <= rest:
            return 0.0
        high = 1.0 / self.servers
        while self.survival(high) > rest:
            high *= 2.0
        low = 0.0 if high == 1.0 / self.servers else high / 2.0
        log_rest = math.log(rest)

        def miss(t: float) -> float:
            return math.log(max(self.survival(t), 1e-300)) - log_rest

        if miss(low) <= 0:
            return low
        return float(brentq(miss, low, high, xtol=1e-14, rtol=1e-13))


def unit_law(*, servers: int, utilization: float) -> UnitLaw:
    """Return the law of the wait in M/D/c at a service time of one second.

    Parameters
    ----------
    servers : int
        Servers.
    utilization : float
        Offered load over servers, above 0 and at most `LARGEST_UTILIZATION`.

    Returns
    -------
    UnitLaw
        With `survival` and `quantile`.

    Notes
    -----
    Relative error below 1e-11 down to tails of 1e-12; the tail beyond is continued at its exact
    rate.

    References
    ----------
    .. [1] G. J. Franx (2001), A simple solution for the M/D/c waiting time distribution,
       https://doi.org/10.1016/S0167-6377(01)00108-0
    """
    return UnitLaw(servers=servers, utilization=utilization)
