"""The wait behind a whole number of exponential services."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kvcost.queueing.result import ErrorClass, Wait

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BehindQueue", "queue_wait"]

_NEGLIGIBLE = 1e-18


class BehindQueue:
    """Distribution of the wait of a request that joins a queue with exponential services.

    Parameters
    ----------
    tails : array
        Probability that more than 0, 1, 2, ... requests are ahead, the one in service included.
    mean_service : float
        Mean service time [s].
    """

    def __init__(self, *, tails: NDArray[np.float64], mean_service: float) -> None:
        kept = np.flatnonzero(tails > _NEGLIGIBLE)
        self.tails = tails[: int(kept[-1]) + 1] if kept.size else tails[:1]
        self.mean_service = mean_service

    @property
    def mean(self) -> float:
        """Mean wait [s]."""
        return float(self.tails.sum()) * self.mean_service

    @property
    def second_moment(self) -> float:
        """Mean square of the wait [s^2]."""
        # E n (n + 1) from the tails
        return float(2 * np.dot(np.arange(1, self.tails.size + 1), self.tails)) * (
            self.mean_service**2
        )

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t` seconds."""
        from scipy.special import gammaln, xlogy  # noqa: PLC0415 - loaded when asked

        done = np.arange(self.tails.size)
        x = t / self.mean_service
        return float(np.dot(np.exp(xlogy(done, x) - x - gammaln(done + 1)), self.tails))

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed [s]."""
        from scipy.optimize import brentq  # noqa: PLC0415 - loaded when asked

        rest = 1 - p
        if self.tails[0] <= rest:
            return 0.0
        high = max(self.mean, self.mean_service)
        while self.survival(high) > rest:
            high *= 2
        return float(brentq(lambda t: self.survival(t) - rest, 0.0, high, rtol=1e-12))


def queue_wait(
    *,
    tails: NDArray[np.float64],
    mean_service: float,
    method: str,
    error: ErrorClass,
    low: float,
    high: float,
    warnings: tuple[str, ...] = (),
) -> Wait:
    """Return the result for a law of the number ahead.

    Parameters
    ----------
    tails, mean_service
        See `BehindQueue`.
    method, error, warnings
        See `Wait`.
    low, high : float
        Range of the mean [s].

    Returns
    -------
    Wait
        With its distribution.
    """
    law = BehindQueue(tails=tails, mean_service=mean_service)
    return Wait(
        mean=law.mean,
        mean_low=min(low, law.mean),
        mean_high=max(high, law.mean),
        probability_of_wait=float(tails[0]),
        method=method,
        error=error,
        warnings=warnings,
        law=law,
        second_moment=law.second_moment,
    )
