"""Waiting budgets: the mean or a percentile of the wait has a limit, steady or in a burst."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from kvcost.checks.outcome import Outcome, require
from kvcost.checks.words import computed_seconds, plural, relation
from kvcost.errors import InvalidValueError, KvcostError, MissingFactError, UnstableError
from kvcost.units import format_seconds, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.checks.table import Table
    from kvcost.queueing import Service, Wait
    from kvcost.queueing.burst.case import Arrivals

__all__ = ["KEYS", "SUMMARY", "assert_wait_within", "judge_wait", "read"]

SUMMARY = "how long requests wait is within a limit"
_SERVICE = ("service_mean", "service_scv", "third_moment", "distribution")
_BURST = ("burst", "over", "arrivals")
KEYS = frozenset(
    (
        *_SERVICE,
        *_BURST,
        *("servers", "utilization", "arrival_rate", "arrival_scv"),
        *("statistic", "max_wait", "measured"),
    )
)

_STATISTICS = {"mean": None, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
_PATTERNS = ("even", "uniform", "poisson", "poisson_window", "batch")


def judge_wait(wait: Wait | float, *, limit: float, statistic: str) -> Outcome:
    """Return whether a wait is within its limit.

    Parameters
    ----------
    wait : Wait or float
        What a queueing model answers, or a measured wait [s].
    limit : float
        Longest wait allowed [s].
    statistic : str
        ``mean``, or a percentile such as ``p99``. Where a model gives a range of the mean, its
        upper end counts.

    Returns
    -------
    Outcome
        Met where the wait is at most the limit.

    Raises
    ------
    MissingFactError
        If the model gives no percentiles.
    """
    allowed = f"the {format_seconds(limit)} allowed"
    if isinstance(wait, (float, int)):
        value, found, how = float(wait), f"measured {statistic} wait {format_seconds(wait)}", ""
        notes: tuple[str, ...] = ()
    else:
        share = _STATISTICS[statistic]
        value = _mean(wait) if share is None else wait.quantile(share)
        up_to = "up to " if share is None and wait.mean is None else ""
        found = f"{statistic} wait {up_to}{computed_seconds(value)}"
        how = f" ({wait.method}; {wait.error.text})"
        notes = (f"method: {wait.method}", f"error: {wait.error.text}", *wait.warnings)
    text = f"{found} is {relation(value, limit)} {allowed}{how}"
    if math.isinf(value):
        text = f"{statistic} wait has no upper end, {format_seconds(limit)} is allowed{how}"
    return Outcome(
        met=value <= limit,
        text=text,
        value=value if math.isfinite(value) else None,
        limit=limit,
        unit="s",
        notes=notes,
    )


def _mean(wait: Wait) -> float:
    return wait.mean_high if wait.mean is None else wait.mean


def _statistic(name: str) -> str:
    if name not in _STATISTICS:
        raise InvalidValueError(
            field="statistic",
            value=name,
            bound=f"must be one of {', '.join(_STATISTICS)}",
            remedy="name one",
        )
    return name


def assert_wait_within(
    wait: Wait | float | str, limit: float | str, *, statistic: str = "mean"
) -> None:
    """Assert that requests wait no longer than a limit.

    Parameters
    ----------
    wait : Wait, float or str
        What a queueing model answers, or a measured wait.
    limit : float or str
        Longest wait allowed, as ``"500 ms"``.
    statistic : str
        ``mean``, ``p50``, ``p90``, ``p95``, ``p99`` or ``p99.9``.

    Raises
    ------
    AssertionError
        If they wait longer.
    InvalidValueError
        If a value is out of bounds or without its unit.
    MissingFactError
        If the model gives no percentiles.

    Examples
    --------
    >>> from kvcost.queueing import mmc
    >>> wait = mmc(servers=8, mean_service=0.3, utilization=0.9)
    >>> assert_wait_within(wait, "1 s")
    >>> assert_wait_within(wait, "1 s", statistic="p99")
    Traceback (most recent call last):
    AssertionError: p99 wait 1.59 s is 59% above the 1 s allowed (...)
    """
    __tracebackhide__ = True
    longest = parse_seconds(limit, field="limit")
    if isinstance(wait, (str, int, float)):
        wait = parse_seconds(wait, field="wait", allow_zero=True)
    require(judge_wait(wait, limit=longest, statistic=_statistic(statistic)))


def read(table: Table) -> Callable[[], Outcome]:
    """Return the function that judges a waiting budget; see `kvcost.checks.kinds`."""
    for key, example in (("max_wait", '"500 ms"'), ("statistic", '"p99", or "mean"')):
        table.need(key, example=example)
    limit = cast("float", table.seconds("max_wait"))
    statistic = cast("str", table.text("statistic", choices=tuple(_STATISTICS)))
    measured = table.seconds("measured", allow_zero=True)
    if measured is not None:
        return lambda: judge_wait(measured, limit=limit, statistic=statistic)
    table.need("servers", example="8")
    if "distribution" not in table and "service_mean" not in table:
        table.need("service_mean", example='"300 ms"')
    answer = _burst(table) if "burst" in table else _steady(table, limit, statistic)

    def judge() -> Outcome:
        try:
            found = answer()
        except UnstableError as error:
            text = f"{statistic} wait grows without end: {error}"
            return Outcome(met=False, text=text, value=None, limit=limit, unit="s")
        if isinstance(found, Outcome):
            return found
        return judge_wait(found, limit=limit, statistic=statistic)

    if _STATISTICS[statistic] is not None and "distribution" not in table:
        raise MissingFactError(
            fact="the distribution of the service time",
            subject=f"the {statistic} of the wait",
            remedy='add distribution = "lognormal", or take statistic = "mean"',
        )
    return judge


def _service(table: Table) -> dict[str, Any]:
    table.need("service_mean", example='"300 ms"')
    return {
        "service_mean": table.seconds("service_mean"),
        "service_scv": table.number("service_scv", least=0),
        "third_moment": table.number("third_moment", least=0),
        "distribution": table.text("distribution"),
    }


def _law(given: dict[str, Any]) -> Service:
    from kvcost.queueing import named_law  # noqa: PLC0415 - loaded only when asked for

    return named_law(
        given["distribution"],
        mean=given["service_mean"],
        scv=given["service_scv"],
        third_moment=given["third_moment"],
    )


def _steady(table: Table, limit: float, statistic: str) -> Callable[[], Wait | Outcome]:
    from kvcost.queueing import queue  # noqa: PLC0415 - loaded only when asked for

    given = _service(table)
    servers = cast("int", table.whole("servers"))
    share = table.ratio("utilization", maximum=1e9)
    rate = table.requests_per_second("arrival_rate")
    if share is None and rate is None:
        table.need("arrival_rate", example='"24/s", or utilization = "90%"')
    if share is not None and rate is not None:
        raise InvalidValueError(
            field="arrival_rate",
            value=table.values["arrival_rate"],
            bound="does not go with utilization",
            remedy="state one of them",
        )
    if "arrival_scv" in table and given["distribution"] is None:
        table.need("distribution", example='"lognormal", which arrival_scv needs')
    if given["distribution"] is not None:
        _law(given)
    if rate is None:
        rate = cast("float", share) * servers / given["service_mean"]
    load = {**given, "arrival_rate": rate, "arrival_scv": table.number("arrival_scv", least=0)}

    def answer() -> Wait | Outcome:
        found = queue(servers=servers, **load)
        outcome = judge_wait(found, limit=limit, statistic=statistic)
        if outcome.met:
            return outcome
        return _with_remedy(outcome, _enough(load, limit=limit, statistic=statistic))

    return answer


def _with_remedy(outcome: Outcome, servers: int | None) -> Outcome:
    from dataclasses import replace  # noqa: PLC0415

    if servers is None:
        return outcome
    return replace(outcome, text=f"{outcome.text}; {plural(servers, 'server')} would do")


def _enough(load: dict[str, Any], *, limit: float, statistic: str) -> int | None:
    """Return how many servers keep the limit, or None where that cannot be said."""
    from kvcost.queueing import Target, servers_for_wait  # noqa: PLC0415 - loaded when asked for

    share = _STATISTICS[statistic]
    target = Target(mean=limit) if share is None else Target(percentile=share, wait=limit)
    try:
        return int(servers_for_wait(target, **load).value)
    except KvcostError:
        return None


def _burst(table: Table) -> Callable[[], Wait | Outcome]:
    for key, example in (
        ("distribution", '"deterministic"'),
        ("arrivals", '"even", "uniform", "poisson", "poisson_window" or "batch"'),
        ("utilization", "0, the share that other requests take"),
    ):
        table.need(key, example=example)
    arrivals = cast("Arrivals", table.text("arrivals", choices=_PATTERNS))
    if arrivals != "batch":
        table.need("over", example='"10 s"')
    window = table.seconds("over", allow_zero=True) or 0.0
    requests = cast("int", table.whole("burst"))
    servers = cast("int", table.whole("servers"))
    share = cast("float", table.ratio("utilization", allow_zero=True))
    law = _law(_service(table))

    def answer() -> Wait:
        from kvcost.queueing.burst import burst  # noqa: PLC0415 - loaded only when asked for

        return burst(
            servers=servers,
            requests=requests,
            window_seconds=window,
            service=law,
            arrivals=arrivals,
            background_utilization=share,
        )

    return answer
