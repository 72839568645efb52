"""Bursts on background load at servers of deterministic service, one service time at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kvcost.queueing.burst.bulk_deterministic import unit_queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kvcost.queueing.service.base import Array

    Value: TypeAlias = float | complex

__all__ = ["DeterministicBurst"]


@dataclass(frozen=True)
class DeterministicBurst:
    """A burst at servers of equal, deterministic services, with Poisson background.

    Times are in units of the service time.

    Attributes
    ----------
    servers : int
        Servers.
    background : float
        Background arrivals a service time; 0 starts from empty servers, otherwise from the
        stationary law.
    requests : int
        Requests of the burst.
    window : float
        Service times that the burst lasts.

    Notes
    -----
    With L(t) the requests present, ``L(t + 1) = max(L(t) - c, 0) + arrivals`` holds for every t,
    and a request that arrives at t waits at most ``k - u`` (0 < u <= 1) exactly when
    ``Y = max(L(t - u) - c, 0) + arrivals in (t - u, t)`` is below ``k c``; so its mean wait is the
    integral over u of ``E floor(Y / c)``. Between the times at which the burst changes, integrands
    are smooth and Gauss points are used. Exact up to rounding.

    A burst of a fixed number of uniform arrivals is a coefficient of the power series of Poisson
    bursts in their mean, found by Cauchy's integral on a circle of complex means.

    References
    ----------
    Crommelin 1932, Post Office Electrical Engineers' Journal 25; Franx 2001,
    doi:10.1016/S0167-6377(01)00108-0.
    """

    servers: int
    background: float
    requests: int
    window: float

    @cached_property
    def _waiting(self) -> Array:
        """Stationary law of the requests that wait for a server."""
        if self.background == 0:
            return np.ones(1)
        single = np.array([0.0, 1.0])
        law = unit_queue(servers=self.servers, batches=self.background, sizes=single)
        return law[: np.nonzero(law > 1e-17)[0][-1] + 1]

    @cached_property
    def _size(self) -> int:
        mean = self.requests + self.background * (self.window + 2)
        reach = self._waiting.size + self.servers + mean + 12 * math.sqrt(mean) + 40
        return 1 << math.ceil(math.log2(reach))

    def work(self, *, scheduled: bool, uniform: bool) -> float:
        """Return roughly how many numbers a mean takes, to refuse what takes minutes.

        Parameters
        ----------
        scheduled : bool
            Arrival times are fixed.
        uniform : bool
            A fixed number of uniform arrivals.

        Returns
        -------
        float
            Numbers transformed.
        """
        rows = 20 + 6.0 * (self.requests if scheduled else 2)
        rows += 0.7 * (self.background + self.requests / max(self.window, 1.0))
        turns = 10 * math.sqrt(self.requests) if uniform else 1.0
        return rows * turns * (self.window + 2) * self._size * 4

    @cached_property
    def _circle(self) -> Any:
        return np.exp(-2j * np.pi * np.arange(self._size) / self._size)

    def _burst_time(self, start: Array, end: Array) -> Array:
        return np.clip(end, 0, self.window) - np.clip(start, 0, self.window)

    def _follow(
        self, times: Array, *, schedule: Array, extra: Value
    ) -> Iterator[tuple[Array, Any]]:
        """Yield ``X = max(L - c, 0)`` at times in (-1, 0], then one service time later, and so on.

        Each item is the times and the laws, row by row, for as long as the burst lasts.
        """
        law = np.zeros((times.size, self._size), dtype=type(extra))
        law[:, : self._waiting.size] = self._waiting
        yield times, law
        while times.min() + 1 < self.window:
            later = times + 1
            mean = self.background + extra * self._burst_time(times, later)
            count = np.zeros(times.size, dtype=int)
            if schedule.size:
                count = np.searchsorted(schedule, later, side="right")
                count = count - np.searchsorted(schedule, times, side="right")
            present = self._arrived(law, mean, count)
            law = np.zeros_like(law)
            law[:, : self._size - self.servers] = present[:, self.servers :]
            law[:, 0] += present[:, : self.servers].sum(axis=1)
            times = later
            yield times, law

    def _arrived(self, law: Any, mean: Any, count: Any) -> Any:
        """Return the laws after Poisson arrivals of the given means and counted ones."""
        whole = np.iscomplexobj(law)
        there, back = (np.fft.fft, np.fft.ifft) if whole else (np.fft.rfft, np.fft.irfft)
        circle = self._circle if whole else self._circle[: self._size // 2 + 1]
        moved = there(law, axis=1) * np.exp(np.multiply.outer(mean, circle - 1))
        if count.any():
            turns = np.multiply.outer(count, np.arange(circle.size)) % self._size
            moved *= self._circle[turns]
        present = back(moved, self._size, axis=1)
        return present if whole else np.maximum(present, 0.0)

    def _residues(self, law: Any) -> tuple[Any, Any, Any]:
        """Return mean, transform of the residues modulo c, and mass of each row."""
        size = -(-self._size // self.servers) * self.servers
        padded = np.zeros((law.shape[0], size), dtype=law.dtype)
        padded[:, : self._size] = law
        folded = padded.reshape(law.shape[0], -1, self.servers).sum(axis=1)
        return law @ np.arange(self._size), np.fft.fft(folded, axis=1), law.sum(axis=1)

    def _mean_floor(self, residues: tuple[Any, Any, Any], row: Any, mean: Any, count: Any) -> Any:
        """Return ``E floor((X + Poisson(mean) + count) / c)`` with X of the given rows."""
        c = self.servers
        average, transform, mass = (part[row] for part in residues)
        turn = np.exp(-2j * np.pi * np.arange(1, c) / c)
        moved = transform[:, 1:] * np.exp(np.multiply.outer(mean, turn - 1))
        moved = moved * turn[None, :] ** (count[:, None] % c)
        rest = (c - 1) / 2 * mass + moved @ (1 / (np.conj(turn) - 1))
        value = (average + (mean + count) * mass - rest) / c
        return value if np.iscomplexobj(average) else np.real(value)

    def _points(self, corners: Array, density: float) -> tuple[Array, Array]:
        """Return Gauss points and weights on (0, 1) between the fractions of `corners`."""
        cuts = np.unique(np.concatenate([[0.0, 1.0], np.mod(corners, 1.0)]))
        cuts = cuts[np.concatenate([np.diff(cuts) > 1e-13, [True]])]
        points, weights = [], []
        for low, high in pairwise(cuts):
            mass = density * (high - low)
            node, weight = _gauss(6 + math.ceil(0.7 * mass + 3 * math.sqrt(mass)))
            points.append(low + (high - low) * node)
            weights.append((high - low) * weight)
        return np.concatenate(points), np.concatenate(weights)

    def means_at(self, times: Array, *, schedule: Array, extra: Value = 0.0) -> Any:
        """Return the mean wait at each time.

        Parameters
        ----------
        times : array
            Sorted, from 0 to the window; the schedule itself, or other times if it is empty.
        schedule : array
            Times of scheduled arrivals, sorted; a request waits for those before it.
        extra : float or complex
            Poisson arrivals of the burst, a service time, inside the window.

        Returns
        -------
        array
            Service times.
        """
        corners = np.concatenate([times, schedule, [0.0, self.window]])
        density = self.background + abs(extra)
        phases, weights = self._points(corners, density)
        totals = np.zeros(times.size, dtype=type(extra))
        for now, law in self._follow(phases - 1, schedule=schedule, extra=extra):
            row, who = np.nonzero((times > now[:, None]) & (times <= now[:, None] + 1))
            if not row.size:
                continue
            start, end = now[row], times[who]
            mean = self.background * (end - start) + extra * self._burst_time(start, end)
            count = np.zeros(row.size, dtype=int)
            if schedule.size:
                count = who - np.searchsorted(schedule, start, side="right")
            floors = self._mean_floor(self._residues(law), row, mean, count)
            np.add.at(totals, who, weights[row] * floors)
        return totals

    def window_mean(self, extra: Value) -> Any:
        """Return the mean wait of requests that arrive in the window at a Poisson rate.

        Parameters
        ----------
        extra : float or complex
            Their number a service time.

        Returns
        -------
        float or complex
            Service times.
        """
        density = self.background + abs(extra)
        phases, weights = self._points(np.array([self.window]), density)
        total: Any = 0.0
        none = np.zeros(0)
        for now, law in self._follow(phases - 1, schedule=none, extra=extra):
            low, high = np.maximum(now, 0.0), np.minimum(now + 1, self.window)
            node, share = _gauss(6 + math.ceil(0.7 * density + 3 * math.sqrt(density)))
            row = np.repeat(np.arange(now.size), node.size)
            length = np.maximum(high - low, 0.0)
            end = (low[:, None] + length[:, None] * node).ravel()
            weight = (weights[:, None] * length[:, None] * share).ravel()
            start = now[row]
            mean = self.background * (end - start) + extra * self._burst_time(start, end)
            count = np.zeros(row.size, dtype=int)
            used = weight > 0
            if used.any():
                floors = self._mean_floor(self._residues(law), row[used], mean[used], count[used])
                total = total + weight[used] @ floors
        return total / self.window

    def chances_at(self, x: float, times: Array, *, schedule: Array, extra: Value = 0.0) -> Any:
        """Return the chance that the wait at each time is at most `x` service times.

        Parameters
        ----------
        x : float
            Not negative.
        times, schedule, extra
            See `means_at`.

        Returns
        -------
        array
            Probabilities (complex for a complex `extra`).
        """
        periods = math.floor(x) + 1
        rest = periods - x
        start = times - rest
        steps = np.ceil(start - 1e-12).astype(int)
        steps = np.maximum(steps, 0)
        base, place = np.unique(np.minimum(start - steps, 0.0).round(14), return_inverse=True)
        ahead = np.zeros(times.size, dtype=int)
        if schedule.size:
            ahead = np.arange(times.size) - np.searchsorted(schedule, start, side="right")
        mean = self.background * rest + extra * self._burst_time(start, times)
        below = _poisson_cdf(mean, periods * self.servers)
        found = np.zeros(times.size, dtype=type(extra))
        room = np.arange(self._size)
        for step, (_, law) in enumerate(self._follow(base, schedule=schedule, extra=extra)):
            who = np.nonzero(steps == step)[0]
            left = periods * self.servers - 1 - ahead[who, None] - room
            chance = np.where(
                left >= 0,
                np.take_along_axis(below[who], np.clip(left, 0, below.shape[1] - 1), axis=1),
                0.0,
            )
            found[who] = (law[place[who]] * chance).sum(axis=1)
        return found

    def window_chance(self, x: float, extra: Value) -> Any:
        """Return the chance that a request of a Poisson burst in the window waits at most `x`.

        Parameters
        ----------
        x : float
            Service times, not negative.
        extra : float or complex
            See `window_mean`.

        Returns
        -------
        float or complex
            Probability.
        """
        cuts = [0.0, self.window]
        for anchor in (0.0, self.window):
            for shift in (0.0, math.floor(x) + 1 - x):
                first = math.fmod(anchor + shift, 1.0)
                cuts += list(np.arange(first, self.window, 1.0))
        edges = np.unique(cuts)
        density = self.background + abs(extra)
        points, weights = [], []
        for low, high in pairwise(edges):
            mass = density * (high - low)
            node, weight = _gauss(6 + math.ceil(0.7 * mass + 3 * math.sqrt(mass)))
            points.append(low + (high - low) * node)
            weights.append((high - low) * weight)
        none = np.zeros(0)
        chances = self.chances_at(x, np.concatenate(points), schedule=none, extra=extra)
        return np.concatenate(weights) @ chances / self.window

    def uniform(self, poisson: Callable[[complex], Any]) -> Any:
        """Return for uniform arrivals of `requests` what is known for a Poisson burst.

        Parameters
        ----------
        poisson : callable
            Value for a burst of the given (complex) rate, averaged over a tagged request.

        Returns
        -------
        float or array
            Value for one of `requests` uniform arrivals.
        """
        from scipy.special import gammaln  # noqa: PLC0415 - loaded when asked

        others = self.requests - 1
        if others == 0:
            return np.real(poisson(0j))
        # values may repeat with the number of requests modulo c, so the whole circle counts;
        # numbers that are many standard deviations away from `others` have no weight
        points = 2 * math.ceil(5 * math.sqrt(others)) + 20
        total: Any = 0.0
        for j in range(points // 2 + 1):
            angle = 2 * np.pi * j / points
            centre = others * np.exp(1j * angle)
            size = gammaln(others + 1) - others * math.log(others) + centre
            weight = np.exp(size - 1j * others * angle) / points
            twice = 1 if j in (0, points // 2) else 2
            total = total + twice * np.real(weight * poisson(complex(centre / self.window)))
        return total


def _gauss(count: int) -> tuple[Array, Array]:
    node, weight = np.polynomial.legendre.leggauss(count)
    return (node + 1) / 2, weight / 2


def _poisson_cdf(mean: Any, count: int) -> Any:
    """Return the chances of at most 0, 1, ..., count - 1 events for each (complex) mean."""
    from scipy.special import gammaln  # noqa: PLC0415 - loaded when asked

    n = np.arange(count)
    with np.errstate(divide="ignore"):
        logs = np.where(mean == 0, -745.0, np.log(np.where(mean == 0, 1.0, mean)))
    chances = np.exp(np.multiply.outer(logs, n) - mean[:, None] - gammaln(n + 1.0))
    return np.cumsum(chances, axis=1)
