"""What a burst's answer holds beyond the wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kvcost.queueing.result import ErrorClass, Wait

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BurstWait", "Extremes"]


@dataclass(frozen=True, kw_only=True)
class Extremes:
    """The worst of a burst, on average over bursts.

    Attributes
    ----------
    maximum : float
        Mean of the longest wait [s].
    peak_backlog : float
        Mean of the largest number of requests that wait, seen just after an arrival of the burst.
    last_wait : float
        Mean wait of the last request [s].
    error : ErrorClass
        How far to trust `maximum`: exact, or simulated with its interval.
    """

    maximum: float
    peak_backlog: float
    last_wait: float
    error: ErrorClass


@dataclass(frozen=True, kw_only=True)
class BurstWait(Wait):
    """Wait of the requests of a burst; `mean` and percentiles weight requests equally.

    Attributes
    ----------
    request_means : tuple of float
        Mean wait of each request in order of arrival [s]; empty where their number is random or
        the method does not tell them apart.
    background_utilization : float
        Share of the servers that other requests take.
    arrivals : str
        How the requests arrive, with the gap where it is fixed.
    """

    request_means: tuple[float, ...] = field(default=(), repr=False)
    background_utilization: float
    arrivals: str
    _end_wait: float | None = field(default=None, repr=False)
    _find_extremes: Callable[[], Extremes] = field(repr=False, compare=False)

    @cached_property
    def extremes(self) -> Extremes:
        """Longest wait and largest backlog, found when first asked for."""
        return self._find_extremes()

    @property
    def maximum(self) -> float:
        """Mean over bursts of the longest wait [s]; `extremes.error` says how it was found."""
        return self.extremes.maximum

    @property
    def largest_mean(self) -> float:
        """Largest mean wait of any one request [s]: never above `maximum`."""
        return max(self.request_means) if self.request_means else self.drain_seconds

    @property
    def peak_backlog(self) -> float:
        """Mean over bursts of the largest number of requests that wait."""
        return self.extremes.peak_backlog

    @property
    def drain_seconds(self) -> float:
        """Mean time from the burst's end until all its requests have started [s].

        First come, first served: that is the wait of the last request (or of one that came at the
        end of the window).
        """
        if self.request_means:
            return self.request_means[-1]
        return self.extremes.last_wait if self._end_wait is None else self._end_wait

    @property
    def recovery_seconds(self) -> float:
        """Time from the burst's end until the queue is back at the background's level [s].

        A fluid estimate: the background keeps adding to what drains.
        """
        return self.drain_seconds / (1 - self.background_utilization)
