"""A wait whose tail is a matrix exponential, ``P(W > t) = beta exp(K t) 1``."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["MatrixTail"]

_TERMS = 18
_SMALL = 0.5


class MatrixTail:
    """A matrix-exponential wait.

    The exponential is computed once at a small step and squared upwards; the powers passed on the
    way are kept, so that a survival or a percentile costs a few products of a matrix and a vector.

    Parameters
    ----------
    start : array
        Row vector beta; its sum is the probability to wait.
    generator : array
        Matrix K, all of whose eigenvalues have negative real parts.
    """

    def __init__(self, *, start: Array, generator: Array) -> None:
        self.start = start
        self.generator = generator

    def scaled(self, seconds: float) -> MatrixTail:
        """Return the same wait in another unit of time.

        Parameters
        ----------
        seconds : float
            What the present unit is worth.

        Returns
        -------
        MatrixTail
            Sharing the powers already computed.
        """
        if seconds == 1.0:
            return self
        return _Stretched(self, seconds)

    @cached_property
    def _step(self) -> float:
        """Return the small step, at which a short power series is exact."""
        norm = float(np.abs(self.generator).sum(axis=1).max())
        return 2.0 ** math.floor(math.log2(_SMALL / norm))

    @cached_property
    def _ladder(self) -> list[Array]:
        """Return exp(K h), exp(2 K h), exp(4 K h), ... as far as they were needed."""
        matrix = self.generator * self._step
        size = len(matrix)
        power = np.eye(size) + matrix / _TERMS
        for k in range(_TERMS - 1, 0, -1):
            power = np.eye(size) + matrix @ power / k
        return [power]

    def _rung(self, k: int) -> Array:
        while len(self._ladder) <= k:
            self._ladder.append(self._ladder[-1] @ self._ladder[-1])
        return self._ladder[k]

    def _series(self, vector: Array) -> Array:
        """Return the power series of the tail from a vector on, in units of the small step."""
        terms = np.empty(_TERMS + 1)
        terms[0] = vector.sum()
        for k in range(1, _TERMS + 1):
            vector = vector @ self.generator * (self._step / k)
            terms[k] = vector.sum()
        return terms

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t`."""
        whole = int(t / self._step)
        vector, k = self.start, 0
        rest = t / self._step - whole
        while whole >> k:
            if whole >> k & 1:
                vector = vector @ self._rung(k)
            k += 1
        return max(0.0, float(np.polynomial.polynomial.polyval(rest, self._series(vector))))

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed."""
        rest = 1.0 - p
        vector = self.start
        if vector.sum() <= rest:
            return 0.0
        k = 0
        while True:
            ahead = self.start @ self._rung(k)
            if ahead.sum() <= rest:
                break
            k += 1
        steps = 0
        if k > 0:
            vector, steps = self.start @ self._rung(k - 1), 1 << (k - 1)
            for j in range(k - 2, -1, -1):
                ahead = vector @ self._rung(j)
                if ahead.sum() > rest:
                    vector, steps = ahead, steps + (1 << j)
        return self._step * (steps + _crossing(self._series(vector), rest))


def _crossing(series: Array, rest: float) -> float:
    """Return where a falling power series on [0, 1] meets a value."""
    from numpy.polynomial.polynomial import polyder, polyval  # noqa: PLC0415 - loaded when asked

    slope = polyder(series)
    low, high, x = 0.0, 1.0, 0.5
    for _ in range(60):
        miss = float(polyval(x, series)) - rest
        if miss > 0:
            low = x
        else:
            high = x
        steep = float(polyval(x, slope))
        following = x - miss / steep if steep < 0 else low
        if not low < following < high:
            following = (low + high) / 2.0
        if abs(following - x) <= 1e-14:
            return following
        x = following
    return x


class _Stretched(MatrixTail):
    """A tail in another unit of time, which shares the powers of the first."""

    def __init__(self, base: MatrixTail, seconds: float) -> None:
        super().__init__(start=base.start, generator=base.generator)
        self._base = base
        self._seconds = seconds

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t`."""
        return self._base.survival(t / self._seconds)

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed."""
        return self._seconds * self._base.quantile(p)
