"""How many copies of a prefix, from which burst on, and over how fast a link."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvcost.queueing.result import ErrorClass
from kvcost.queueing.validation import not_negative, positive, whole
from kvcost.routing.replication import replicated_burst

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array
    from kvcost.routing.cases import Burst
    from kvcost.routing.replication import Replication

__all__ = [
    "Benefit",
    "BestCopies",
    "BreakEven",
    "benefit_curve",
    "best_copies",
    "break_even_bandwidth",
    "copy_cost",
    "saved_by",
    "shortest_burst",
]

_EXACT = ErrorClass(kind="exact", relative=1e-12, text="every candidate tried, each exact")
_BISECTED = ErrorClass(kind="exact", relative=1e-9, text="exact to 1e-09")
_HALVINGS = 60
_MOST_REQUESTS = 1 << 20
_SLACK = 1 + 1e-9


@dataclass(frozen=True, kw_only=True)
class Benefit:
    """What so many copies do.

    Attributes
    ----------
    copies : int
        Copies beside the source.
    mean : float
        Mean time to first token [s].
    saved : float
        Waiting saved against no copy, over all requests of the burst [s].
    cost : float
        What the copies cost, in the same seconds [s].
    net : float
        `saved` less `cost` [s].
    """

    copies: int
    mean: float
    saved: float
    cost: float
    net: float


@dataclass(frozen=True, kw_only=True)
class BestCopies:
    """The number of copies that saves most, costs taken off.

    Attributes
    ----------
    best : Benefit
        Of the best number; the fewer copies at a tie.
    curve : tuple of Benefit
        Of every number from 0 to R - 1.
    method : str
        How it was found.
    error : ErrorClass
        How far to trust it.
    """

    best: Benefit
    curve: tuple[Benefit, ...]
    method: str
    error: ErrorClass


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """Where copies begin to pay.

    Attributes
    ----------
    value : float
        The break-even; infinite where they never pay.
    mean_without, mean_with : float
        Mean time to first token there without copies and with them; nan where they never pay [s].
    method : str
        How it was found.
    error : ErrorClass
        How far to trust it.
    """

    value: float
    mean_without: float
    mean_with: float
    method: str
    error: ErrorClass


def copy_cost(
    *,
    copy_bytes: float,
    seconds_per_byte: float = 0.0,
    held_seconds: float = 0.0,
    seconds_per_held_second: float = 0.0,
) -> float:
    """Return what one copy costs, in seconds of waiting that one would give for it.

    Parameters
    ----------
    copy_bytes : float
        Bytes that it moves.
    seconds_per_byte : float
        Price of a byte on the network.
    held_seconds : float
        How long it keeps the target from other work.
    seconds_per_held_second : float
        Price of that: about the requests that would wait there meanwhile.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    InvalidValueError
        If a value is negative.

    Examples
    --------
    >>> copy_cost(copy_bytes=2e10, seconds_per_byte=1e-11, held_seconds=0.1,
    ...           seconds_per_held_second=3.0)
    0.5
    """
    moved = not_negative("copy_bytes", copy_bytes, unit="byte")
    held = not_negative("held_seconds", held_seconds, unit="s")
    return moved * not_negative(
        "seconds_per_byte", seconds_per_byte, unit="s/byte"
    ) + held * not_negative("seconds_per_held_second", seconds_per_held_second, unit="1")


def benefit_curve(
    case: Burst, rule: Replication, *, cost_per_copy: float = 0.0
) -> tuple[Benefit, ...]:
    """Return what 0, 1, ... R - 1 copies do to an even burst.

    Parameters
    ----------
    case : Burst
        The burst.
    rule : Replication
        The rule; its number of copies is not looked at.
    cost_per_copy : float
        Seconds of waiting that one would give for a copy; see `copy_cost`.

    Returns
    -------
    tuple of Benefit
        One a number of copies.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.

    Examples
    --------
    >>> from kvcost.routing.cases import Burst, NodeCosts
    >>> from kvcost.routing.replication import Replication
    >>> node = NodeCosts(cold=4.7, hit=0.2, copy=0.11, slots=8, step_fixed=0.0, step_each=0.0)
    >>> burst = Burst(requests=100, span=5.0, arrivals="even", replicas=4, node=node)
    >>> [round(each.mean, 2) for each in benefit_curve(burst, Replication(copies=0))]
    [12.1, 7.15, 5.51, 4.68]
    """
    price = not_negative("cost_per_copy", cost_per_copy, unit="s")
    alone = 0.0
    found = []
    for copies in range(whole("replicas", case.replicas)):
        outcome = replicated_burst(case, replace(rule, copies=copies))
        if copies == 0:
            alone = outcome.mean
        saved = case.requests * (alone - outcome.mean)
        cost = price * outcome.copied
        found.append(
            Benefit(copies=copies, mean=outcome.mean, saved=saved, cost=cost, net=saved - cost)
        )
    return tuple(found)


def best_copies(case: Burst, rule: Replication, *, cost_per_copy: float) -> BestCopies:
    """Return the number of copies with the largest saving, costs taken off.

    Parameters
    ----------
    case, rule, cost_per_copy
        See `benefit_curve`.

    Returns
    -------
    BestCopies
        The best one and the whole curve.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.

    Examples
    --------
    >>> from kvcost.routing.cases import Burst, NodeCosts
    >>> from kvcost.routing.replication import Replication
    >>> node = NodeCosts(cold=4.7, hit=0.2, copy=0.11, slots=8, step_fixed=0.0, step_each=0.0)
    >>> burst = Burst(requests=100, span=5.0, arrivals="even", replicas=4, node=node)
    >>> best_copies(burst, Replication(copies=0), cost_per_copy=100.0).best.copies
    2
    """
    curve = benefit_curve(case, rule, cost_per_copy=cost_per_copy)
    best = max(curve, key=lambda each: (each.net, -each.copies))
    return BestCopies(best=best, curve=curve, method="every number of copies tried", error=_EXACT)


def saved_by(case: Burst, rule: Replication) -> tuple[float, float, int]:
    """Return what a rule does to an even burst.

    Parameters
    ----------
    case : Burst
        The burst.
    rule : Replication
        The rule.

    Returns
    -------
    alone, shared : float
        Mean time to first token without copies and with them [s].
    made : int
        Copies that are made.
    """
    alone = replicated_burst(case, replace(rule, copies=0)).mean
    found = replicated_burst(case, rule)
    return alone, found.mean, found.copied


def _pays(case: Burst, rule: Replication, price: float) -> bool:
    alone, shared, made = saved_by(case, rule)
    gain = case.requests * (alone - shared)
    return made > 0 and gain > price * made + 1e-12 * case.requests * alone


def shortest_burst(case: Burst, rule: Replication, *, cost_per_copy: float = 0.0) -> BreakEven:
    """Return the smallest burst, at the case's gap, from which the copies pay.

    Parameters
    ----------
    case : Burst
        Gap and replicas; its number of requests is not looked at.
    rule : Replication
        The rule.
    cost_per_copy : float
        Seconds of waiting that one would give for a copy.

    Returns
    -------
    BreakEven
        Requests; infinite where a million do not suffice.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.

    Notes
    -----
    At a fixed gap a longer burst never saves less, so halving finds the first that pays.

    Examples
    --------
    >>> from kvcost.routing.cases import Burst, NodeCosts
    >>> from kvcost.routing.replication import Replication
    >>> node = NodeCosts(cold=4.7, hit=0.2, copy=0.11, slots=8, step_fixed=0.0, step_each=0.0)
    >>> burst = Burst(requests=101, span=10.0, arrivals="even", replicas=4, node=node)
    >>> shortest_burst(burst, Replication(copies=3), cost_per_copy=1.0).value
    7.0
    """
    price = not_negative("cost_per_copy", cost_per_copy, unit="s")
    gap = case.gap

    def of(requests: int) -> Burst:
        parts = requests - 1 if case.spacing == "inclusive" else requests
        return replace(case, requests=requests, span=gap * parts)

    method = "halving over the number of requests at a fixed gap"
    never = BreakEven(
        value=math.inf, mean_without=math.nan, mean_with=math.nan, method=method, error=_EXACT
    )
    high = 2
    if min(rule.copies, case.replicas - 1) < 1:
        return never
    while not _pays(of(high), rule, price):
        settled = replicated_burst(of(high), rule)
        if (
            high >= _MOST_REQUESTS
            or not (math.isfinite(settled.detection) or high < rule.repeats)
            or _over(settled.times, case.node.hit)
        ):
            return never
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _pays(of(middle), rule, price) else (middle, high)
    alone, shared, _ = saved_by(of(high), rule)
    return BreakEven(
        value=float(high), mean_without=alone, mean_with=shared, method=method, error=_EXACT
    )


def _over(times: Array, hit: float) -> bool:
    """Tell whether the burst's own queue is gone before its end, so that more change nothing."""
    return times.size > 64 and bool((times[-2:] <= hit * _SLACK).all())


