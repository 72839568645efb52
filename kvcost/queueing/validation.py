"""Checks of what a caller gives to a queueing model, with errors that say what to do."""

from __future__ import annotations

import math
from numbers import Real
from typing import NamedTuple

from kvcost.errors import InvalidValueError, UnstableError

__all__ = [
    "Load",
    "finite",
    "fraction",
    "load_of",
    "not_negative",
    "positive",
    "require_stable",
    "whole",
]

_LARGEST = 2**63


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def finite(field: str, value: object, *, unit: str) -> float:
    """Return a finite number as a float.

    Parameters
    ----------
    field : str
        Name for the message.
    value : object
        What was given.
    unit : str
        Unit for the message.

    Returns
    -------
    float
        The number.

    Raises
    ------
    InvalidValueError
        If it is no number, nan or infinite.
    """
    # the common cases first, since a test against Real is slow
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and abs(value) < _LARGEST:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, Real) or not _is_finite(value):
        raise InvalidValueError(
            field=field,
            value=value,
            bound="must be a finite number",
            remedy=f"give it in {unit}" if unit != "1" else "give a plain number",
        )
    return float(value)


def positive(field: str, value: object, *, unit: str) -> float:
    """Return a finite number above zero; see `finite`.

    Parameters
    ----------
    field, value, unit
        See `finite`.

    Returns
    -------
    float
        The number.

    Raises
    ------
    InvalidValueError
        If it is not above zero.
    """
    number = finite(field, value, unit=unit)
    if number <= 0:
        raise InvalidValueError(
            field=field,
            value=value,
            bound="must be above 0" + ("" if unit == "1" else f" {unit}"),
            remedy="give a positive number",
        )
    return number


def not_negative(field: str, value: object, *, unit: str) -> float:
    """Return a finite number that is zero or above; see `finite`.

    Parameters
    ----------
    field, value, unit
        See `finite`.

    Returns
    -------
    float
        The number.

    Raises
    ------
    InvalidValueError
        If it is below zero.
    """
    number = finite(field, value, unit=unit)
    if number < 0:
        raise InvalidValueError(
            field=field,
            value=value,
            bound="must not be below 0" + ("" if unit == "1" else f" {unit}"),
            remedy="give zero or a positive number",
        )
    return number


def fraction(field: str, value: object) -> float:
    """Return a number strictly between 0 and 1, such as the p of a percentile.

    Parameters
    ----------
    field : str
        Name for the message.
    value : object
        What was given.

    Returns
    -------
    float
        The number.

    Raises
    ------
    InvalidValueError
        If it is not inside (0, 1).
    """
    number = finite(field, value, unit="1")
    if not 0 < number < 1:
        raise InvalidValueError(
            field=field,
            value=value,
            bound="must lie between 0 and 1, both excluded",
            remedy="write the 95th percentile as 0.95",
        )
    return number


def whole(field: str, value: object, *, least: int = 1) -> int:
    """Return a whole number.

    Parameters
    ----------
    field : str
        Name for the message.
    value : object
        What was given; ``8.0`` counts as 8.
    least : int
        Smallest value allowed.

    Returns
    -------
    int
        The number.

    Raises
    ------
    InvalidValueError
        If it is not whole or too small.
    """
    number = finite(field, value, unit="1")
    if number != int(number) or number < least:
        raise InvalidValueError(
            field=field,
            value=value,
            bound=f"must be a whole number, {least} or more",
            remedy="round it up or down yourself",
        )
    return int(number)


class Load(NamedTuple):
    """Arrivals at servers, checked to be stable.

    Attributes
    ----------
    servers : float
        Servers.
    arrival_rate : float
        Requests per second.
    utilization : float
        Share of the time that a server is busy, below 1.
    """

    servers: float
    arrival_rate: float
    utilization: float

    @property
    def offered_load(self) -> float:
        """Servers that are busy on average."""
        return self.servers * self.utilization


def require_stable(*, servers: float, offered_load: float) -> None:
    """Refuse a load that the servers cannot carry.

    Parameters
    ----------
    servers : float
        Servers.
    offered_load : float
        Arrival rate times mean service time.

    Raises
    ------
    UnstableError
        If the load is not below the number of servers.
    """
    if not offered_load < servers:
        raise UnstableError(
            servers=servers,
            offered_load=offered_load,
            servers_needed=math.floor(offered_load) + 1,
        )


def load_of(
    *,
    servers: object,
    mean_service: float,
    arrival_rate: object = None,
    utilization: object = None,
    whole_servers: bool = False,
) -> Load:
    """Return the checked load from either the arrival rate or the utilization.

    Parameters
    ----------
    servers : float
        Servers, above 0.
    mean_service : float
        Mean service time [s].
    arrival_rate : float, optional
        Requests per second; above 0.
    utilization : float, optional
        Arrival rate times mean service time over servers; above 0.
    whole_servers : bool
        Refuse a fractional number of servers.

    Returns
    -------
    Load
        Stable.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or not exactly one of rate and utilization is given.
    UnstableError
        If more work arrives than the servers can do.
    """
    count = (
        float(whole("servers", servers))
        if whole_servers
        else positive("servers", servers, unit="1")
    )
    if (arrival_rate is None) == (utilization is None):
        raise InvalidValueError(
            field="arrival_rate",
            value=arrival_rate,
            bound="and utilization say the same thing",
            remedy="give exactly one of the two",
        )
    if arrival_rate is not None:
        rate = positive("arrival_rate", arrival_rate, unit="requests/s")
        offered = rate * mean_service
        share = offered / count
    else:
        share = positive("utilization", utilization, unit="1")
        offered = share * count
        rate = offered / mean_service
    if share >= 1:
        require_stable(servers=count, offered_load=max(offered, count))
    return Load(servers=count, arrival_rate=rate, utilization=share)
