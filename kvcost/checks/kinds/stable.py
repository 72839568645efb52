"""Stability budgets: the servers keep up with what arrives, with room to spare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from kvcost.checks.outcome import Outcome, require
from kvcost.checks.table import parse_requests
from kvcost.checks.words import number, plural
from kvcost.errors import InvalidValueError
from kvcost.units import format_ratio, parse_ratio, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.checks.table import Table

__all__ = ["KEYS", "SUMMARY", "assert_stable", "judge_stable", "read"]

SUMMARY = "servers are busy for no more than a share of the time"
KEYS = frozenset({"servers", "service_mean", "arrival_rate", "max_utilization", "measured"})

_SLACK = 1e-12


def judge_stable(
    *,
    servers: float | None,
    offered_load: float,
    limit: float,
    service_mean: float | None = None,
    measured: bool = False,
) -> Outcome:
    """Return whether servers keep up.

    Parameters
    ----------
    servers : float or None
        Servers; None where only the utilization is known.
    offered_load : float
        Servers that the work keeps busy; the utilization where `servers` is None.
    limit : float
        Largest utilization allowed; 1 allows any below 1.
    service_mean : float, optional
        Mean service time, to say how many requests would do [s].
    measured : bool
        Whether the utilization was measured.

    Returns
    -------
    Outcome
        Met where the utilization is at most the limit, and below 1.
    """
    utilization = offered_load / (1.0 if servers is None else servers)
    met = utilization < 1 and utilization <= limit * (1 + _SLACK)
    word = "measured utilization" if measured else "utilization"
    verb = "is within" if met else "exceeds"
    text = f"{word} {format_ratio(utilization)} {verb} the {format_ratio(limit)} allowed"
    if limit == 1 and not met:
        text = f"{word} {format_ratio(utilization)} is not below 100%, so queues grow without end"
    if servers is not None:
        text += f": {number(offered_load)} of {plural(servers, 'server')} are kept busy"
        if not met:
            text += f", use at least {plural(_needed(offered_load, limit), 'server')}"
            if service_mean is not None:
                most = number(limit * servers / service_mean)
                text += f" or send {'fewer than' if limit == 1 else 'at most'} {most} requests/s"
    return Outcome(met=met, text=text, value=utilization, limit=limit, unit="1")


def _needed(offered_load: float, limit: float) -> int:
    if limit == 1:
        return math.floor(offered_load) + 1
    return math.ceil(offered_load / limit * (1 - _SLACK))


def _limit(value: float | str) -> float:
    return parse_ratio(value, field="max_utilization")


def assert_stable(
    *,
    servers: float | None = None,
    service_mean: float | str | None = None,
    arrival_rate: float | str | None = None,
    utilization: float | str | None = None,
    max_utilization: float | str = 1.0,
) -> None:
    """Assert that servers keep up with what arrives.

    Parameters
    ----------
    servers : float, optional
        Servers.
    service_mean : float or str, optional
        Mean service time, as ``"300 ms"``; with `servers` and `arrival_rate`.
    arrival_rate : float or str, optional
        Requests per second, or text such as ``"24/s"``.
    utilization : float or str, optional
        A measured utilization, in place of the three.
    max_utilization : float or str
        Largest utilization allowed; below 1 if not given.

    Raises
    ------
    AssertionError
        If they do not keep up.
    InvalidValueError
        If a value is out of bounds, or the load is stated twice or not at all.

    Examples
    --------
    >>> assert_stable(servers=8, service_mean="300 ms", arrival_rate=32, max_utilization="90%")
    Traceback (most recent call last):
    AssertionError: utilization 120% exceeds the 90% allowed: 9.6 of 8 servers are kept busy,
    use at least 11 servers or send at most 24 requests/s
    """
    __tracebackhide__ = True
    from kvcost.queueing.validation import positive  # noqa: PLC0415 - loaded only when asked for

    limit = _limit(max_utilization)
    parts = (servers, service_mean, arrival_rate)
    if utilization is not None and parts == (None, None, None):
        found = parse_ratio(utilization, field="utilization", allow_zero=True, maximum=1e9)
        require(judge_stable(servers=None, offered_load=found, limit=limit, measured=True))
        return
    if utilization is not None or servers is None or service_mean is None or arrival_rate is None:
        raise InvalidValueError(
            field="load",
            value=utilization if utilization is not None else arrival_rate,
            bound="must be stated once",
            remedy="give servers, service_mean and arrival_rate, or utilization alone",
        )
    mean = parse_seconds(service_mean, field="service_mean")
    if isinstance(arrival_rate, str):
        arrival_rate = parse_requests(arrival_rate, field="arrival_rate")
    rate = positive("arrival_rate", arrival_rate, unit="requests/s")
    count = positive("servers", servers, unit="1")
    require(judge_stable(servers=count, offered_load=rate * mean, limit=limit, service_mean=mean))


def read(table: Table) -> Callable[[], Outcome]:
    """Return the function that judges a stability budget; see `kvcost.checks.kinds`."""
    table.need("max_utilization", example='"90%"')
    limit = cast("float", table.ratio("max_utilization"))
    measured = table.ratio("measured", allow_zero=True, maximum=1e9)
    if measured is not None:
        return lambda: judge_stable(servers=None, offered_load=measured, limit=limit, measured=True)
    for key, example in (
        ("servers", "8"),
        ("service_mean", '"300 ms"'),
        ("arrival_rate", '"24/s"'),
    ):
        table.need(key, example=example)
    servers = cast("int", table.whole("servers"))
    mean = cast("float", table.seconds("service_mean"))
    rate = cast("float", table.requests_per_second("arrival_rate"))
    return lambda: judge_stable(
        servers=servers, offered_load=rate * mean, limit=limit, service_mean=mean
    )