def break_even_bandwidth(
    case: Burst, rule: Replication, *, copy_bytes: float, cost_per_copy: float = 0.0
) -> BreakEven:
    """Return the least bandwidth of a copy at which the copies pay.

    Parameters
    ----------
    case : Burst
        The burst; the copy time of its node is not looked at.
    rule : Replication
        The rule.
    copy_bytes : float
        Bytes of the prefix's KV.
    cost_per_copy : float
        Seconds of waiting that one would give for a copy.

    Returns
    -------
    BreakEven
        Bytes a second; infinite where even an instant copy does not pay.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.

    Examples
    --------
    >>> from kvcost.routing.cases import Burst, NodeCosts
    >>> from kvcost.routing.replication import Replication
    >>> node = NodeCosts(cold=4.7, hit=0.2, copy=0.11, slots=8, step_fixed=0.0, step_each=0.0)
    >>> burst = Burst(requests=100, span=5.0, arrivals="even", replicas=4, node=node)
    >>> rate = break_even_bandwidth(
    ...     burst, Replication(copies=3), copy_bytes=2e10, cost_per_copy=10.0)
    >>> 1e9 < rate.value < 2e9
    True
    """
    price = not_negative("cost_per_copy", cost_per_copy, unit="s")
    moved = positive("copy_bytes", copy_bytes, unit="byte")
    method = "halving over the time of a copy"

    def of(seconds: float) -> Burst:
        return replace(case, node=replace(case.node, copy=seconds))

    if not _pays(of(0.0), rule, price):
        return BreakEven(
            value=math.inf,
            mean_without=math.nan,
            mean_with=math.nan,
            method=method,
            error=_BISECTED,
        )
    low, high = 0.0, case.node.cold + case.span
    while _pays(of(high), rule, price):
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _pays(of(middle), rule, price) else (low, middle)
    alone, shared, _ = saved_by(of(low), rule)
    value = moved / low if low > 0 else math.inf
    return BreakEven(
        value=value, mean_without=alone, mean_with=shared, method=method, error=_BISECTED
    )
