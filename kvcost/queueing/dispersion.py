"""How clustered a stream of arrivals is, on every time scale, and what a queue sees of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.validation import not_negative, positive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

__all__ = ["TwoRates", "effective_scv", "index_of_dispersion"]

_SCALES = 400
_FEWEST_WINDOWS = 20


def index_of_dispersion(arrivals: Iterable[float], *, window: float) -> float:
    """Return the index of dispersion of measured arrivals in windows of one length.

    Parameters
    ----------
    arrivals : iterable of float
        Times of arrival [s].
    window : float
        Length of a window [s].

    Returns
    -------
    float
        Variance over mean of the number of arrivals in a window; 1 for Poisson arrivals.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the arrivals fill fewer than 20 windows.

    Notes
    -----
    Windows that follow one another from the first arrival on; the last, cut one is left out. With n
    windows the relative error of a Poisson stream is about ``sqrt(2 / n)``; more for memory longer
    than the window.

    References
    ----------
    .. [1] R. Gusella (1991), Characterizing the variability of arrival processes with indexes of
       dispersion, https://doi.org/10.1109/49.68448

    Examples
    --------
    >>> round(index_of_dispersion([float(k) for k in range(1000)], window=10.0), 6)
    0.0
    """
    window = positive("window", window, unit="s")
    times = np.sort(np.asarray(list(arrivals), dtype=float))
    if times.size == 0 or not np.isfinite(times).all():
        raise InvalidValueError(
            field="arrivals",
            value=f"{times.size} times",
            bound="must be finite times, at least one",
            remedy="give the time of each arrival in seconds",
        )
    windows = int((times[-1] - times[0]) / window)
    if windows < _FEWEST_WINDOWS:
        raise InvalidValueError(
            field="window",
            value=window,
            bound=f"gives {windows} windows, below {_FEWEST_WINDOWS}",
            remedy="shorten the window or measure for longer",
        )
    place = ((times - times[0]) / window).astype(int)
    counts = np.bincount(place[place < windows], minlength=windows)
    return float(counts.var(ddof=1) / counts.mean())


def effective_scv(
    *,
    dispersion: Callable[[float], float],
    arrival_rate: float,
    utilization: float,
    service_scv: float,
) -> float:
    """Return the arrival scv that a queue of some utilization sees in a stream with memory.

    Parameters
    ----------
    dispersion : callable
        Index of dispersion of the number of arrivals in a window, from its length in seconds.
    arrival_rate : float
        Requests per second.
    utilization : float
        Offered load over servers, below 1.
    service_scv : float
        Squared coefficient of variation of a service.

    Returns
    -------
    float
        Scv of independent gaps with the same mean work before a single server.

    Notes
    -----
    The longest time scale that matters grows with the load: the mean work is the supremum over x
    of ``-(1 - rho) x / rho + sqrt(2 x (I(x / lambda) + scv))``, in mean services [1]_. For constant
    dispersion this gives that constant.

    References
    ----------
    .. [1] W. Whitt, W. You (2018), Using robust queueing to expose the impact of dependence in
       single-server queues, https://doi.org/10.1287/opre.2017.1649

    Examples
    --------
    >>> seen = effective_scv(
    ...     dispersion=lambda t: 3.0, arrival_rate=1.0, utilization=0.9, service_scv=1.0
    ... )
    >>> round(seen, 3)
    3.0
    """
    drift = (1.0 - utilization) / utilization

    def index(x: float) -> float:
        found = float(dispersion(x / arrival_rate))
        return not_negative("dispersion", found, unit="1") + service_scv

    def gain(log_x: float) -> float:
        x = math.exp(log_x)
        return -drift * x + math.sqrt(2.0 * x * index(x))

    most = max(index(10.0**k / drift**2) for k in range(-2, 4))
    middle = math.log(max(most, 1e-9) / (2.0 * drift**2))
    places = np.linspace(middle - 16.0, middle + 2.0, _SCALES)
    best = float(places[int(np.argmax([gain(place) for place in places]))])
    step = float(places[1] - places[0])
    low, high = best - step, best + step
    for _ in range(60):
        one, two = low + 0.382 * (high - low), high - 0.382 * (high - low)
        if gain(one) < gain(two):
            low = one
        else:
            high = two
    work = max(0.0, gain((low + high) / 2.0))
    return max(0.0, 2.0 * drift * work - service_scv)


@dataclass(frozen=True, kw_only=True)
class TwoRates:
    """Poisson arrivals whose rate switches between two values (MMPP-2).

    Attributes
    ----------
    quiet_rate, busy_rate : float
        Requests per second in either state.
    quiet_seconds, busy_seconds : float
        Mean stay in either state [s].
    """

    quiet_rate: float
    busy_rate: float
    quiet_seconds: float
    busy_seconds: float

    def __post_init__(self) -> None:
        not_negative("quiet_rate", self.quiet_rate, unit="requests/s")
        positive("busy_rate", self.busy_rate, unit="requests/s")
        positive("quiet_seconds", self.quiet_seconds, unit="s")
        positive("busy_seconds", self.busy_seconds, unit="s")

    @property
    def _busy_share(self) -> float:
        return self.busy_seconds / (self.quiet_seconds + self.busy_seconds)

    @property
    def rate(self) -> float:
        """Mean arrival rate [1/s]."""
        return self.quiet_rate + self._busy_share * (self.busy_rate - self.quiet_rate)

    @property
    def mean(self) -> float:
        """Mean time between arrivals [s]."""
        return 1.0 / self.rate

    def dispersion(self, window: float) -> float:
        """Return the index of dispersion of the number of arrivals in a window.

        Parameters
        ----------
        window : float
            Length [s].

        Returns
        -------
        float
            1 for short windows; exact.
        """
        share = self._busy_share
        forget = 1.0 / self.quiet_seconds + 1.0 / self.busy_seconds
        spread = (self.busy_rate - self.quiet_rate) ** 2 * share * (1.0 - share)
        x = forget * window
        part = 1.0 + math.expm1(-x) / x if x > 1e-4 else x / 2.0 - x * x / 6.0
        return 1.0 + 2.0 * spread / (self.rate * forget) * part

    def sample(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Return the next times between arrivals, the first state drawn at random.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source.
        n : int
            How many.

        Returns
        -------
        array
            Seconds.
        """
        found: list[Any] = []
        count, now = 0, 0.0
        busy = bool(rng.random() < self._busy_share)
        while count < n + 1:
            stay = rng.exponential(self.busy_seconds if busy else self.quiet_seconds)
            rate = self.busy_rate if busy else self.quiet_rate
            times = now + np.sort(rng.random(int(rng.poisson(rate * stay)))) * stay
            found.append(times)
            count += times.size
            now += stay
            busy = not busy
        return np.diff(np.concatenate(found))[:n]
