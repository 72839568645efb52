"""Laws that take a list of values: one, a few, or a measured sample."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.service.base import Array, ComplexArray, Service
from kvcost.queueing.validation import not_negative, positive

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Atoms", "Deterministic", "Empirical"]

_MOST_TERMS = 4_000_000


class Deterministic(Service):
    """Every service takes the same time.

    Parameters
    ----------
    mean : float
        That time [s].

    Examples
    --------
    >>> Deterministic(mean=0.25).moment(2)
    0.0625
    """

    def __init__(self, *, mean: float) -> None:
        super().__init__(mean=positive("mean", mean, unit="s"))

    @property
    def name(self) -> str:
        """What the law is called."""
        return "deterministic"

    @property
    def scv(self) -> float:
        """Zero."""
        return 0.0

    def moment(self, k: int) -> float:
        """Return the k-th power; see `Service.moment`."""
        mean: float = self.parameters["mean"]
        return mean**k

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        return np.where(np.asarray(x, dtype=float) < self.mean, 1.0, 0.0)

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        return np.asarray(np.maximum(self.mean - np.asarray(x, dtype=float), 0.0))

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        return np.asarray(np.exp(-np.asarray(s, dtype=complex) * self.mean))

    def sample(self, rng: np.random.Generator, n: int) -> Array:  # noqa: ARG002 - nothing varies
        """Return service times; see `Service.sample`."""
        return np.full(n, self.mean)

    def scaled(self, factor: float) -> Deterministic:
        """Return the scaled law; see `Service.scaled`."""
        return Deterministic(mean=self.mean * factor)


class _Values(Service):
    """Values in ascending order with their probabilities."""

    @property
    @abstractmethod
    def _v(self) -> Array:
        """Values, ascending."""

    @property
    @abstractmethod
    def _w(self) -> Array:
        """Their probabilities."""

    @cached_property
    def _tails(self) -> tuple[Array, Array]:
        """Probability and mean of everything from each value on."""
        weight = np.append(np.cumsum(self._w[::-1])[::-1], 0.0)
        mass = np.append(np.cumsum((self._w * self._v)[::-1])[::-1], 0.0)
        return weight, mass

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        return float(np.sum(self._w * self._v**k))

    @cached_property
    def _scv(self) -> float:
        mean = self.mean
        return float(np.sum(self._w * (self._v / mean - 1) ** 2))

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self._scv

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        after = np.searchsorted(self._v, np.asarray(x, dtype=float), side="right")
        return np.asarray(self._tails[0][after])

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        x = np.asarray(x, dtype=float)
        after = np.searchsorted(self._v, x, side="right")
        weight, mass = self._tails
        return np.asarray(np.maximum(mass[after] - x * weight[after], 0.0))

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        s = np.asarray(s, dtype=complex)
        flat = s.ravel()
        step = max(1, _MOST_TERMS // self._v.size)
        parts = [
            np.exp(-np.multiply.outer(flat[i : i + step], self._v)) @ self._w
            for i in range(0, flat.size, step)
        ]
        return np.concatenate(parts).reshape(s.shape) if parts else s

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return np.asarray(rng.choice(self._v, size=n, p=self._w))


def _tuple(field: str, values: Iterable[float]) -> tuple[float, ...]:
    numbers = tuple(float(v) for v in np.asarray(list(values), dtype=float).ravel())
    if not numbers:
        raise InvalidValueError(
            field=field,
            value=numbers,
            bound="must not be empty",
            remedy="give at least one service time",
        )
    for number in numbers:
        not_negative(field, number, unit="s" if field != "weights" else "1")
    return numbers


class Atoms(_Values):
    """A few possible service times, such as a cold and a warm prefill.

    Parameters
    ----------
    values : iterable of float
        Service times, not negative, not all zero [s].
    weights : iterable of float
        Their shares; scaled to sum to 1.

    Examples
    --------
    >>> Atoms(values=(2.0, 0.5), weights=(0.25, 0.75)).mean
    0.875
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]

    def __init__(self, *, values: Iterable[float], weights: Iterable[float]) -> None:
        times, shares = _tuple("values", values), _tuple("weights", weights)
        if len(times) != len(shares):
            raise InvalidValueError(
                field="weights",
                value=shares,
                bound=f"must be as many as the {len(times)} values",
                remedy="give one weight a value",
            )
        total = sum(shares)
        positive("weights", total, unit="1")
        merged: dict[float, float] = {}
        for time, share in sorted(zip(times, shares, strict=True)):
            if share > 0:
                merged[time] = merged.get(time, 0.0) + share / total
        super().__init__(values=tuple(merged), weights=tuple(merged.values()))
        positive("values", self.mean, unit="s")

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"{len(self.values)} atoms scv {self.scv:g}"

    @cached_property
    def _v(self) -> Array:
        return np.array(self.values)

    @cached_property
    def _w(self) -> Array:
        return np.array(self.weights)

    def scaled(self, factor: float) -> Atoms:
        """Return the scaled law; see `Service.scaled`."""
        return Atoms(values=[v * factor for v in self.values], weights=self.weights)


class Empirical(_Values):
    """Measured service times, each as likely as it occurs in the sample.

    Parameters
    ----------
    sample : iterable of float
        Service times, not negative, not all zero [s].

    Examples
    --------
    >>> Empirical([0.25, 0.5, 0.75]).mean
    0.5
    """

    def __init__(self, sample: Iterable[float]) -> None:
        if isinstance(sample, np.ndarray):
            array = np.array(sample, dtype=float).ravel()
        else:
            array = np.array(list(sample), dtype=float).ravel()
        if array.size == 0:
            raise InvalidValueError(
                field="sample",
                value=[],
                bound="must not be empty",
                remedy="give at least one service time",
            )
        wrong = array[~(np.isfinite(array) & (array >= 0))]
        if wrong.size:
            raise InvalidValueError(
                field="sample",
                value=float(wrong[0]),
                bound="must be finite and not below 0 s",
                remedy=f"drop or repair the {wrong.size} values that are not service times",
            )
        array.sort()
        array.setflags(write=False)
        super().__init__()
        self.__dict__["sorted_sample"] = array
        positive("sample mean", self.mean, unit="s")

    sorted_sample: Array

    @cached_property
    def _digest(self) -> int:
        return hash(self.sorted_sample.tobytes())

    def _key(self) -> tuple[Any, ...]:
        return (type(self), self.sorted_sample.size, self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empirical) and np.array_equal(
            self.sorted_sample, other.sorted_sample
        )

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Empirical({self.sorted_sample.size} values, mean={self.mean!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Empirical, (self.sorted_sample,))

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"sample of {self.sorted_sample.size} scv {self.scv:g}"

    @property
    def _v(self) -> Array:
        return self.sorted_sample

    @cached_property
    def _w(self) -> Array:
        return np.full(self.sorted_sample.size, 1.0 / self.sorted_sample.size)

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        return float(np.mean(self.sorted_sample**k))

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return np.asarray(rng.choice(self.sorted_sample, size=n))

    def scaled(self, factor: float) -> Empirical:
        """Return the scaled law; see `Service.scaled`."""
        return Empirical(self.sorted_sample * factor)
