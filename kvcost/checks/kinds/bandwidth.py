"""Bandwidth budgets: fetching must beat recomputing, by a headroom if one is asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from kvcost.checks.costs import KEYS as _DEPLOYMENT_KEYS
from kvcost.checks.deployments import Deployment, read_deployment
from kvcost.checks.outcome import Outcome, require
from kvcost.checks.words import computed_rate, computed_tokens, relation, share
from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.units import format_rate, format_seconds, format_tokens, parse_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kvcost.breakeven import Decision
    from kvcost.breakeven.ranges import Ranges
    from kvcost.checks.table import Table

__all__ = ["KEYS", "SUMMARY", "assert_bandwidth_above_break_even", "judge_bandwidth", "read"]

SUMMARY = "the bandwidth of a store is above its break-even"
KEYS = _DEPLOYMENT_KEYS | {"measured", "headroom"}

_ROUND = (1.0, 2.0, 5.0)
_MOST = 1e16
_SLACK = 1e-12


def judge_bandwidth(
    asked: Deployment | Decision, *, headroom: float = 0.0, name: str = ""
) -> Outcome:
    """Return whether a path is fast enough for fetching to win.

    Parameters
    ----------
    asked : Deployment or Decision
        What is fetched and how. A decision alone gives no advice on other bandwidths.
    headroom : float
        Share by which the bandwidth must exceed the break-even.
    name : str
        What to call the bandwidth; by what limits the path if empty.

    Returns
    -------
    Outcome
        Met where the bandwidth is at least the break-even and the headroom.
    """
    known = asked if isinstance(asked, Deployment) else None
    decision = asked.decision() if isinstance(asked, Deployment) else asked
    rate, needed = decision.bandwidth, decision.break_even_bandwidth
    limits = known.path.limits if known else ()
    name = name or (f"{limits[0]} bandwidth" if len(limits) == 1 else "bandwidth")
    subject = f"{name} {format_rate(rate)}"
    if not decision.fetched_tokens:
        met, text = (
            False,
            f"nothing is fetched at {format_tokens(decision.tokens)}: it is too short",
        )
    elif needed is None:
        met, text = False, _hopeless(subject, decision)
    else:
        least = needed * (1 + headroom)
        met = rate >= least * (1 - _SLACK)
        text = (
            f"{subject} is {relation(rate, needed)} the break-even of {computed_rate(needed)} "
            f"at {format_tokens(decision.tokens)}"
        )
        if not met and headroom and rate >= needed:
            text += f", {share(headroom)} above it is required: {computed_rate(least)}"
        elif headroom:
            text += f" ({share(headroom)} above it is required)"
    if not met and decision.fetched_tokens:
        text += f"; {_advice(decision, known)}"
    return Outcome(
        met=met,
        text=text,
        value=rate,
        limit=None if needed is None else needed * (1 + headroom),
        unit="byte/s",
        notes=(*(known.notes if known else ()), *decision.notes),
    )


def _hopeless(subject: str, decision: Decision) -> str:
    """Say that no bandwidth wins, and where the bandwidth stands without what hinders it."""
    parts = {
        "overhead": decision.overhead_seconds,
        "coding": decision.coding_seconds,
    }
    names = [part for part, seconds in parts.items() if seconds] or ["overhead"]
    out = " and ".join(names)
    lost = format_seconds(sum(parts.values()))
    of_them = f" of {out}" if len(names) > 1 else ""
    nothing = f"no bandwidth wins at {format_tokens(decision.tokens)}"
    without = decision.break_even_bandwidth_without_overhead
    if without is None:
        return f"{subject}: {nothing}, even with the {out} left out"
    where = f"{subject} is {relation(decision.bandwidth, without)} the break-even of"
    if decision.bandwidth < without:
        return f"{where} {computed_rate(without)} ({out} left out; with {lost}{of_them} {nothing})"
    return f"{where} {computed_rate(without)} only with the {out} left out; with {lost} {nothing}"


def _rates(decision: Decision) -> Iterator[float]:
    """Yield the bandwidth as it is, then round ones from the break-even on."""
    yield decision.bandwidth
    needed = decision.break_even_bandwidth or decision.break_even_bandwidth_without_overhead
    above = max(decision.bandwidth, needed or 0.0)
    power = 10.0 ** math.floor(math.log10(above))
    while power < _MOST:
        yield from (step * power for step in _ROUND if step * power > above)
        power *= 10


def _advice(decision: Decision, known: Deployment | None) -> str:
    if known is None:
        least = decision.break_even_tokens_infinite_bandwidth
        if least is None:
            return "no bandwidth wins at any length"
        return f"no bandwidth wins below {computed_tokens(least)}"
    for rate in _rates(decision):
        same = rate == decision.bandwidth
        ranges = (known if same else known.at_bandwidth(rate)).winning_lengths()
        if ranges:
            return f"at {format_rate(rate)} {_where(ranges)}"
    return "no bandwidth wins at any length"


def _where(ranges: Ranges) -> str:
    from kvcost.breakeven import describe_ranges  # noqa: PLC0415 - loaded only when asked for

    start, end = ranges[0]
    if len(ranges) == 1 and end is None:
        if start == 0:
            return "fetch prompts of every length"
        return f"fetch only prompts over {computed_tokens(start)}"
    return f"fetch prompts {describe_ranges(ranges)}"


def assert_bandwidth_above_break_even(
    asked: Deployment | Decision | None = None,
    *,
    headroom: float | str = 0.0,
    tokens: float | str | None = None,
    kv_bytes_per_token: float | str | None = None,
    recompute: float | str | None = None,
    overhead: float | str | None = None,
    bandwidth: float | str | None = None,
) -> None:
    """Assert that a path is fast enough for fetching to beat recomputing.

    Parameters
    ----------
    asked : Deployment or Decision, optional
        What `kvcost.checks.deployment` or `kvcost.breakeven.decide` return; else all of the five
        numbers below.
    headroom : float or str
        Share by which the bandwidth must exceed the break-even, such as ``"10%"``.
    tokens : float or str, optional
        Length of the prompt.
    kv_bytes_per_token : float or str, optional
        What a token's KV weighs, as ``"48408 B"``.
    recompute : float or str, optional
        Time to compute the prompt; the time of other lengths is taken to be proportional.
    overhead : float or str, optional
        Fixed time of a fetch.
    bandwidth : float or str, optional
        Rate of the path.

    Raises
    ------
    AssertionError
        If fetching does not win; the text says by how much it fails, and what would help.
    InvalidValueError
        If a number is missing, out of bounds or without its unit.

    Examples
    --------
    >>> from kvcost.checks import deployment
    >>> assert_bandwidth_above_break_even(deployment("glm-5.3-8xb300"))
    Traceback (most recent call last):
    AssertionError: store bandwidth 1.71 GB/s is 32% below the break-even of 2.50 GB/s (overhead
    left out; with 0.33 s no bandwidth wins at 16,000 tokens); at 5 GB/s fetch only prompts over
    34,000 tokens
    """
    __tracebackhide__ = True
    numbers = {
        "tokens": tokens,
        "kv_bytes_per_token": kv_bytes_per_token,
        "recompute": recompute,
        "overhead": overhead,
        "bandwidth": bandwidth,
    }
    spare = parse_ratio(headroom, field="headroom", allow_zero=True, maximum=1000.0)
    if asked is None:
        asked = _plain(numbers)
    elif any(value is not None for value in numbers.values()):
        raise InvalidValueError(
            field="asked",
            value="a deployment",
            bound="does not go with numbers of its own",
            remedy="change it with kvcost.checks.deployment(name, bandwidth=...)",
        )
    require(judge_bandwidth(asked, headroom=spare))


def _plain(numbers: dict[str, float | str | None]) -> Deployment:
    from kvcost.compute import PrefillCurve  # noqa: PLC0415 - loaded only when asked for
    from kvcost.facts import Provenance  # noqa: PLC0415
    from kvcost.transfer import TransferPath  # noqa: PLC0415
    from kvcost.units import parse_bytes, parse_seconds, parse_tokens  # noqa: PLC0415

    for name, value in numbers.items():
        if value is None:
            raise MissingFactError(
                fact=name, subject="the assertion", remedy="give a deployment, or all five numbers"
            )
    given = cast("dict[str, float | str]", numbers)
    length = parse_tokens(given["tokens"], field="tokens")
    time = parse_seconds(given["recompute"], field="recompute")
    return Deployment(
        tokens=length,
        kv_bytes_per_token=parse_bytes(given["kv_bytes_per_token"], field="kv_bytes_per_token"),
        fixed_bytes_per_request=0.0,
        prefill=PrefillCurve.from_points({length: time}),
        path=TransferPath(
            overhead_seconds=cast("float", given["overhead"]),
            store_bandwidth=cast("float", given["bandwidth"]),
        ),
        loading="async",
        last_token=False,
        kv_provenance=Provenance.ASSUMED,
    )


def read(table: Table) -> Callable[[], Outcome]:
    """Return the function that judges a bandwidth budget; see `kvcost.checks.kinds`."""
    headroom = table.ratio("headroom", allow_zero=True, maximum=1000.0) or 0.0
    measured = table.rate("measured")
    asked = read_deployment(table, measured_bandwidth=measured)
    name = "" if measured is None else "measured bandwidth"
    return lambda: judge_bandwidth(asked, headroom=headroom, name=name)
