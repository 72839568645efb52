"""TTFT budgets: the time to the first token, on an idle server, has a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from kvcost.checks.costs import KEYS as _DEPLOYMENT_KEYS
from kvcost.checks.deployments import Deployment, read_deployment
from kvcost.checks.outcome import Outcome, require
from kvcost.checks.words import computed_seconds, relation
from kvcost.units import format_seconds, format_tokens, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.breakeven import Decision
    from kvcost.checks.table import Table

__all__ = ["KEYS", "SUMMARY", "Way", "assert_ttft_within", "judge_ttft", "read"]

Way: TypeAlias = Literal["fetch", "recompute", "faster"]

SUMMARY = "the time to the first token is within a limit"
KEYS = _DEPLOYMENT_KEYS | {"measured", "way", "max_ttft"}

_WAYS = ("fetch", "recompute", "faster")


def judge_ttft(asked: Deployment | Decision | float, *, limit: float, way: Way) -> Outcome:
    """Return whether a time to the first token is within its limit.

    Parameters
    ----------
    asked : Deployment, Decision or float
        What is fetched and how, or a time [s].
    limit : float
        Longest time allowed [s].
    way : {'fetch', 'recompute', 'faster'}
        Whose time counts; of no effect on a time.

    Returns
    -------
    Outcome
        Met where the time is at most the limit.
    """
    notes: tuple[str, ...] = ()
    if isinstance(asked, (float, int)):
        time, subject, other = float(asked), f"measured TTFT {format_seconds(asked)}", ""
    else:
        decision = asked.decision() if isinstance(asked, Deployment) else asked
        fetch, compute = decision.hit_seconds, decision.recompute_seconds
        fetching = way == "fetch" or (way == "faster" and fetch < compute)
        time, left = (fetch, compute) if fetching else (compute, fetch)
        how = "fetching" if fetching else "recomputing"
        length = format_tokens(decision.tokens)
        subject = f"TTFT {computed_seconds(time)} by {how} {length}"
        other = f"; {'recomputing' if fetching else 'fetching'} takes {computed_seconds(left)}"
        notes = ("waiting in queues is not in it", *decision.notes)
    met = time <= limit
    text = f"{subject} is {relation(time, limit)} the {format_seconds(limit)} allowed"
    return Outcome(
        met=met,
        text=text if met else text + other,
        value=time,
        limit=limit,
        unit="s",
        notes=notes,
    )


def assert_ttft_within(
    asked: Deployment | Decision | float | str, limit: float | str, *, way: Way = "faster"
) -> None:
    """Assert that the time to the first token is within a limit.

    Parameters
    ----------
    asked : Deployment, Decision, float or str
        What `kvcost.checks.deployment` or `kvcost.breakeven.decide` return, or a measured time.
    limit : float or str
        Longest time allowed, as ``"500 ms"``.
    way : {'faster', 'fetch', 'recompute'}
        Whose time counts.

    Raises
    ------
    AssertionError
        If it takes longer.
    InvalidValueError
        If a value is out of bounds or without its unit.

    Examples
    --------
    >>> assert_ttft_within("0.88 s", "500 ms")
    Traceback (most recent call last):
    AssertionError: measured TTFT 0.88 s is 76% above the 0.5 s allowed
    """
    __tracebackhide__ = True
    from kvcost.errors import InvalidValueError  # noqa: PLC0415 - loaded only when asked for

    if way not in _WAYS:
        raise InvalidValueError(
            field="way", value=way, bound=f"must be one of {', '.join(_WAYS)}", remedy="name one"
        )
    if isinstance(asked, (str, int, float)):
        asked = parse_seconds(asked, field="ttft", allow_zero=True)
    require(judge_ttft(asked, limit=parse_seconds(limit, field="limit"), way=way))


def read(table: Table) -> Callable[[], Outcome]:
    """Return the function that judges a TTFT budget; see `kvcost.checks.kinds`."""
    table.need("max_ttft", example='"500 ms"')
    limit = cast("float", table.seconds("max_ttft"))
    measured = table.seconds("measured", allow_zero=True)
    if measured is not None:
        return lambda: judge_ttft(measured, limit=limit, way="faster")
    table.need("way", example='"fetch", "recompute" or "faster"')
    way = cast("Way", table.text("way", choices=_WAYS))
    asked = read_deployment(table)
    return lambda: judge_ttft(asked, limit=limit, way=way)
