"""Phase-type laws: the time until a small Markov chain ends."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.service.base import Array, ComplexArray, Service
from kvcost.queueing.validation import finite, positive

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PhaseType"]

_SLACK = 1e-9


class PhaseType(Service):
    """Phase-type law.

    Parameters
    ----------
    initial : iterable of float
        Probability to start in each phase; sums to 1.
    generator : iterable of iterable of float
        Rates between the phases [1/s]: not negative off the diagonal, rows sum to 0 or less, and
        the end is reached from every phase.

    Examples
    --------
    >>> two_stages = PhaseType(initial=(1, 0), generator=((-4, 4), (0, -4)))
    >>> two_stages.mean, two_stages.scv
    (0.5, 0.5)
    """

    initial: tuple[float, ...]
    generator: tuple[tuple[float, ...], ...]

    def __init__(self, *, initial: Iterable[float], generator: Iterable[Iterable[float]]) -> None:
        start = tuple(finite("initial", float(a), unit="1") for a in initial)
        rows = tuple(
            tuple(finite("generator", float(rate), unit="1/s") for rate in row) for row in generator
        )
        super().__init__(initial=start, generator=rows)
        self._check()

    def _refuse(self, field: str, value: object, bound: str, remedy: str) -> None:
        raise InvalidValueError(field=field, value=value, bound=bound, remedy=remedy)

    def _check(self) -> None:
        size = len(self.initial)
        if size == 0 or len(self.generator) != size or any(len(r) != size for r in self.generator):
            self._refuse(
                "generator",
                self.generator,
                f"must be a square matrix of the {size} phases of initial",
                "give one row and one column a phase",
            )
        start, rates = self.alpha, self.matrix
        if start.min() < 0 or abs(start.sum() - 1) > _SLACK:
            self._refuse(
                "initial",
                self.initial,
                "must be probabilities that sum to 1",
                "divide them by their sum",
            )
        scale = np.abs(rates).max()
        off = rates - np.diag(np.diag(rates))
        if off.min() < 0 or self.exit_rates.min() < -_SLACK * scale:
            self._refuse(
                "generator",
                self.generator,
                "must have rates of 0 or more off the diagonal and row sums of 0 or less",
                "put minus the total rate of leaving a phase on the diagonal",
            )
        if not self.decay_limit > 0:
            self._refuse(
                "generator",
                self.generator,
                "must lead to the end from every phase",
                "give each phase a way out",
            )

    @cached_property
    def alpha(self) -> Array:
        """Initial probabilities."""
        return np.array(self.initial)

    @cached_property
    def matrix(self) -> Array:
        """Rates between the phases [1/s]."""
        return np.array(self.generator)

    @cached_property
    def exit_rates(self) -> Array:
        """Rate of ending from each phase [1/s]."""
        return np.asarray(-self.matrix.sum(axis=1))

    @property
    def phases(self) -> int:
        """Number of phases."""
        return len(self.initial)

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"phase-type of {self.phases} scv {self.scv:g}"

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        vector: Array = np.ones(self.phases)
        for _ in range(k):
            vector = np.asarray(np.linalg.solve(-self.matrix, vector), dtype=float)
        return math.factorial(k) * float(self.alpha @ vector)

    def _tail(self, x: Any, end: Array) -> Array:
        from scipy.linalg import expm  # noqa: PLC0415 - loaded when asked

        x = np.asarray(x, dtype=float)
        powers = expm(self.matrix * x.ravel()[:, None, None])
        return np.asarray((self.alpha @ powers @ end).reshape(x.shape))

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        return self._tail(x, np.ones(self.phases))

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        rest = np.linalg.solve(-self.matrix, np.ones(self.phases))
        return self._tail(x, np.asarray(rest, dtype=float))

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        s = np.asarray(s, dtype=complex)
        shifted = s[..., None, None] * np.eye(self.phases) - self.matrix
        ends = np.broadcast_to(self.exit_rates[:, None], (*s.shape, self.phases, 1))
        return np.asarray((self.alpha @ np.linalg.solve(shifted, ends))[..., 0])

    @cached_property
    def decay_limit(self) -> float:
        """Rate of the tail [1/s]."""
        return float(-np.linalg.eigvals(self.matrix).real.max())

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        leave = -np.diag(self.matrix)
        onward = np.column_stack([self.matrix - np.diag(np.diag(self.matrix)), self.exit_rates])
        onward = np.maximum(onward, 0.0)
        ladder = np.cumsum(onward / onward.sum(axis=1, keepdims=True), axis=1)
        phase = rng.choice(self.phases, size=n, p=self.alpha / self.alpha.sum())
        total = np.zeros(n)
        active = np.arange(n)
        while active.size:
            total[active] += rng.exponential(1.0, active.size) / leave[phase]
            following = (rng.random(active.size)[:, None] > ladder[phase]).sum(axis=1)
            inside = following < self.phases
            active, phase = active[inside], following[inside]
        return total

    def scaled(self, factor: float) -> PhaseType:
        """Return the scaled law; see `Service.scaled`."""
        factor = positive("factor", factor, unit="1")
        return PhaseType(initial=self.initial, generator=self.matrix / factor)

    def phase_type(self) -> PhaseType:
        """Return the law itself."""
        return self
