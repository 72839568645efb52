"""Sums over the requests of a burst, gathered in parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.routing.even_replica import EACH, FIXED, HIT, SLOTS

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array
    from kvcost.routing.poisson_crowd import Crowd

__all__ = ["Followed", "Sums", "still_coming", "top_load"]


class Followed(NamedTuple):
    """What following a burst gives.

    Attributes
    ----------
    values, weights : array
        Waits of the requests behind the heads, and how many have each.
    parts : array
        Sums of the waits: behind the head, behind suffixes, behind copies, behind decode steps.
    """

    values: Array
    weights: Array
    parts: Array


class Sums:
    """Requests counted so far."""

    def __init__(self) -> None:
        self.count = 0.0
        self._values: list[Array] = []
        self._weights: list[Array] = []
        self._parts = np.zeros(4)

    def add(self, values: Array, weights: Array, head: float, decode: float) -> None:
        """Add waits; of their sum, so much is behind the head and behind decode steps."""
        self._values.append(values)
        self._weights.append(weights)
        total = float((values * weights).sum())
        self._parts += (head, total - head - decode, 0.0, decode)
        self.count += float(weights.sum())

    def add_crowd(self, found: Crowd, requests: float, more: float = 0.0) -> None:
        """Add requests that warm replicas take, each with so much more to wait for."""
        weights = found.weights * requests
        self.add(found.values + more, weights, 0.0, found.decode * requests)

    def done(self) -> Followed:
        """Return what was counted."""
        return Followed(np.concatenate(self._values), np.concatenate(self._weights), self._parts)


def top_load(gap: float, servers: int, costs: Array) -> int:
    """Return the largest load of warm replicas that is followed."""
    each = float(costs[HIT] + costs[FIXED] / costs[SLOTS] + costs[EACH])
    return int(min(6 + 18 * each / (gap * servers), 40))


def still_coming(times: Array, gap: float, events: int, *, even: bool) -> Array:
    """Return how likely requests are still to come, at each time."""
    if even:
        return (times < events * gap).astype(float)
    mean = np.maximum(times / gap, 1e-12)
    z = (events - mean) / np.sqrt(2 * mean)
    return np.array([0.5 * (1 + math.erf(v)) if abs(v) < 6 else float(v > 0) for v in z])
