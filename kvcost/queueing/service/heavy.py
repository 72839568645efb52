"""Laws whose large values are more likely than an exponential law's."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.service.base import Array, ComplexArray, Service
from kvcost.queueing.validation import positive

__all__ = ["BoundedPareto", "Lognormal", "Pareto", "Weibull"]

_MOST_TERMS = 4_000_000


class _Quadrature(Service):
    """A law whose transform is a sum over nodes, fine enough for Euler inversion.

    The transform is an integral over the logarithm of the service time. Its integrand is analytic,
    so the trapezoidal rule converges exponentially; where the support is bounded, Gauss-Legendre
    panels do.
    """

    @property
    @abstractmethod
    def _nodes(self) -> tuple[Array, Array]:
        """Nodes and weights of the sum."""

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        x, weights = self._nodes
        s = np.asarray(s, dtype=complex)
        flat = s.ravel()
        step = max(1, _MOST_TERMS // x.size)
        parts = [
            np.exp(-np.multiply.outer(flat[i : i + step], x)) @ weights
            for i in range(0, flat.size, step)
        ]
        return np.concatenate(parts).reshape(s.shape) if parts else s


class Lognormal(_Quadrature):
    """Lognormal law, by mean and squared coefficient of variation.

    Parameters
    ----------
    mean : float
        Mean [s].
    scv : float
        Squared coefficient of variation, above 0.

    Examples
    --------
    >>> round(Lognormal(mean=1.0, scv=3.0).moment(3), 9)
    64.0
    """

    def __init__(self, *, mean: float, scv: float) -> None:
        super().__init__(mean=positive("mean", mean, unit="s"), scv=positive("scv", scv, unit="1"))

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"lognormal scv {self.scv:g}"

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        value: float = self.parameters["scv"]
        return value

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm."""
        return math.sqrt(math.log1p(self.scv))

    @property
    def mu(self) -> float:
        """Mean of the logarithm."""
        mean: float = self.parameters["mean"]
        return math.log(mean) - self.sigma**2 / 2

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        mean: float = self.parameters["mean"]
        return float(mean**k * (1 + self.scv) ** (k * (k - 1) / 2))

    def _upper(self, x: Any, shift: float) -> Array:
        from scipy.special import ndtr  # noqa: PLC0415 - loaded when asked

        with np.errstate(divide="ignore"):
            z = (np.log(np.asarray(x, dtype=float)) - self.mu) / self.sigma
        return np.asarray(ndtr(shift - z))

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        return self._upper(x, 0.0)

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        above = self.mean * self._upper(x, self.sigma)
        return np.asarray(np.maximum(above - np.asarray(x, dtype=float) * self.survival(x), 0.0))

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        step = min(0.05, 0.015 / self.sigma)
        z = np.arange(-9.0, 9.0 + step / 2, step)
        return np.exp(self.mu + self.sigma * z), step * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    @property
    def decay_limit(self) -> float:
        """Zero: no exponential moment exists."""
        return 0.0

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return rng.lognormal(self.mu, self.sigma, n)

    def scaled(self, factor: float) -> Lognormal:
        """Return the scaled law; see `Service.scaled`."""
        return Lognormal(mean=self.mean * factor, scv=self.scv)


class Weibull(_Quadrature):
    """Weibull law: an exponential time to a power.

    Parameters
    ----------
    shape : float
        Below 1 heavier than exponential, above 1 lighter.
    mean : float
        Mean [s].

    Examples
    --------
    >>> round(Weibull(shape=0.5, mean=1.0).scv, 12)
    5.0
    """

    shape: float

    def __init__(self, *, shape: float, mean: float) -> None:
        super().__init__(
            shape=positive("shape", shape, unit="1"), mean=positive("mean", mean, unit="s")
        )

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"Weibull shape {self.shape:g}"

    @property
    def scale(self) -> float:
        """Time that a share ``1 - 1/e`` of the services do not exceed [s]."""
        mean: float = self.parameters["mean"]
        return mean / math.gamma(1 + 1 / self.shape)

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        return self.scale**k * math.gamma(1 + k / self.shape)

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        return np.asarray(np.exp(-((np.asarray(x, dtype=float) / self.scale) ** self.shape)))

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        from scipy.special import gammaincc  # noqa: PLC0415 - loaded when asked

        power = (np.asarray(x, dtype=float) / self.scale) ** self.shape
        return np.asarray(self.mean * gammaincc(1 / self.shape, power))

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        step = min(0.02, 0.015 * self.shape)
        y = np.arange(-42.0 * max(1.0, self.shape), 5.0, step)
        return self.scale * np.exp(y / self.shape), step * np.exp(y - np.exp(y))

    @property
    def decay_limit(self) -> float:
        """Zero below shape 1, the rate at 1, infinite above."""
        if self.shape == 1:
            return 1 / self.scale
        return 0.0 if self.shape < 1 else math.inf

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return self.scale * rng.weibull(self.shape, n)

    def scaled(self, factor: float) -> Weibull:
        """Return the scaled law; see `Service.scaled`."""
        return Weibull(shape=self.shape, mean=self.mean * factor)


