"""Distributions of waits that bursts give."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.queueing.burst.occupancy import Occupancy
    from kvcost.queueing.service.base import Array

__all__ = ["CdfLaw", "DepartureLaw", "SampleLaw"]

_HALVINGS = 60


@dataclass(frozen=True)
class SampleLaw:
    """Distribution of equally likely waits.

    Attributes
    ----------
    waits : array
        Sorted [s].
    """

    waits: Array

    def survival(self, t: float) -> float:
        """Return the share of the waits above `t`."""
        return 1 - float(np.searchsorted(self.waits, t, side="right")) / self.waits.size

    def quantile(self, p: float) -> float:
        """Return the smallest wait that a share `p` does not exceed."""
        place = int(np.ceil(p * self.waits.size - 1e-9)) - 1
        return float(self.waits[max(place, 0)])


@dataclass(frozen=True)
class CdfLaw:
    """Distribution known by its distribution function.

    Attributes
    ----------
    cdf : callable
        Probability that the wait is at most t.
    scale : float
        A typical wait, where the search for a quantile starts [s].
    jumps : bool
        Some positive waits have a chance of their own.
    """

    cdf: Callable[[float], float]
    scale: float
    jumps: bool

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t`."""
        return max(0.0, 1 - self.cdf(t))

    def quantile(self, p: float) -> float:
        """Return the smallest wait that a share `p` does not exceed, also where waits jump."""
        if self.cdf(0.0) >= p - 1e-13:
            return 0.0
        low, high = 0.0, self.scale
        while self.cdf(high) < p:
            low, high = high, 2 * high
        if not self.jumps:
            from scipy.optimize import brentq  # noqa: PLC0415 - loaded when asked

            return float(brentq(lambda t: self.cdf(t) - p, low, high, xtol=1e-13, rtol=1e-10))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self.cdf(middle) < p:
                low = middle
            else:
                high = middle
            if high - low <= 1e-11 * high:
                break
        return high


@dataclass(frozen=True)
class DepartureLaw:
    """Wait until the j-th departure of busy servers, j and their phases being random.

    Attributes
    ----------
    occupancy : Occupancy
        The servers.
    seen : array
        Row j - 1, column of a full state: probability to wait for j departures from it.

    Notes
    -----
    Uniformisation: the servers change at the ticks of a Poisson stream of the largest rate. What
    is left of `seen` after m ticks is found once; a tail is its mean over the number of ticks.
    """

    occupancy: Occupancy
    seen: Array
    _cache: dict[str, Array] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def left(self) -> Array:
        """Probability of waiting still, after 0, 1, 2, ... ticks."""
        rate = self.occupancy.top_rate
        stay = (self.occupancy.stay / rate).T.tocsr()
        depart = (self.occupancy.depart / rate).T.tocsr()
        law = np.array(self.seen.T, order="C")
        mass = [float(law.sum())]
        while mass[-1] > 1e-15:
            moved = law + stay @ law
            if law.shape[1] > 1:
                moved[:, :-1] += depart @ law[:, 1:]
            law = moved
            weight = law.sum(axis=0)
            while law.shape[1] > 1 and weight[law.shape[1] - 1] < 1e-18:
                law = np.ascontiguousarray(law[:, : law.shape[1] - 1])
            mass.append(float(law.sum()))
        return np.array(mass)

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t`."""
        from scipy.special import gammaln, xlogy  # noqa: PLC0415 - loaded when asked

        mean = self.occupancy.top_rate * t
        ticks = np.arange(self.left.size)
        chance = np.exp(xlogy(ticks, mean) - mean - gammaln(ticks + 1.0))
        return float(self.left @ chance)

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed."""
        from scipy.optimize import brentq  # noqa: PLC0415 - loaded when asked

        if self.left[0] <= 1 - p:
            return 0.0
        high = 1 / self.occupancy.top_rate
        while self.survival(high) > 1 - p:
            high *= 2
        return float(
            brentq(lambda t: self.survival(t) - (1 - p), 0.0, high, xtol=1e-14, rtol=1e-13)
        )

    @cached_property
    def mean(self) -> float:
        """Mean wait, from the mean times until the departures [s]."""
        return float((self.occupancy.departure_times(len(self.seen)) * self.seen).sum())

    def moment(self, k: int) -> float:
        """Return the first or second moment of the wait from the ticks."""
        ticks = np.arange(self.left.size)
        rate = self.occupancy.top_rate
        if k == 1:
            return float(self.left.sum()) / rate
        return float(2 * ((ticks + 1) * self.left).sum()) / rate**2
