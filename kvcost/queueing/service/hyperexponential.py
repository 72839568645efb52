"""Hyperexponential laws: one of several exponential times, chosen at random."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.service.base import Array, ComplexArray, Service
from kvcost.queueing.validation import not_negative, positive

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvcost.queueing.service.phasetype import PhaseType

__all__ = ["HyperExponential"]


class HyperExponential(Service):
    """Hyperexponential law.

    Parameters
    ----------
    weights : iterable of float
        Share of each kind of service; scaled to sum to 1.
    means : iterable of float
        Mean of each kind [s].

    Examples
    --------
    >>> short_or_long = HyperExponential(weights=(0.9, 0.1), means=(0.5, 5.5))
    >>> round(short_or_long.mean, 12), round(short_or_long.scv, 12)
    (1.0, 5.5)
    """

    weights: tuple[float, ...]
    means: tuple[float, ...]

    def __init__(self, *, weights: Iterable[float], means: Iterable[float]) -> None:
        shares = tuple(not_negative("weights", float(w), unit="1") for w in weights)
        times = tuple(positive("means", float(m), unit="s") for m in means)
        if not shares or len(shares) != len(times):
            raise InvalidValueError(
                field="weights",
                value=shares,
                bound=f"must be as many as the {len(times)} means, and at least one",
                remedy="give one weight a mean",
            )
        total = positive("weights", math.fsum(shares), unit="1")
        super().__init__(weights=tuple(share / total for share in shares), means=times)

    @classmethod
    def balanced(cls, *, mean: float, scv: float) -> HyperExponential:
        """Return the law of two kinds that do an equal part of the work.

        Parameters
        ----------
        mean : float
            Mean [s].
        scv : float
            Squared coefficient of variation, 1 or more.

        Returns
        -------
        HyperExponential
            With balanced means.

        Raises
        ------
        InvalidValueError
            If `scv` is below 1.
        """
        mean, scv = positive("mean", mean, unit="s"), _at_least_one(scv)
        tilt = math.sqrt((scv - 1) / (scv + 1))
        heavy = 1 / (scv + 1) / (1 + tilt)  # (1 - tilt)/2 without cancellation
        weights = (1 - heavy, heavy)
        return cls(weights=weights, means=[mean / (2 * w) for w in weights])

    @classmethod
    def three_moments(cls, *, mean: float, scv: float, third: float) -> HyperExponential:
        """Return the law of two kinds with the first three moments given.

        Parameters
        ----------
        mean : float
            Mean [s].
        scv : float
            Squared coefficient of variation, above 1.
        third : float
            Mean of the third power [s^3].

        Returns
        -------
        HyperExponential
            The only one of two kinds.

        Raises
        ------
        InvalidValueError
            If `scv` is not above 1, or `third` is not above ``1.5 (1 + scv)^2 mean^3``, which any
            mixture of exponentials exceeds.
        """
        mean, scv = positive("mean", mean, unit="s"), _at_least_one(scv)
        second = (1 + scv) / 2
        cube = positive("third", third, unit="s^3") / (6 * mean**3)
        if scv == 1 or cube <= second**2:
            raise InvalidValueError(
                field="third",
                value=third,
                bound=f"must be above {1.5 * (1 + scv) ** 2 * mean**3:.6g} s^3 at scv {scv:g}, "
                "and scv above 1, for a mixture of two exponentials",
                remedy="measure the third moment again, or give the law itself",
            )
        total = (cube - second) / (second - 1)
        product = total - second
        long = (total + math.sqrt(total * total - 4 * product)) / 2
        short = product / long
        heavy = (1 - short) / (long - short)
        return cls(weights=(1 - heavy, heavy), means=(mean * short, mean * long))

    @classmethod
    def gamma_like(cls, *, mean: float, scv: float) -> HyperExponential:
        """Return the law of two kinds with three moments of a gamma law.

        Parameters
        ----------
        mean, scv
            See `three_moments`.

        Returns
        -------
        HyperExponential
            See `three_moments`.
        """
        return cls.three_moments(mean=mean, scv=scv, third=(1 + scv) * (1 + 2 * scv) * mean**3)

    @classmethod
    def lognormal_like(cls, *, mean: float, scv: float) -> HyperExponential:
        """Return the law of two kinds with three moments of a lognormal law.

        Parameters
        ----------
        mean, scv
            See `three_moments`.

        Returns
        -------
        HyperExponential
            See `three_moments`.
        """
        return cls.three_moments(mean=mean, scv=scv, third=(1 + scv) ** 3 * mean**3)

    @cached_property
    def _w(self) -> Array:
        return np.array(self.weights)

    @cached_property
    def _m(self) -> Array:
        return np.array(self.means)

    @property
    def name(self) -> str:
        """What the law is called."""
        return f"hyperexponential-{len(self.means)} scv {self.scv:g}"

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power; see `Service.moment`."""
        return math.factorial(k) * float(self._w @ self._m**k)

    def survival(self, x: Any) -> Array:
        """Return the tail; see `Service.survival`."""
        return np.asarray(np.exp(-np.asarray(x, dtype=float)[..., None] / self._m) @ self._w)

    def stop_loss(self, x: Any) -> Array:
        """Return the mean excess; see `Service.stop_loss`."""
        tails = np.exp(-np.asarray(x, dtype=float)[..., None] / self._m)
        return np.asarray(tails @ (self._w * self._m))

    def lst(self, s: Any) -> ComplexArray:
        """Return the transform; see `Service.lst`."""
        return np.asarray((1 / (1 + np.asarray(s, dtype=complex)[..., None] * self._m)) @ self._w)

    @property
    def decay_limit(self) -> float:
        """Rate of the tail [1/s]."""
        return 1 / max(m for m, w in zip(self.means, self.weights, strict=True) if w > 0)

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return service times; see `Service.sample`."""
        kind = rng.choice(len(self.means), size=n, p=self._w)
        return np.asarray(rng.exponential(1.0, n) * self._m[kind])

    def scaled(self, factor: float) -> HyperExponential:
        """Return the scaled law; see `Service.scaled`."""
        return HyperExponential(weights=self.weights, means=self._m * factor)

    def phase_type(self) -> PhaseType:
        """Return one phase a kind, without those of weight 0."""
        from kvcost.queueing.service.phasetype import PhaseType  # noqa: PLC0415 - a cycle

        used = self._w > 0
        return PhaseType(initial=self._w[used], generator=np.diag(-1 / self._m[used]))


def _at_least_one(scv: float) -> float:
    scv = positive("scv", scv, unit="1")
    if scv < 1:
        raise InvalidValueError(
            field="scv",
            value=scv,
            bound="must be 1 or more for a mixture of exponentials",
            remedy="use Erlang or Gamma below 1",
        )
    return scv
