"""Bursts played many times over, for what has no exact formula."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kvcost.queueing.burst.answer import Extremes
from kvcost.queueing.result import ErrorClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service.base import Array, Service

__all__ = ["Replications", "replicate"]

_NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class Replications:
    """Waits of many independent bursts.

    Attributes
    ----------
    waits : array
        One row a burst, one column a request in order of arrival [s]; nan where a burst of random
        number has fewer.
    backlogs : array
        Largest number waiting just after an arrival, by burst.
    """

    waits: Array
    backlogs: Array

    @property
    def all_waits(self) -> Array:
        """Waits of all requests, sorted [s]."""
        return np.sort(self.waits[~np.isnan(self.waits)])

    @property
    def mean(self) -> float:
        """Mean wait over requests, all bursts together [s]."""
        return float(np.nanmean(self.waits))

    @property
    def half_width(self) -> float:
        """Half of the 95% interval of `mean` [s]; bursts are the independent units."""
        number = (~np.isnan(self.waits)).sum(axis=1)
        residual = np.nansum(self.waits, axis=1) - self.mean * number
        spread = float(residual.std(ddof=1)) / math.sqrt(number.size)
        return _NORMAL_95 * spread / float(number.mean())

    def share_half_width(self, chosen: NDArray[np.bool_]) -> float:
        """Return half of the 95% interval of the share of requests that are chosen."""
        there = ~np.isnan(self.waits)
        number, hits = there.sum(axis=1), (chosen & there).sum(axis=1)
        residual = hits - hits.sum() / number.sum() * number
        spread = float(residual.std(ddof=1)) / math.sqrt(number.size)
        return _NORMAL_95 * spread / float(number.mean())

    @property
    def extremes(self) -> Extremes:
        """Longest wait, largest backlog and last wait."""
        filled = np.where(np.isnan(self.waits), -1.0, self.waits)
        longest = np.maximum(filled.max(axis=1), 0.0)
        number = (~np.isnan(self.waits)).sum(axis=1)
        last = self.waits[np.arange(number.size), np.maximum(number - 1, 0)][number > 0]
        mean = float(longest.mean())
        half = _NORMAL_95 * float(longest.std(ddof=1)) / math.sqrt(longest.size)
        relative = half / mean if mean > 0 else None
        text = f"simulated, {longest.size} bursts, 95% interval +-{half:.3g} s"
        return Extremes(
            maximum=mean,
            peak_backlog=float(self.backlogs.mean()),
            last_wait=float(last.mean()),
            error=ErrorClass(kind="simulated", relative=relative, text=text),
        )


def replicate(
    *,
    servers: int,
    service: Service,
    requests: int,
    window: float,
    arrivals: str,
    gap: float,
    background_rate: float,
    replications: int,
    seed: int,
) -> Replications:
    """Return the waits of independent bursts, first come, first served.

    Parameters
    ----------
    servers : int
        Servers.
    service : Service
        Service time.
    requests : int
        Requests of the burst (mean number for ``poisson_window``).
    window : float
        Seconds that the burst lasts.
    arrivals : str
        As for `burst`.
    gap : float
        Seconds between arrivals where they are evenly spaced.
    background_rate : float
        Other requests per second.
    replications : int
        Bursts.
    seed : int
        Of the random numbers.

    Returns
    -------
    Replications
        All bursts step forward together, one request at a time.
    """
    rng = np.random.default_rng(seed)
    burst = _burst_times(
        rng,
        requests=requests,
        window=window,
        arrivals=arrivals,
        gap=gap,
        replications=replications,
    )
    times, member = burst, np.isfinite(burst)
    if background_rate > 0:
        load = background_rate * service.mean / servers
        spread = 1 + service.scv
        warm = service.mean * (10 + 5 * spread + 10 * spread / (servers * (1 - load) ** 2))
        end = float(np.where(np.isfinite(burst), burst, 0.0).max())
        other = _poisson_times(rng, background_rate, -warm, end, replications)
        times = np.concatenate([other, burst], axis=1)
        member = np.concatenate([np.zeros(other.shape, dtype=bool), member], axis=1)
        order = np.argsort(times, axis=1, kind="stable")
        times = np.take_along_axis(times, order, axis=1)
        member = np.take_along_axis(member, order, axis=1)
    starts = _starts(times, service, servers, rng)
    return _collected(times, starts, member, burst.shape[1])


def _burst_times(
    rng: np.random.Generator,
    *,
    requests: int,
    window: float,
    arrivals: str,
    gap: float,
    replications: int,
) -> Array:
    shape = (replications, requests)
    if arrivals in {"even", "batch"}:
        return np.broadcast_to(np.arange(requests) * gap, shape).copy()
    if arrivals == "uniform":
        return np.sort(rng.uniform(0, window, shape), axis=1)
    if arrivals == "poisson":
        gaps = rng.exponential(window / requests, shape)
        gaps[:, 0] = 0.0
        return np.cumsum(gaps, axis=1)
    return _poisson_times(rng, requests / window, 0.0, window, replications)


def _poisson_times(
    rng: np.random.Generator, rate: float, start: float, end: float, replications: int
) -> Array:
    number = rng.poisson(rate * (end - start), replications)
    times = rng.uniform(start, end, (replications, max(int(number.max()), 1)))
    times[np.arange(times.shape[1]) >= number[:, None]] = np.inf
    return np.sort(times, axis=1)


def _starts(times: Array, service: Service, servers: int, rng: np.random.Generator) -> Array:
    rows = np.arange(times.shape[0])
    free = np.full((times.shape[0], servers), -np.inf)
    starts = np.empty_like(times)
    for k in range(times.shape[1]):
        first = free.argmin(axis=1)
        starts[:, k] = np.maximum(free[rows, first], times[:, k])
        free[rows, first] = starts[:, k] + service.sample(rng, rows.size)
    return starts


def _collected(times: Array, starts: Array, member: NDArray[np.bool_], width: int) -> Replications:
    waits = np.full((times.shape[0], width), np.nan)
    backlogs = np.zeros(times.shape[0])
    for row in range(times.shape[0]):
        mine = np.nonzero(member[row])[0]
        if not mine.size:
            continue
        mine_times = times[row, mine]
        waits[row, : mine.size] = starts[row, mine] - mine_times
        begun = np.searchsorted(starts[row], mine_times, side="right")
        backlogs[row] = max(0, int((mine + 1 - begun).max()))
    return Replications(waits, backlogs)
