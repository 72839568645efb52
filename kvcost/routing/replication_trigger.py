"""From how many repeats, and within which window, a prefix is worth copying."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError
from kvcost.queueing.result import ErrorClass
from kvcost.queueing.validation import not_negative, positive, whole
from kvcost.routing.replication_design import saved_by
from kvcost.routing.replication_detection import poisson_detection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.routing.cases import Burst
    from kvcost.routing.replication import Replication

__all__ = ["BestTrigger", "best_trigger"]

_EXACT = ErrorClass(kind="exact", relative=1e-12, text="every candidate tried, each exact")
_NOTICED = ErrorClass(
    kind="approximation",
    relative=0.02,
    text="savings exact, unneeded copies within 2% for four repeats and more",
)
_SLACK = 1 + 1e-9


@dataclass(frozen=True, kw_only=True)
class BestTrigger:
    """The repeats and the window that save most, unneeded copies taken off.

    Attributes
    ----------
    repeats : int
        X.
    window : float
        Z; the shortest of those that are alike [s].
    net : float
        Waiting saved less costs, a second of traffic [s/s].
    noticed : float
        Share of the bursts that are noticed.
    unneeded : float
        Copies of prefixes that are asked for steadily, a second [1/s].
    method : str
        How it was found.
    error : ErrorClass
        How far to trust it.
    """

    repeats: int
    window: float
    net: float
    noticed: float
    unneeded: float
    method: str
    error: ErrorClass


def best_trigger(
    bursts: Sequence[tuple[Burst, float]],
    rule: Replication,
    *,
    steady_rates: Sequence[float] = (),
    cost_per_copy: float,
    most_repeats: int = 10,
    repeats: int | None = None,
    window: float | None = None,
) -> BestTrigger:
    """Return the repeats X and the window Z that save most.

    Parameters
    ----------
    bursts : sequence of (Burst, float)
        Even bursts, each with how many of them come a second.
    rule : Replication
        Everything else about the rule.
    steady_rates : sequence of float
        Prefixes that are asked for at Poisson times and need no copy: requests a second of each.
    cost_per_copy : float
        Seconds of waiting that one would give for a copy.
    most_repeats : int
        Largest X that is tried.
    repeats, window : int, float, optional
        Fix one of the two.

    Returns
    -------
    BestTrigger
        X, Z and what they bring.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain or there are no bursts.

    Notes
    -----
    A longer window notices the same bursts at the same request or more of them, and more of what
    needs no copy; so the best window is one that just holds X arrivals of one of the bursts. Every
    pair of those is tried. A steady prefix is copied anew each time it is noticed. Copies that wait
    for computed KV lose nothing by more repeats until the prefill ends.

    Examples
    --------
    >>> from kvcost.routing.cases import Burst, NodeCosts
    >>> from kvcost.routing.replication import Replication
    >>> node = NodeCosts(cold=4.7, hit=0.2, copy=0.11, slots=8, step_fixed=0.0, step_each=0.0)
    >>> burst = Burst(requests=101, span=10.0, arrivals="even", replicas=4, node=node)
    >>> found = best_trigger(
    ...     [(burst, 0.01)], Replication(copies=3), steady_rates=[0.5] * 20, cost_per_copy=1.0)
    >>> found.repeats, round(found.window, 6)
    (10, 0.9)
    """
    if not bursts:
        raise InvalidValueError(
            field="bursts", value=bursts, bound="must not be empty", remedy="give a burst"
        )
    price = not_negative("cost_per_copy", cost_per_copy, unit="s")
    rates = [positive("steady_rates", rate, unit="1/s") for rate in steady_rates]
    weights = [positive("bursts", weight, unit="1/s") for _, weight in bursts]
    most = whole("most_repeats", most_repeats)
    counts = [whole("repeats", repeats)] if repeats is not None else range(1, most + 1)
    best: BestTrigger | None = None
    for count in counts:
        gains = [_gain(case, replace(rule, repeats=count), price) for case, _ in bursts]
        needed = [
            (count - 1) * case.gap * _SLACK if case.requests >= count else math.inf
            for case, _ in bursts
        ]
        if window is not None:
            tried = [not_negative("window", window, unit="s")]
        else:
            tried = sorted({each for each in needed if math.isfinite(each)})
        for length in tried:
            seen = [each <= length * _SLACK for each in needed]
            unneeded = sum(_noticed(rate, count, length) for rate in rates)
            net = sum(w * g for w, g, s in zip(weights, gains, seen, strict=True) if s)
            net -= unneeded * price * rule.copies
            if best is None or net > best.net:
                share = sum(w for w, s in zip(weights, seen, strict=True) if s) / sum(weights)
                best = BestTrigger(
                    repeats=count,
                    window=length,
                    net=net,
                    noticed=share,
                    unneeded=unneeded * rule.copies,
                    method="every pair of repeats and a window that just holds a burst's",
                    error=_NOTICED if rates and count > 3 else _EXACT,
                )
    if best is None:
        raise InvalidValueError(
            field="repeats",
            value=repeats,
            bound="is more than any burst has requests",
            remedy="use fewer",
        )
    return best


def _gain(case: Burst, rule: Replication, price: float) -> float:
    """Return what one burst saves where it is noticed, costs taken off."""
    alone, shared, made = saved_by(case, replace(rule, window=2 * case.span + 1.0))
    return case.requests * (alone - shared) - price * made


def _noticed(rate: float, repeats: int, window: float) -> float:
    """Return how often a steady prefix is taken for a burst, a second."""
    if repeats == 1:
        return rate
    if window <= 0:
        return 0.0
    found = poisson_detection(arrival_rate=rate, repeats=repeats, detection_window=window)
    return 1 / (found.seconds + 1 / rate)
