"""Laws of the gaps between arrivals: Poisson, or burstier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.workload.checks import number

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GammaGaps", "Gaps", "OnOff", "PoissonGaps"]


class Gaps(Protocol):
    """A law of the gaps of a stream with a given rate."""

    def sample(self, rng: np.random.Generator, *, rate: float, size: int) -> NDArray[np.float64]:
        """Return `size` gaps, the first from time 0 [s]."""


@dataclass(frozen=True)
class PoissonGaps:
    """Independent exponential gaps: a Poisson stream."""

    def sample(self, rng: np.random.Generator, *, rate: float, size: int) -> NDArray[np.float64]:
        """Return `size` gaps, the first from time 0 [s]."""
        return rng.exponential(1 / rate, size)


@dataclass(frozen=True, kw_only=True)
class GammaGaps:
    """Independent gamma gaps: a renewal stream, more or less even than Poisson.

    Parameters
    ----------
    scv : float
        Squared coefficient of variation of a gap: 1 is Poisson, above is burstier.
    """

    scv: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scv", number("scv", self.scv, unit="", above=0.0))

    def sample(self, rng: np.random.Generator, *, rate: float, size: int) -> NDArray[np.float64]:
        """Return `size` gaps, the first from time 0 [s]."""
        return rng.gamma(1 / self.scv, self.scv / rate, size)


@dataclass(frozen=True, kw_only=True)
class OnOff:
    """A Poisson stream that turns on and off, each for an exponential time.

    Parameters
    ----------
    on, off : float
        Mean time that the stream is on and off [s].

    Notes
    -----
    This is the interrupted Poisson process, a Markov-modulated Poisson process of two states. It
    starts in a state drawn at random, and while on its rate is higher by (on + off)/on, so that
    the rate over all time is the one asked for.

    References
    ----------
    .. [1] W. Fischer, K. Meier-Hellstern (1993), The Markov-modulated Poisson process cookbook,
       https://doi.org/10.1016/0166-5316(93)90035-S
    """

    on: float
    off: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "on", number("on", self.on, unit="s", above=0.0))
        object.__setattr__(self, "off", number("off", self.off, unit="s"))

    def sample(self, rng: np.random.Generator, *, rate: float, size: int) -> NDArray[np.float64]:
        """Return `size` gaps, the first from time 0 [s]."""
        peak = rate * (self.on + self.off) / self.on
        # arrivals on a clock that runs only while the stream is on
        clock = np.cumsum(rng.exponential(1 / peak, size))
        if self.off == 0 or size == 0:
            return np.diff(clock, prepend=0.0)
        ends = np.zeros(0)
        while ends.size == 0 or ends[-1] < clock[-1]:
            left = clock[-1] - (ends[-1] if ends.size else 0.0)
            some = math.ceil(1.1 * left / self.on) + 8
            more = np.cumsum(rng.exponential(self.on, some))
            ends = np.concatenate([ends, more + (ends[-1] if ends.size else 0.0)])
        pauses = rng.exponential(self.off, ends.size)
        started_off = rng.random() < self.off / (self.on + self.off)
        before = rng.exponential(self.off) if started_off else 0.0
        waited = before + np.concatenate([np.zeros(1), np.cumsum(pauses)])
        return np.diff(clock + waited[np.searchsorted(ends, clock)], prepend=0.0)


def check_stream(*, requests: int | None, duration: float | None) -> None:
    """Refuse a stream that has both a number of requests and a duration, or neither."""
    if (requests is None) == (duration is None):
        raise InvalidValueError(
            field="requests or duration",
            value="both" if requests is not None else "neither",
            bound="must be given, one of the two",
            remedy="say when the stream ends",
        )
