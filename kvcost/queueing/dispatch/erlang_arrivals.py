"""One server whose requests come at every n-th event of a Poisson stream: E_n/G/1.

With ``Q`` the events of the stream during a wait, the queue obeys ``Q' = max(Q + N - n, 0)``, where
``N`` counts the events of a service and has the generating function ``K(z) = B*(r (1 - z))``. The
wait ``W`` has the transform ``W*(s) = Q(1 - s / r)``, so the n - 1 roots of ``z^n = K(z)`` inside
the unit circle give everything. A second route, without roots, is Spitzer's identity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.queueing.single import euler_inverse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service import Service
    from kvcost.queueing.service.base import ComplexArray

__all__ = ["ErlangArrivals", "ErlangArrivalsWait", "circle_mean"]

_EPS = 2.0**-52
_BLENDS = (1.0, 0.25, 0.0625)
_SMALLEST_SCV = 1e-6
_FIRST_POINTS = 4096
_MOST_POINTS = 1 << 18
_NOISE = 1e-14


@dataclass(frozen=True)
class ErlangArrivals:
    """E_n/G/1 by the roots of its characteristic equation.

    Attributes
    ----------
    every : int
        Events of the Poisson stream between two requests.
    rate : float
        Events per second.
    service : Service
        Law of service times.
    """

    every: int
    rate: float
    service: Service

    @property
    def load(self) -> float:
        """Events per service, below `every`."""
        return self.rate * self.service.mean

    def events(self, z: ComplexArray) -> ComplexArray:
        """Return the generating function of the events during a service.

        Parameters
        ----------
        z : array
            Complex, inside the unit circle or on it.

        Returns
        -------
        array
            ``K(z)``.
        """
        return self.service.lst(self.rate * (1 - z))

    @cached_property
    def roots(self) -> ComplexArray | None:
        """Roots inside the unit circle, or None where they could not all be found."""
        n = self.every
        if n == 1:
            return np.zeros(0, dtype=complex)
        turns = np.arange(1, n // 2 + 1)
        start = self._gamma_roots(np.exp(2j * np.pi * turns / n))
        for step in _BLENDS:
            half = self._followed(start, turns, step)
            if half is not None:
                mirrored = np.conj(half[:-1] if n % 2 == 0 else half)
                found = np.concatenate([half, mirrored])
                if self._are_all(found):
                    return found
        return None

    def _gamma_roots(self, unit: ComplexArray) -> ComplexArray:
        """Return the roots for a gamma law of the same mean and scv, by iteration."""
        scv = max(self.service.scv, _SMALLEST_SCV)
        z = 0.5 * unit
        for _ in range(10_000):
            last = z
            z = unit * (1 + scv * self.load * (1 - z)) ** (-1 / (scv * self.every))
            if np.max(np.abs(z - last)) < 1e-14:
                break
        return z

    def _log_events(self, z: ComplexArray) -> ComplexArray:
        """Return log K, its branch followed along straight lines from z = 1, where it is 0."""
        steps = 16 + math.ceil(2 * self.load)
        along = np.linspace(0, 1, steps + 1)[1:]
        path = np.log(self.events(1 + (z[:, None] - 1) * along))
        turned = np.unwrap(path.imag, axis=1)
        turned -= 2 * np.pi * np.round(turned[:, :1] / (2 * np.pi))
        return np.asarray(path[:, -1].real + 1j * turned[:, -1])

    def _followed(
        self, start: ComplexArray, turns: NDArray[np.int64], step: float
    ) -> ComplexArray | None:
        """Follow the roots from the gamma law to the law itself, by Newton's method."""
        scv = max(self.service.scv, _SMALLEST_SCV)
        n, z, width = self.every, start, 1e-5
        longest = min(0.3, 1.5 / self.load)
        share = 0.0
        with np.errstate(all="ignore"):
            branch = self._log_events(z)
            while share < 1:
                share = min(1.0, share + step)
                for _ in range(100):
                    gamma = -np.log1p(scv * self.load * (1 - z)) / scv
                    slope = self.load / (1 + scv * self.load * (1 - z))
                    points = np.concatenate([z, z + width, z - width])
                    here, right, left = np.split(np.log(self.events(points)), 3)
                    steepness = _unturned(right - left, 1) / (2 * width)
                    branch = branch + _unturned(here - branch, 1)
                    aim = (1 - share) * gamma + share * branch + 2j * np.pi * turns
                    move = _unturned(n * np.log(z) - aim, n)
                    move = move / (n / z - (1 - share) * slope - share * steepness)
                    move *= np.minimum(1, longest / np.maximum(np.abs(move), 1e-300))
                    z = z - move
                    if not np.all(np.abs(z) < 1.5):
                        return None
                    if np.max(np.abs(move)) < 4 * _EPS:
                        break
        return z

    def _are_all(self, z: ComplexArray) -> bool:
        """Tell whether these are n - 1 distinct roots, so all, by Rouche's theorem."""
        if np.any(np.abs(z) >= 1):
            return False
        miss = np.abs(1 - self.events(z) / z**self.every) / (self.every + self.load)
        gaps = np.abs(z[:, None] - z[None, :]) + 9 * np.eye(z.size)
        return bool(np.max(miss) < 1e-11 and np.min(gaps) > 1e-7)

    @cached_property
    def mean_and_error(self) -> tuple[float, float]:
        """Mean wait and its rounding error [s]."""
        if self.roots is None:
            return circle_mean(self)
        n, a = self.every, self.load
        pairs = self.rate**2 * self.service.moment(2)
        terms = np.real(1 / (1 - self.roots))
        mean = (pairs - n * (n - 1)) / (2 * (n - a)) + math.fsum(terms)
        size = (pairs + n * n) / (2 * (n - a)) + math.fsum(np.abs(terms))
        return max(mean, 0.0) / self.rate, 8 * _EPS * size / self.rate

    @property
    def probability_of_wait(self) -> float | None:
        """Share of the requests that wait; None without the roots."""
        if self.roots is None:
            return None
        idle = float(np.real(np.prod(1 / (1 - self.roots)))) * (self.every - self.load)
        return min(max(1 - idle, 0.0), 1.0)

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform of the wait; the roots must have been found.

        Parameters
        ----------
        s : array
            Complex, real part above 0 [1/s].

        Returns
        -------
        array
            ``E exp(-s W)``.
        """
        roots = self.roots if self.roots is not None else np.full(1, np.nan)
        z = 1 - np.asarray(s, dtype=complex) / self.rate
        # both sides divided by z^n, so that they stay of order 1 for large s
        inner = np.prod((1 - roots / z[..., None]) / (1 - roots), axis=-1)
        outer = 1 - np.exp(-self.every * np.log(z)) * self.service.lst(s)
        return np.asarray((self.every - self.load) * (1 - 1 / z) * inner / outer)


class ErlangArrivalsWait:
    """Distribution of the wait in E_n/G/1, by Euler inversion of its transform.

    Parameters
    ----------
    queue : ErlangArrivals
        The queue, its roots found.
    probability_of_wait, mean : float
        Share of the requests that wait, and the mean wait [s].
    """

    def __init__(self, queue: ErlangArrivals, *, probability_of_wait: float, mean: float) -> None:
        self.queue = queue
        self.probability_of_wait = probability_of_wait
        self.mean = mean

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t` seconds."""
        if t <= 0:
            return self.probability_of_wait
        tail = euler_inverse(lambda s: (1 - self.queue.lst(s)) / s, t)
        return min(max(tail, 0.0), self.probability_of_wait)

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed [s]."""
        from scipy.optimize import brentq  # noqa: PLC0415 - loaded when asked

        rest = 1 - p
        if self.probability_of_wait <= rest:
            return 0.0
        high = self.mean / self.probability_of_wait
        while self.survival(high) > rest:
            high *= 2
        low = high / 2
        while self.survival(low) <= rest and low > 1e-9 * self.mean:
            low /= 2
        if self.survival(low) <= rest:
            return 0.0
        return float(brentq(lambda t: self.survival(t) - rest, low, high, rtol=1e-10))


def _unturned(value: ComplexArray, turns: int) -> ComplexArray:
    """Take whole multiples of so many turns out of the imaginary part."""
    circle = 2 * np.pi * turns
    return np.asarray(value - 1j * circle * np.round(value.imag / circle))


def circle_mean(queue: ErlangArrivals) -> tuple[float, float]:
    """Return the mean wait by Spitzer's identity, its sums read off the unit circle.

    ``log(1 - K(z) / z^n)`` has the coefficients ``-sum_l P(N_1 + .. + N_l - l n = j) / l``, and
    those of j > 0 give ``E Q = sum j a_j``. No root is needed.

    Parameters
    ----------
    queue : ErlangArrivals
        The queue.

    Returns
    -------
    mean, error : float
        Seconds; the error is the last change as the points on the circle are doubled.
    """
    points = max(_FIRST_POINTS, 64 * queue.every)
    mean = _circle_mean(queue, points)
    error = math.inf
    while points < _MOST_POINTS and error > 1e-11 * mean:
        points *= 2
        last, mean = mean, _circle_mean(queue, points)
        error = abs(mean - last)
    return mean, max(error, _NOISE * queue.every / queue.rate)


def _circle_mean(queue: ErlangArrivals, points: int) -> float:
    half = points // 2
    z = np.exp(2j * np.pi * np.arange(1, half + 1) / points)
    # log(1 - 1/z) has no positive powers and takes away the singularity at 1
    ratio = (1 - queue.events(z) * np.exp(-queue.every * np.log(z))) / (1 - 1 / z)
    spectrum = np.log(np.concatenate([[complex(queue.every - queue.load)], ratio]))
    coefficients = -np.fft.irfft(np.conj(spectrum), points)[1:half]
    above = np.flatnonzero(np.abs(coefficients) > _NOISE)
    kept = int(above[-1]) + 1 if above.size else 0
    return float(np.dot(np.arange(1, kept + 1), coefficients[:kept])) / queue.rate