def _ordered(low: float, high: float) -> tuple[float, float]:
    low, high = positive("low", low, unit="s"), positive("high", high, unit="s")
    if low >= high:
        raise InvalidValueError(
            field="low",
            value=low,
            bound=f"must be below high {high:g} s",
            remedy="swap the two, or use Deterministic",
        )
    return low, high


class BoundedPareto(_Quadrature):
    """Pareto law cut off at a longest service.

    Parameters
    ----------
    exponent : float
        Exponent of the tail between the ends, above 0.
    low, high : float
        Shortest and longest service [s].

    Examples
    --------
    >>> round(BoundedPareto(exponent=1.5, low=1.0, high=100.0).mean, 9)
    2.702702703
    """

    exponent: float
    low: float
    high: float

    def __init__(self, *, exponent: float, low: float, high: float) -> None:
        low, high = _ordered(low, high)
        super().__init__(exponent=positive("exponent", exponent, unit="1"), low=low, high=high)

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"bounded Pareto {self.exponent:g} scv {self.scv:g}"

    @property
    def _norm(self) -> float:
        return -math.expm1(-self.exponent * math.log(self.high / self.low))

    def _power_integral(self, a: Any, order: float) -> Any:
        """Return the integral of ``exponent low^exponent x^(order-1) dx`` from `a` to the end."""
        ratio = np.log(self.high / np.asarray(a, dtype=float))
        scale = self.exponent * self.low**self.exponent
        if order == 0:
            return scale * ratio
        return scale * self.high**order * -np.expm1(-order * ratio) / order

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        return float(self._power_integral(self.low, k - self.exponent)) / self._norm

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        inside = np.clip(np.asarray(x, dtype=float), self.low, self.high)
        return np.asarray(self._power_integral(inside, -self.exponent) / self._norm)

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        x = np.asarray(x, dtype=float)
        inside = np.clip(x, self.low, self.high)
        above = self._power_integral(inside, 1 - self.exponent) / self._norm
        return np.asarray(np.maximum(above - x * self.survival(x), 0.0))

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        span = math.log(self.high / self.low)
        panels = max(4, math.ceil(span / 0.1))
        base, weight = np.polynomial.legendre.leggauss(24)
        width = span / panels
        y = ((np.arange(panels)[:, None] + (base + 1) / 2) * width).ravel()
        density = self.exponent * np.exp(-self.exponent * y) / self._norm
        return self.low * np.exp(y), np.tile(weight * width / 2, panels) * density

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return np.asarray(self.low * (1 - rng.random(n) * self._norm) ** (-1 / self.exponent))

    def scaled(self, factor: float) -> BoundedPareto:
        """Return the scaled law; see `Service.scaled`."""
        return BoundedPareto(exponent=self.exponent, low=self.low * factor, high=self.high * factor)


class Pareto(_Quadrature):
    """Pareto law without a longest service; its variance is infinite up to exponent 2.

    Parameters
    ----------
    exponent : float
        Exponent of the tail, above 1 so that a mean exists.
    low : float
        Shortest service [s].

    Examples
    --------
    >>> Pareto(exponent=1.5, low=1.0).moment(2)
    inf
    """

    exponent: float
    low: float

    def __init__(self, *, exponent: float, low: float) -> None:
        exponent = positive("exponent", exponent, unit="1")
        if exponent <= 1:
            raise InvalidValueError(
                field="exponent",
                value=exponent,
                bound="must be above 1, since the mean service time is infinite otherwise",
                remedy="state the longest service: BoundedPareto",
            )
        super().__init__(exponent=exponent, low=positive("low", low, unit="s"))

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"Pareto {self.exponent:g}"

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        if k >= self.exponent:
            return math.inf
        return self.exponent * self.low**k / (self.exponent - k)

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        inside = np.maximum(np.asarray(x, dtype=float), self.low)
        return np.asarray((inside / self.low) ** -self.exponent)

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        x = np.asarray(x, dtype=float)
        inside = np.maximum(x, self.low)
        tail = self.low * (inside / self.low) ** (1 - self.exponent) / (self.exponent - 1)
        return np.asarray(tail + np.maximum(self.low - x, 0.0))

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        span = 40 / self.exponent
        panels = math.ceil(span / 0.1)
        base, weight = np.polynomial.legendre.leggauss(24)
        width = span / panels
        y = ((np.arange(panels)[:, None] + (base + 1) / 2) * width).ravel()
        density = self.exponent * np.exp(-self.exponent * y)
        return self.low * np.exp(y), np.tile(weight * width / 2, panels) * density

    @property
    def decay_limit(self) -> float:
        """Zero: no exponential moment exists."""
        return 0.0

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        return np.asarray(self.low * (1 - rng.random(n)) ** (-1 / self.exponent))

    def scaled(self, factor: float) -> Pareto:
        """Return the scaled law; see `Service.scaled`."""
        return Pareto(exponent=self.exponent, low=self.low * factor)
