"""What every law of service times can say."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kvcost.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from kvcost.queueing.service.phasetype import PhaseType

__all__ = ["Array", "ComplexArray", "Service", "require_finite_variance"]

Array: TypeAlias = "NDArray[np.float64]"
ComplexArray: TypeAlias = "NDArray[np.complex128]"


def _rebuild(kind: type[Service], parameters: dict[str, Any]) -> Service:
    return kind(**parameters)


class Service(ABC):
    """A law of service times, in seconds.

    A law does not change once made; equal parameters are equal laws, so a law can be the key of a
    cache.

    Parameters
    ----------
    **parameters : float or tuple
        What defines the law; they become attributes.
    """

    parameters: Mapping[str, Any]

    def __init__(self, **parameters: Any) -> None:
        self.__dict__["parameters"] = MappingProxyType(parameters)
        for key, value in parameters.items():
            if not isinstance(getattr(type(self), key, None), property):
                self.__dict__[key] = value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: make another law")

    def _key(self) -> tuple[Any, ...]:
        return (type(self), *self.parameters.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Service) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        inner = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        return f"{type(self).__name__}({inner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), dict(self.parameters)))

    @property
    @abstractmethod
    def name(self) -> str:
        """What the law is called, with its shape: ``Erlang-2``, ``lognormal scv 4``."""

    @abstractmethod
    def moment(self, k: int) -> float:
        """Return the mean of the k-th power [s^k]; infinite where it does not exist.

        Parameters
        ----------
        k : int
            Order, 1 or more.

        Returns
        -------
        float
            Raw moment.
        """

    @abstractmethod
    def survival(self, x: Any) -> Array:
        """Return the probability that a service exceeds `x` seconds.

        Parameters
        ----------
        x : float or array
            Seconds, not negative.

        Returns
        -------
        array
            Probabilities.
        """

    @abstractmethod
    def stop_loss(self, x: Any) -> Array:
        """Return the mean of what a service exceeds `x` by, ``E max(S - x, 0)``.

        Parameters
        ----------
        x : float or array
            Seconds, not negative.

        Returns
        -------
        array
            Seconds.
        """

    @abstractmethod
    def lst(self, s: Any) -> ComplexArray:
        """Return the Laplace-Stieltjes transform ``E exp(-s S)``.

        Parameters
        ----------
        s : complex or array
            Per second, real part not negative.

        Returns
        -------
        array
            Complex.
        """

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return independent service times.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source.
        n : int
            How many.

        Returns
        -------
        array
            Seconds.
        """

    @abstractmethod
    def scaled(self, factor: float) -> Service:
        """Return the law of `factor` times the service time.

        Parameters
        ----------
        factor : float
            Above 0.

        Returns
        -------
        Service
            Of the same family.
        """

    @property
    def mean(self) -> float:
        """Mean [s]."""
        return self.moment(1)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation: variance over squared mean."""
        return max(0.0, self.moment(2) / self.mean**2 - 1)

    @property
    def skewness(self) -> float:
        """Third central moment over the cube of the standard deviation; nan without variance."""
        mean, variance = self.mean, self.scv * self.mean**2
        if variance <= 0 or not math.isfinite(variance):
            return math.nan
        central = self.moment(3) - 3 * mean * self.moment(2) + 2 * mean**3
        return float(central / variance**1.5)

    @property
    def decay_limit(self) -> float:
        """Largest theta below which ``E exp(theta S)`` is finite; 0 for heavy tails [1/s]."""
        return math.inf

    def mgf(self, theta: float) -> float:
        """Return ``E exp(theta S)``.

        Parameters
        ----------
        theta : float
            Per second.

        Returns
        -------
        float
            Infinite at and above `decay_limit`.
        """
        if theta >= self.decay_limit:
            return math.inf
        return float(np.real(self.lst(complex(-theta))))

    def equilibrium_survival(self, x: Any) -> Array:
        """Return the probability that the rest of a running service exceeds `x` seconds.

        Parameters
        ----------
        x : float or array
            Seconds, not negative.

        Returns
        -------
        array
            ``stop_loss(x) / mean``.
        """
        return np.asarray(self.stop_loss(x) / self.mean)

    def phase_type(self) -> PhaseType | None:
        """Return the same law as a phase-type law, or None where it is none."""
        return None


def require_finite_variance(service: Service) -> None:
    """Refuse a law whose variance is infinite.

    Parameters
    ----------
    service : Service
        The law.

    Raises
    ------
    InvalidValueError
        Saying why no mean wait follows; also if it is no law.
    """
    if not isinstance(service, Service):
        raise InvalidValueError(
            field="service",
            value=service,
            bound="must be a law of service times",
            remedy="build one, as in Lognormal(mean=0.3, scv=2.0)",
        )
    if not math.isfinite(service.moment(2)):
        raise InvalidValueError(
            field="service",
            value=service.name,
            bound="must have a finite variance, since the mean wait grows with it "
            "and is infinite with one server",
            remedy="state the longest service that can occur (a bounded Pareto law) "
            "or give measured service times",
        )
