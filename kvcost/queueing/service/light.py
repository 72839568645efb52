"""Laws with exponential tails or bounded support."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.service.base import Array, ComplexArray, Service
from kvcost.queueing.validation import not_negative, positive, whole

if TYPE_CHECKING:
    from kvcost.queueing.service.phasetype import PhaseType

__all__ = ["Erlang", "Exponential", "Gamma", "ShiftedExponential", "Uniform"]


class Exponential(Service):
    """Exponential law: the rest of a service does not depend on its age.

    Parameters
    ----------
    mean : float
        Mean [s].

    Examples
    --------
    >>> Exponential(mean=0.5).scv
    1.0
    """

    def __init__(self, *, mean: float) -> None:
        super().__init__(mean=positive("mean", mean, unit="s"))

    @property
    def name(self) -> str:
        """What the law is called."""
        return "exponential"

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        mean: float = self.parameters["mean"]
        return math.factorial(k) * mean**k

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        return np.exp(-np.asarray(x, dtype=float) / self.mean)

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        return self.mean * self.survival(x)

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        return np.asarray(1 / (1 + np.asarray(s) * self.mean), dtype=complex)

    @property
    def decay_limit(self) -> float:
        """Rate of the tail [1/s]."""
        return 1 / self.mean

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return rng.exponential(self.mean, n)

    def scaled(self, factor: float) -> Exponential:
        """Return the scaled law; see `Service.scaled`."""
        return Exponential(mean=self.mean * factor)

    def phase_type(self) -> PhaseType:
        """Return one phase."""
        from kvcost.queueing.service.phasetype import PhaseType  # noqa: PLC0415 - a cycle

        return PhaseType(initial=(1.0,), generator=((-1 / self.mean,),))


class Gamma(Service):
    """Gamma law, by mean and squared coefficient of variation.

    Parameters
    ----------
    mean : float
        Mean [s].
    scv : float
        Squared coefficient of variation, above 0; the shape is its inverse.

    Examples
    --------
    >>> Gamma(mean=2.0, scv=0.5).moment(2)
    6.0
    """

    shape: float
    rate: float

    def __init__(self, *, mean: float, scv: float) -> None:
        scv = positive("scv", scv, unit="1")
        super().__init__(mean=positive("mean", mean, unit="s"), scv=scv)
        self._shape(1 / scv)

    def _shape(self, shape: float) -> None:
        self.__dict__["shape"] = shape
        self.__dict__["rate"] = shape / self.parameters["mean"]

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"gamma scv {self.scv:g}"

    @property
    def mean(self) -> float:
        """Mean [s]."""
        value: float = self.parameters["mean"]
        return value

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return 1 / self.shape

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        return math.prod(self.shape + j for j in range(k)) / self.rate**k

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        from scipy.special import gammaincc  # noqa: PLC0415 - loaded when asked

        return np.asarray(gammaincc(self.shape, self.rate * np.asarray(x, dtype=float)))

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        from scipy.special import gammaincc  # noqa: PLC0415 - loaded when asked

        x = np.asarray(x, dtype=float)
        whole_part = self.mean * gammaincc(self.shape + 1, self.rate * x)
        return np.asarray(np.maximum(whole_part - x * self.survival(x), 0.0))

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        base = 1 + np.asarray(s, dtype=complex) / self.rate
        return np.asarray(base**-self.shape)

    @property
    def decay_limit(self) -> float:
        """Rate of the tail [1/s]."""
        return self.rate

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return rng.gamma(self.shape, 1 / self.rate, n)

    def scaled(self, factor: float) -> Service:
        """Return the scaled law; see `Service.scaled`."""
        return Gamma(mean=self.mean * factor, scv=self.scv)

    def phase_type(self) -> PhaseType | None:
        """Return the stages where the shape is a whole number."""
        nearest = round(self.shape)
        if nearest >= 1 and abs(self.shape - nearest) < 1e-12 * nearest:
            return Erlang(stages=nearest, mean=self.mean).phase_type()
        return None


class Erlang(Gamma):
    """Erlang law: a sum of equal exponential stages.

    Parameters
    ----------
    stages : int
        Number of stages; the squared coefficient of variation is its inverse.
    mean : float
        Mean of the whole service [s].

    Examples
    --------
    >>> Erlang(stages=4, mean=1.0).scv
    0.25
    """

    stages: int

    def __init__(self, *, stages: int, mean: float) -> None:
        Service.__init__(
            self, stages=whole("stages", stages), mean=positive("mean", mean, unit="s")
        )
        self._shape(float(self.parameters["stages"]))

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"Erlang-{self.stages}"

    def scaled(self, factor: float) -> Erlang:
        """Return the scaled law; see `Service.scaled`."""
        return Erlang(stages=self.stages, mean=self.mean * factor)

    def phase_type(self) -> PhaseType:
        """Return the stages in a row."""
        from kvcost.queueing.service.phasetype import PhaseType  # noqa: PLC0415 - a cycle

        stages, rate = self.stages, self.rate
        generator = np.diag(np.full(stages, -rate)) + np.diag(np.full(stages - 1, rate), 1)
        return PhaseType(
            initial=(1.0,) + (0.0,) * (stages - 1),
            generator=tuple(tuple(map(float, row)) for row in generator),
        )


class ShiftedExponential(Service):
    """A fixed time and then an exponential one.

    Parameters
    ----------
    shift : float
        Shortest service [s].
    mean : float
        Mean of the whole service, above `shift` [s].

    Examples
    --------
    >>> ShiftedExponential(shift=0.5, mean=1.0).scv
    0.25
    """

    shift: float

    def __init__(self, *, shift: float, mean: float) -> None:
        mean = positive("mean", mean, unit="s")
        shift = not_negative("shift", shift, unit="s")
        if shift >= mean:
            raise InvalidValueError(
                field="shift",
                value=shift,
                bound=f"must be below the mean {mean:g} s",
                remedy="use Deterministic where service never varies",
            )
        super().__init__(shift=shift, mean=mean)

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"shifted exponential scv {self.scv:g}"

    @property
    def _rest(self) -> float:
        mean: float = self.parameters["mean"]
        return mean - self.shift

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        rest = self._rest
        return sum(
            math.comb(k, j) * self.shift ** (k - j) * math.factorial(j) * rest**j
            for j in range(k + 1)
        )

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        beyond = np.maximum(np.asarray(x, dtype=float) - self.shift, 0.0)
        return np.asarray(np.exp(-beyond / self._rest))

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        before = np.maximum(self.shift - np.asarray(x, dtype=float), 0.0)
        return np.asarray(before + self._rest * self.survival(x))

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        s = np.asarray(s, dtype=complex)
        return np.asarray(np.exp(-s * self.shift) / (1 + s * self._rest))

    @property
    def decay_limit(self) -> float:
        """Rate of the tail [1/s]."""
        return 1 / self._rest

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return self.shift + rng.exponential(self._rest, n)

    def scaled(self, factor: float) -> ShiftedExponential:
        """Return the scaled law; see `Service.scaled`."""
        return ShiftedExponential(shift=self.shift * factor, mean=self.mean * factor)


class Uniform(Service):
    """Every service time between two ends is equally likely.

    Parameters
    ----------
    low, high : float
        The ends [s].

    Examples
    --------
    >>> Uniform(low=0.0, high=2.0).moment(2)
    1.3333333333333333
    """

    low: float
    high: float

    def __init__(self, *, low: float, high: float) -> None:
        low = not_negative("low", low, unit="s")
        high = positive("high", high, unit="s")
        if low >= high:
            raise InvalidValueError(
                field="low",
                value=low,
                bound=f"must be below high {high:g} s",
                remedy="swap the two, or use Deterministic",
            )
        super().__init__(low=low, high=high)

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"uniform scv {self.scv:g}"

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        return sum(self.low**j * self.high ** (k - j) for j in range(k + 1)) / (k + 1)

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        share = (self.high - np.asarray(x, dtype=float)) / (self.high - self.low)
        return np.asarray(np.clip(share, 0.0, 1.0))

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        x = np.asarray(x, dtype=float)
        inside = np.clip(x, self.low, self.high)
        return np.asarray(
            (self.high - inside) ** 2 / (2 * (self.high - self.low)) + np.maximum(self.low - x, 0.0)
        )

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        s = np.asarray(s, dtype=complex)
        z = s * (self.high - self.low)
        small = np.abs(z) < 1e-4
        safe = np.where(small, 1.0, z)
        ratio = np.where(small, 1 - z / 2 + z**2 / 6 - z**3 / 24, -np.expm1(-safe) / safe)
        return np.asarray(np.exp(-s * self.low) * ratio)

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return rng.uniform(self.low, self.high, n)

    def scaled(self, factor: float) -> Uniform:
        """Return the scaled law; see `Service.scaled`."""
        return Uniform(low=self.low * factor, high=self.high * factor)
