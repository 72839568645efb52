"""A wait that is zero or exponential, as where service is exponential."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["ExponentialTail"]


@dataclass(frozen=True, kw_only=True)
class ExponentialTail:
    """A wait that is zero or, with some probability, exponential.

    Attributes
    ----------
    probability : float
        Probability to wait at all.
    rate : float
        Rate of the exponential part [1/s].
    """

    probability: float
    rate: float

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t` seconds."""
        return self.probability * math.exp(-self.rate * t)

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed [s]."""
        if self.probability <= 1.0 - p:
            return 0.0
        return math.log(self.probability / (1.0 - p)) / self.rate
