"""Bursts at phase-type servers: the Markov chain of requests present and phases of service."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.queueing.burst.occupancy import Occupancy, occupancy, occupancy_count
from kvcost.queueing.burst.steady import steady_levels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kvcost.queueing.service.base import Array
    from kvcost.queueing.service.phasetype import PhaseType

__all__ = ["BurstChain", "batch_seen"]

_MOST_STATES = 100_000
_MOST_FULL_STATES = 1_500
_SOLVED_BY_SERIES = 100


@dataclass(frozen=True)
class BurstChain:
    """Requests present at servers of phase-type service, under a burst and a background.

    Attributes
    ----------
    servers : int
        Servers.
    law : PhaseType
        Service time.
    requests : int
        Requests of the burst (its mean number where that is random).
    background_rate : float
        Poisson rate of other requests [1/s]; 0 starts from empty servers, otherwise from the
        stationary law.
    horizon : float
        Seconds from the first to the last arrival, roughly; sets how far the state reaches.
    random_count : bool
        The number of burst requests is Poisson.

    Notes
    -----
    The generator is sparse and used by uniformisation only, so the cost is the number of ticks
    times the number of states. States reach so far that what lies beyond has a chance near 1e-14.
    """

    servers: int
    law: PhaseType
    requests: int
    background_rate: float
    horizon: float
    random_count: bool = False

    @cached_property
    def occupancy(self) -> Occupancy:
        """Matrices of the busy servers."""
        return occupancy(self.servers, self.law)

    @cached_property
    def _stationary(self) -> tuple[int, Array]:
        """Waiting places that background fills, and its stationary law."""
        if self.background_rate == 0:
            return 0, np.ones(1)
        levels = steady_levels(self.occupancy, self.background_rate)
        return len(levels) - 1 - self.servers, np.concatenate(levels)

    @cached_property
    def places(self) -> int:
        """Waiting places that the state has room for."""
        mean = self.background_rate * self.horizon + (self.requests if self.random_count else 0)
        extra = 0
        if mean > 0:
            from scipy.special import pdtrik  # noqa: PLC0415 - loaded when asked

            extra = int(np.ceil(pdtrik(1 - 1e-15, mean))) + 1 if mean < 1e8 else int(1.1 * mean)
            extra = max(extra, int(mean + 8.5 * np.sqrt(mean) + 12))
        scheduled = 0 if self.random_count else self.requests
        if self.background_rate == 0:
            scheduled -= self.servers
        return self._stationary[0] + extra + max(scheduled, 1)

    def work(self, arrivals: str, *, gap: float) -> float:
        """Return roughly how many numbers an answer takes, to refuse what takes minutes.

        Parameters
        ----------
        arrivals : str
            As for `burst`.
        gap : float
            Seconds between evenly spaced arrivals.

        Returns
        -------
        float
            Multiplications.
        """
        top = occupancy_count(servers=self.servers, phases=self.law.phases)
        if arrivals == "batch" and self.background_rate == 0:
            return 4.0 * top * self.requests
        below = occupancy_count(servers=self.servers - 1, phases=self.law.phases + 1)
        if below > _MOST_STATES or top > _MOST_FULL_STATES:
            return math.inf
        states = below + top * (self.places + 1)
        fastest = self.servers * float(-self.law.matrix.diagonal().min()) + self.background_rate
        links = 2.0 + 2 * self.law.phases
        ticks = fastest * self.horizon
        steps = {
            "even": self.requests * (26 + fastest * gap + 9 * math.sqrt(fastest * gap)),
            "batch": float(self.requests),
            "uniform": self.requests * (self.requests + 25 + ticks + 9 * math.sqrt(ticks)),
            "poisson": self.requests * (10.0 + top + self._series(top, ticks)),
            "poisson_window": ticks + self.requests + 25,
        }[arrivals]
        return states * links * steps

    def _series(self, top: int, ticks: float) -> float:
        return 0.0 if top <= _SOLVED_BY_SERIES else 37 * (1 + ticks / self.requests)

    @property
    def levels(self) -> int:
        """Largest number of requests present that the state has room for."""
        return self.servers + self.places

    @cached_property
    def offsets(self) -> Array:
        """First state of each number of requests present."""
        return self._offsets(self.places)

    def _offsets(self, places: int) -> Array:
        sizes = [len(group) for group in self.occupancy.states]
        sizes += [sizes[-1]] * places
        return np.concatenate([[0], np.cumsum(sizes)]).astype(int)

    def _blocks(self, places: int, pick: Any) -> Any:
        from scipy import sparse  # noqa: PLC0415 - loaded when asked

        offsets = self._offsets(places)
        rows, columns, values = [], [], []
        for n in range(self.servers + places + 1):
            for shift, block in pick(n):
                if 0 <= n + shift <= self.servers + places:
                    entries = block.tocoo()
                    rows.append(entries.row + offsets[n])
                    columns.append(entries.col + offsets[n + shift])
                    values.append(entries.data)
        size = int(offsets[-1])
        joined = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_matrix((np.concatenate(values), joined), shape=(size, size))

    def _arrival(self, n: int) -> Any:
        from scipy import sparse  # noqa: PLC0415 - loaded when asked

        if n < self.servers:
            return self.occupancy.up[n]
        return sparse.identity(self.occupancy.stay.shape[0], format="csr")

    def _generator(self, places: int, arrival_rate: float) -> Any:
        from scipy import sparse  # noqa: PLC0415 - loaded when asked

        inside, down, depart = self.occupancy.inside, self.occupancy.down, self.occupancy.depart

        def pick(n: int) -> Iterator[tuple[int, Any]]:
            block = inside[min(n, self.servers)]
            yield 0, block - arrival_rate * sparse.identity(block.shape[0], format="csr")
            if n:
                yield -1, down[n] if n <= self.servers else depart
            if arrival_rate:
                yield 1, arrival_rate * self._arrival(n)

        return self._blocks(places, pick)

    @cached_property
    def arrive(self) -> Any:
        """Matrix (transposed) of one arrival; an arrival beyond the last place is lost."""
        return self._blocks(self.places, lambda n: [(1, self._arrival(n))]).T.tocsr()

    def _tick(self, extra_rate: float = 0.0) -> tuple[float, Any]:
        """Rate of ticks and the matrix (transposed) of what one does."""
        from scipy import sparse  # noqa: PLC0415 - loaded when asked

        arrivals = self.background_rate + extra_rate
        rate = self.occupancy.top_rate + arrivals
        generator = self._generator(self.places, arrivals)
        return rate, (sparse.identity(generator.shape[0]) + generator / rate).T.tocsr()

    @cached_property
    def start(self) -> Array:
        """Law of the state when the burst begins."""
        law = np.zeros(int(self.offsets[-1]))
        law[: self._stationary[1].size] = self._stationary[1]
        return law

    def seen_even(self, gap: float) -> Iterator[Array]:
        """Yield the law that each request of an evenly spaced burst meets.

        Parameters
        ----------
        gap : float
            Seconds between arrivals; 0 is a batch.

        Yields
        ------
        array
            Law of the state just before the arrival.
        """
        rate, tick = self._tick()
        chances = _poisson_chances(rate * gap)
        law = self.start
        for k in range(self.requests):
            if k:
                law = self.arrive @ law
                if gap:
                    moved, law = law, chances[0] * law
                    for chance in chances[1:]:
                        moved = tick @ moved
                        law = law + chance * moved
            yield law

    def seen_poisson(self, rate: float) -> Iterator[Array]:
        """Yield the law that each request meets when the gaps are exponential.

        Parameters
        ----------
        rate : float
            One over the mean gap [1/s].

        Yields
        ------
        array
            Law of the state just before the arrival.
        """
        ticks, tick = self._tick()
        keep = ticks / (ticks + rate)
        after_gap = self._after_gap(tick, keep)
        law = self.start
        for k in range(self.requests):
            if k:
                law = after_gap(self.arrive @ law)
            yield law

    def _after_gap(self, tick: Any, keep: float) -> Callable[[Array], Array]:
        """Return what turns a law into that after a geometric number of ticks."""
        if self.occupancy.stay.shape[0] <= _SOLVED_BY_SERIES:
            from scipy import sparse  # noqa: PLC0415 - loaded when asked
            from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded when asked

            solver = splu((sparse.identity(tick.shape[0]) - keep * tick).tocsc())
            return lambda law: np.asarray((1 - keep) * solver.solve(law))

        def summed(law: Array) -> Array:
            term = (1 - keep) * law
            total = term.copy()
            for _ in range(math.ceil(-37 / math.log(keep))):
                term = keep * (tick @ term)
                total += term
            return total

        return summed

    def seen_uniform(self, window: float) -> Iterator[Array]:
        """Yield the law that each request meets, in order, when all arrive uniformly in a window.

        Parameters
        ----------
        window : float
            Seconds, above 0.

        Yields
        ------
        array
            Law of the state just before the arrival.

        Notes
        -----
        Given their numbers, arrivals and ticks come in uniformly random order. So the state after
        s events, k of them arrivals, follows a recursion in s without any time in it; the law of
        the number of ticks before arrival k is a one-dimensional integral.
        """
        rate, tick = self._tick()
        weights = _ticks_before(self.requests, rate * window)
        total = weights.shape[1]
        laws = np.zeros((self.start.size, self.requests))
        laws[:, 0] = self.start
        seen = np.zeros_like(laws)
        count = np.arange(self.requests)
        for s in range(self.requests + total - 1):
            if s:
                ticked = tick @ laws
                arrived = self.arrive @ laws[:, :-1]
                laws = ticked * (np.maximum(s - count, 0) / s)
                laws[:, 1:] += arrived * (count[1:] / s)
            ticks = s - count
            valid = (ticks >= 0) & (ticks < total)
            chance = np.where(valid, weights[count, np.clip(ticks, 0, total - 1)], 0.0)
            used = chance > 0
            seen[:, used] += laws[:, used] * chance[used]
        yield from seen.T

    def seen_window(self, window: float) -> tuple[Array, Array]:
        """Return what requests of a Poisson burst in a window meet.

        Parameters
        ----------
        window : float
            Seconds; requests arrive at `requests` over `window` a second in it.

        Returns
        -------
        tuple of array
            Law met by a request picked from all, and law at the end of the window.
        """
        rate, tick = self._tick(self.requests / window)
        chances = _poisson_chances(rate * window)
        beyond = np.maximum(np.cumsum(chances[::-1])[::-1] - chances, 0.0) / (rate * window)
        law = self.start
        mean, end = beyond[0] * law, chances[0] * law
        for chance, later in zip(chances[1:], beyond[1:], strict=True):
            law = tick @ law
            mean = mean + later * law
            end = end + chance * law
        return mean / beyond.sum(), end

    def waiting(self, law: Array) -> Array:
        """Return the part of a law in which all servers are busy, by departures to wait for."""
        busy = law[self.offsets[self.servers] :]
        return np.asarray(busy.reshape(self.places + 1, -1))


def batch_seen(*, servers: int, law: PhaseType, requests: int) -> Array:
    """Return what the requests of a batch that meets empty servers wait for.

    Parameters
    ----------
    servers : int
        Servers.
    law : PhaseType
        Service time.
    requests : int
        Requests that arrive at once.

    Returns
    -------
    array
        Row j - 1: chance that a request waits for j departures, by the full state.
    """
    fresh = occupancy(servers, law).fresh
    return np.repeat(fresh[None, :] / requests, max(requests - servers, 0), axis=0)


def _poisson_chances(mean: float) -> Array:
    from scipy.special import gammaln, xlogy  # noqa: PLC0415 - loaded when asked

    last = int(mean + 9 * np.sqrt(mean) + 25)
    n = np.arange(last + 1)
    chances = np.exp(xlogy(n, mean) - mean - gammaln(n + 1.0))
    return np.asarray(chances / chances.sum())


def _ticks_before(requests: int, mean: float) -> Array:
    """Return the chance of i ticks before arrival k, `mean` ticks falling into the window."""
    from scipy.special import gammaln, roots_legendre, xlogy  # noqa: PLC0415 - loaded when asked

    last = int(mean + 9 * np.sqrt(mean) + 25)
    nodes, shares = roots_legendre(40 + (requests + last) // 2)
    time = (nodes + 1) / 2
    before, ticks = np.arange(requests)[:, None], np.arange(last + 1)[:, None]
    place = gammaln(requests) - gammaln(before + 1.0) - gammaln(requests - before + 0.0)
    place = place + xlogy(before, time) + xlogy(requests - 1 - before, 1 - time)
    number = xlogy(ticks, mean * time) - mean * time - gammaln(ticks + 1.0)
    weights = (np.exp(place) * (requests * shares / 2)) @ np.exp(number).T
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
