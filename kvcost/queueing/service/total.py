"""The sum of two independent service times."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.queueing.service.base import Array, ComplexArray, Service
from kvcost.queueing.service.discrete import Atoms, Deterministic, Empirical
from kvcost.queueing.service.phasetype import PhaseType

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Total", "nodes_of", "total"]

_BINS = 2000
_NEGLIGIBLE = 1e-13


def nodes_of(service: Service) -> tuple[Array, Array]:
    """Return values and weights that stand for a law.

    Parameters
    ----------
    service : Service
        The law.

    Returns
    -------
    values, weights : array
        Exact for laws of atoms; else the mean and probability of each of 2,000 bins, so that means
        are kept and smooth functions are off by the square of a bin.
    """
    if isinstance(service, Deterministic):
        return np.array([service.mean]), np.array([1.0])
    if isinstance(service, Atoms | Empirical):
        return service._v, service._w
    far = service.mean
    while float(service.survival(far)) > _NEGLIGIBLE and far < 1e6 * service.mean:
        far *= 2
    edges = far * np.linspace(0, 1, _BINS + 1) ** 2
    tails, excess = service.survival(edges), service.stop_loss(edges)
    tails, excess = np.append(1.0, tails[1:]), np.append(service.mean, excess[1:])
    tails[-1] = 0.0
    weights = -np.diff(tails)
    sums = edges[:-1] * tails[:-1] - edges[1:] * tails[1:] - np.diff(excess)
    sums[-1] += excess[-1]
    kept = weights > 1e-300
    return sums[kept] / weights[kept], weights[kept]


class Total(Service):
    """Law of the sum of two independent times; make it with `total`.

    Parameters
    ----------
    first, second : Service
        Laws of the parts.

    Examples
    --------
    >>> from kvcost.queueing.service import Deterministic, Uniform
    >>> law = Total(first=Uniform(low=0.0, high=2.0), second=Deterministic(mean=3.0))
    >>> law.mean, float(law.survival(4.0))
    (4.0, 0.5)
    """

    first: Service
    second: Service

    def __init__(self, *, first: Service, second: Service) -> None:
        super().__init__(first=first, second=second)

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"{self.first.name} plus {self.second.name}"

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        a = [1.0, *(self.first.moment(j) for j in range(1, k + 1))]
        b = [1.0, *(self.second.moment(j) for j in range(1, k + 1))]
        return sum(math.comb(k, j) * a[j] * b[k - j] for j in range(k + 1))

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        return nodes_of(self.second)

    def _mixed(
        self, function: Callable[[Any], Array], before: Callable[[Array], Array], x: Any
    ) -> Array:
        """Return the mean over the second part of a function of the rest for the first."""
        values, weights = self._nodes
        x = np.asarray(x, dtype=float)
        result = np.empty(x.size)
        for i, at in enumerate(x.ravel()):
            rest = at - values
            inside = np.where(rest > 0, function(np.maximum(rest, 0.0)), before(rest))
            result[i] = weights @ inside
        return np.asarray(result.reshape(x.shape))

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        return self._mixed(self.first.survival, np.ones_like, x)

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        return self._mixed(self.first.stop_loss, lambda rest: self.first.mean - rest, x)

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        return np.asarray(self.first.lst(s) * self.second.lst(s))

    @property
    def decay_limit(self) -> float:
        """The smaller of the parts' limits [1/s]."""
        return min(self.first.decay_limit, self.second.decay_limit)

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return self.first.sample(rng, n) + self.second.sample(rng, n)

    def scaled(self, factor: float) -> Total:
        """Return the scaled law; see `Service.scaled`."""
        return Total(first=self.first.scaled(factor), second=self.second.scaled(factor))


def total(first: Service, second: Service) -> Service:
    """Return the law of the sum of two independent times.

    Parameters
    ----------
    first, second : Service
        Laws of the parts.

    Returns
    -------
    Service
        Deterministic or phase-type where both parts are, else a `Total`.

    Examples
    --------
    >>> from kvcost.queueing.service import Exponential
    >>> total(Exponential(mean=1.0), Exponential(mean=1.0)).scv
    0.5
    """
    if isinstance(first, Deterministic) and isinstance(second, Deterministic):
        return Deterministic(mean=first.mean + second.mean)
    one, two = first.phase_type(), second.phase_type()
    if one is None or two is None:
        return Total(first=first, second=second)
    exits = -one.matrix.sum(axis=1)
    generator = np.block(
        [
            [one.matrix, np.outer(exits, two.alpha)],
            [np.zeros((two.phases, one.phases)), two.matrix],
        ]
    )
    return PhaseType(
        initial=(*one.initial, *(0.0,) * two.phases),
        generator=tuple(tuple(map(float, row)) for row in generator),
    )
