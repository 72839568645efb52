"""Laws of how long prompts and answers are, in whole tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.workload.checks import number, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Fixed", "Geometric", "Lengths", "Lognormal", "as_lengths"]

_LONGEST = 2**40


class Lengths(Protocol):
    """A law of lengths."""

    @property
    def mean(self) -> float:
        """Mean [token]."""

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return lengths of at least one token."""


@dataclass(frozen=True)
class Fixed:
    """Every length the same.

    Parameters
    ----------
    tokens : int
        The length; at least 1.
    """

    tokens: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", whole("tokens", self.tokens, low=1, high=_LONGEST))

    @property
    def mean(self) -> float:
        """Mean [token]."""
        return float(self.tokens)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:  # noqa: ARG002
        """Return that length `size` times."""
        return np.full(size, self.tokens, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Lognormal:
    """Lengths whose logarithm is normal, rounded and clipped.

    Parameters
    ----------
    mean : float
        Mean before rounding and clipping [token].
    sigma : float
        Standard deviation of the logarithm.
    low, high : int
        Shortest and longest length.

    Notes
    -----
    Clipping moves the mean; `clipped_moments` gives what is left of it.

    Examples
    --------
    >>> law = Lognormal(mean=8192, sigma=1.0, low=64, high=131_072)
    >>> mean, square = law.clipped_moments()
    >>> round(mean), round(square / mean**2 - 1, 2)
    (8167, 1.59)
    """

    mean: float
    sigma: float
    low: int = 1
    high: int = _LONGEST

    def __post_init__(self) -> None:
        settle = object.__setattr__
        settle(self, "mean", number("mean", self.mean, unit="tokens", above=0.0))
        settle(self, "sigma", number("sigma", self.sigma, unit="", above=0.0))
        settle(self, "low", whole("low", self.low, low=1))
        settle(self, "high", whole("high", self.high, low=1))
        if self.high < self.low:
            raise InvalidValueError(
                field="high",
                value=self.high,
                bound=f"must be at least low, {self.low}",
                remedy="swap them",
            )

    @property
    def _mu(self) -> float:
        return math.log(self.mean) - self.sigma**2 / 2

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return lengths drawn at random."""
        drawn = np.clip(rng.lognormal(self._mu, self.sigma, size), self.low, self.high)
        return np.rint(drawn).astype(np.int64)

    def clipped_moments(self) -> tuple[float, float]:
        """Return the mean and the mean square after clipping, without the rounding."""
        return self._moment(1), self._moment(2)

    def _moment(self, order: int) -> float:
        mu, sigma = self._mu, self.sigma
        low, high = ((math.log(edge) - mu) / sigma for edge in (self.low, self.high))
        whole_moment = math.exp(order * mu + (order * sigma) ** 2 / 2)
        inside = _normal(high - order * sigma) - _normal(low - order * sigma)
        edges = self.low**order * _normal(low) + self.high**order * _normal(-high)
        return float(whole_moment * inside + edges)


@dataclass(frozen=True, kw_only=True)
class Geometric:
    """Lengths that stop with the same chance after each token.

    Parameters
    ----------
    mean : float
        Mean [token]; at least 1.
    """

    mean: float

    def __post_init__(self) -> None:
        if number("mean", self.mean, unit="tokens") < 1:
            raise InvalidValueError(
                field="mean",
                value=self.mean,
                bound="must be at least 1 token",
                remedy="give the mean of a length that is never zero",
            )

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return lengths drawn at random."""
        return rng.geometric(1 / self.mean, size).astype(np.int64)


def as_lengths(lengths: Lengths | int) -> Lengths:
    """Return a law of lengths: the one given, or the fixed length that a number stands for."""
    return Fixed(lengths) if isinstance(lengths, int | np.integer) else lengths


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2
