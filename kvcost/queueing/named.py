"""Laws of service by name, from their mean and squared coefficient of variation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError, MissingFactError, UnknownNameError, nearest_names
from kvcost.queueing.service import (
    Deterministic,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    Lognormal,
    Pareto,
    ShiftedExponential,
    Uniform,
    Weibull,
)
from kvcost.queueing.validation import not_negative, positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.queueing.service import Service

__all__ = ["NAMES", "named_law"]

_SLACK = 1e-9


def _needs(scv: float | None, name: str) -> float:
    if scv is None:
        raise MissingFactError(
            fact="the squared coefficient of variation",
            subject=f"the {name} service time",
            remedy="give service_scv",
        )
    return positive("service_scv", scv, unit="1")


def _agrees(scv: float | None, fixed: float, name: str) -> None:
    if scv is not None and abs(scv - fixed) > _SLACK:
        raise InvalidValueError(
            field="service_scv",
            value=scv,
            bound=f"must be {fixed:g} for {name} service",
            remedy="leave it out, or name another distribution",
        )


def _at_most(scv: float, most: float, name: str) -> None:
    if scv > most * (1.0 + _SLACK):
        raise InvalidValueError(
            field="service_scv",
            value=scv,
            bound=f"must be at most {most:.6g} for {name} service",
            remedy="name another distribution, such as lognormal",
        )


def _deterministic(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    _agrees(scv, 0.0, "deterministic")
    return Deterministic(mean=mean)


def _exponential(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    _agrees(scv, 1.0, "exponential")
    return Exponential(mean=mean)


def _erlang(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    stages = 1.0 / _needs(scv, "Erlang")
    if abs(stages - round(stages)) > 1e-6 * stages or round(stages) < 1:
        raise InvalidValueError(
            field="service_scv",
            value=scv,
            bound="must be 1 over a whole number of stages for Erlang service",
            remedy="use gamma, which takes any value",
        )
    return Erlang(stages=round(stages), mean=mean)


def _gamma(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    return Gamma(mean=mean, scv=_needs(scv, "gamma"))


def _lognormal(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    return Lognormal(mean=mean, scv=_needs(scv, "lognormal"))


def _weibull(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    from scipy.optimize import brentq  # noqa: PLC0415 - loaded when asked

    want = math.log1p(_needs(scv, "Weibull"))

    def miss(log_shape: float) -> float:
        back = math.exp(-log_shape)
        return math.lgamma(1.0 + 2.0 * back) - 2.0 * math.lgamma(1.0 + back) - want

    shape = math.exp(brentq(miss, math.log(0.02), math.log(1e4), xtol=1e-14))
    return Weibull(shape=shape, mean=mean)


def _uniform(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    scv = _needs(scv, "uniform")
    _at_most(scv, 1.0 / 3.0, "uniform")
    half = min(1.0, math.sqrt(3.0 * scv))
    return Uniform(low=mean * (1.0 - half), high=mean * (1.0 + half))


def _shifted(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    scv = _needs(scv, "shifted exponential")
    _at_most(scv, 1.0, "shifted exponential")
    if scv >= 1.0 - _SLACK:
        return Exponential(mean=mean)
    return ShiftedExponential(shift=mean * (1.0 - math.sqrt(scv)), mean=mean)


def _hyperexponential(mean: float, scv: float | None, third: float | None) -> Service:
    scv = _needs(scv, "hyperexponential")
    if third is None:
        raise MissingFactError(
            fact="the third moment",
            subject="the hyperexponential service time",
            remedy="give third_moment, or name balanced-hyperexponential",
        )
    return HyperExponential.three_moments(mean=mean, scv=scv, third=third)


def _balanced(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    return HyperExponential.balanced(mean=mean, scv=_needs(scv, "hyperexponential"))


def _pareto(mean: float, scv: float | None, third: float | None) -> Service:  # noqa: ARG001
    exponent = 1.0 + math.sqrt(1.0 + 1.0 / _needs(scv, "Pareto"))
    return Pareto(exponent=exponent, low=mean * (exponent - 1.0) / exponent)


_MAKERS: dict[str, Callable[[float, float | None, float | None], Service]] = {
    "balanced-hyperexponential": _balanced,
    "deterministic": _deterministic,
    "erlang": _erlang,
    "exponential": _exponential,
    "gamma": _gamma,
    "hyperexponential": _hyperexponential,
    "lognormal": _lognormal,
    "pareto": _pareto,
    "shifted-exponential": _shifted,
    "uniform": _uniform,
    "weibull": _weibull,
}

NAMES = tuple(_MAKERS)
"""The names that `named_law` knows."""


def named_law(
    name: str, *, mean: float, scv: float | None = None, third_moment: float | None = None
) -> Service:
    """Return the law of service of a family with a mean and a squared coefficient of variation.

    Parameters
    ----------
    name : str
        One of `NAMES`; case, spaces and underscores do not matter.
    mean : float
        Mean [s].
    scv : float, optional
        Squared coefficient of variation; not needed where the family fixes it.
    third_moment : float, optional
        Mean of the third power [s^3]; used by ``hyperexponential`` only, and must agree otherwise.

    Returns
    -------
    Service
        The law.

    Raises
    ------
    UnknownNameError
        If no family has the name.
    MissingFactError
        If the family needs a value that is not given.
    InvalidValueError
        If the family has no such law.

    Examples
    --------
    >>> round(named_law("weibull", mean=1.0, scv=5.0).shape, 9)
    0.5
    """
    key = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    if key not in _MAKERS:
        raise UnknownNameError(
            kind="distribution",
            name=name,
            nearest=nearest_names(key, NAMES),
            remedy=f"the known names are {', '.join(NAMES)}",
        )
    mean = positive("service_mean", mean, unit="s")
    if scv is not None:
        scv = not_negative("service_scv", scv, unit="1")
    if third_moment is not None:
        third_moment = positive("third_moment", third_moment, unit="s^3")
    law = _MAKERS[key](mean, scv, third_moment)
    known = law.moment(3)
    if third_moment is not None and abs(third_moment - known) > 1e-6 * known:
        raise InvalidValueError(
            field="third_moment",
            value=third_moment,
            bound=f"must be {known:.6g} s^3 for a {law.name} law of mean {mean:g} s",
            remedy="leave out either the third moment or the distribution",
        )
    return law
