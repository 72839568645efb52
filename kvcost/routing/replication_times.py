"""A rule that copies a burst's prefix, when it notices the burst, and when each copy is ready."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from kvcost.errors import InvalidValueError
from kvcost.queueing.validation import not_negative, whole
from kvcost.routing.replication_detection import poisson_detection
from kvcost.routing.replication_formulas import (
    chained_copies_seconds,
    copy_ready_time,
    even_detection_seconds,
    following_copy_ready_time,
    serial_copies_seconds,
    tree_copies_seconds,
)

if TYPE_CHECKING:
    from kvcost.routing.cases import Burst

__all__ = ["Multicast", "Replication", "checked_rule", "detection_time", "ready_times"]

Multicast: TypeAlias = Literal["parallel", "serial", "chain", "tree"]
_MULTICASTS = ("parallel", "serial", "chain", "tree")


@dataclass(frozen=True, kw_only=True)
class Replication:
    """A rule that copies the prefix of a burst.

    Attributes
    ----------
    copies : int
        Copies beside the source; 0 copies nothing.
    repeats : int
        Arrivals within the window from which the prefix is copied, X.
    window : float
        That window, Z [s].
    visibility : str
        ``computed``: a copy needs the prefix computed. ``admission``: it starts once the burst is
        noticed, as in the public study.
    multicast : str
        ``parallel``: each copy at full bandwidth. ``serial``: one network card, one copy after the
        other. ``chain``: each replica hands layers on as they come. ``tree``: every replica that
        has the prefix sends it on.
    pipelined : bool
        Whether copies follow the prefill layer by layer; ``computed`` only.
    layers : int
        Layers of the model, for chains and pipelined copies.
    rebalance : bool
        Whether requests that wait at the source when a copy is ready may still go to it.
    """

    copies: int
    repeats: int = 2
    window: float = 1.0
    visibility: Literal["admission", "computed"] = "computed"
    multicast: Multicast = "parallel"
    pipelined: bool = False
    layers: int = 80
    rebalance: bool = True


def _refused(field: str, value: object, bound: str, remedy: str) -> InvalidValueError:
    return InvalidValueError(field=field, value=value, bound=bound, remedy=remedy)


def checked_rule(rule: Replication) -> Replication:
    """Return a rule whose numbers are checked.

    Parameters
    ----------
    rule : Replication
        The rule.

    Returns
    -------
    Replication
        The same.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    """
    if rule.multicast not in _MULTICASTS:
        raise _refused(
            "multicast", rule.multicast, "is no multicast", f"use one of {', '.join(_MULTICASTS)}"
        )
    if rule.visibility not in {"admission", "computed"}:
        raise _refused(
            "visibility", rule.visibility, "is no visibility", "use admission or computed"
        )
    if rule.pipelined and rule.visibility == "admission":
        raise _refused(
            "pipelined",
            rule.pipelined,
            "needs copies that wait for computed KV",
            'use visibility="computed"',
        )
    return replace(
        rule,
        copies=whole("copies", rule.copies, least=0),
        repeats=whole("repeats", rule.repeats),
        window=not_negative("window", rule.window, unit="s"),
        layers=whole("layers", rule.layers),
    )


def detection_time(case: Burst, rule: Replication) -> float:
    """Return when a burst is noticed.

    Parameters
    ----------
    case : Burst
        The burst.
    rule : Replication
        Repeats and window.

    Returns
    -------
    float
        From the first arrival on; infinite if never. Poisson arrivals: the mean for endless
        arrivals at the burst's rate [s].

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.

    Examples
    --------
    >>> from kvcost.routing.cases import Burst, NodeCosts
    >>> node = NodeCosts(cold=4.7, hit=0.018, copy=0.11, slots=8, step_fixed=0.0, step_each=0.0)
    >>> burst = Burst(requests=500, span=60.0, arrivals="even", replicas=4, node=node)
    >>> round(detection_time(burst, Replication(copies=3)), 4)
    0.1202
    """
    rule = checked_rule(rule)
    if whole("requests", case.requests) < rule.repeats:
        return math.inf
    gap = case.gap
    if case.arrivals == "even" or gap <= 0:
        return float(
            even_detection_seconds(
                repeats=rule.repeats, arrival_gap=gap, detection_window=rule.window
            )
        )
    if rule.repeats > 1 and rule.window <= 0:
        return math.inf
    found = poisson_detection(
        arrival_rate=1 / gap, repeats=rule.repeats, detection_window=max(rule.window, 1e-12)
    )
    return found.seconds


def ready_times(
    *, rule: Replication, detection: float, source_ready: float, copy_seconds: float
) -> tuple[float, ...]:
    """Return when each copy of a rule can be used.

    Parameters
    ----------
    rule : Replication
        The rule.
    detection : float
        When the burst is noticed [s].
    source_ready : float
        When the source has computed the prefix, its prefill begun at 0 [s].
    copy_seconds : float
        One copy at full bandwidth [s].

    Returns
    -------
    tuple of float
        Rising; infinite where the burst is not noticed [s].

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.

    Notes
    -----
    The first copy is ready as `copy_ready_time` or `following_copy_ready_time` says; the others
    after it by the forms of `replication_formulas`. Pipelined copies by serial sending or a tree:
    only the first follows the prefill.

    Examples
    --------
    >>> rule = Replication(copies=3, multicast="tree")
    >>> ready_times(rule=rule, detection=0.5, source_ready=4.0, copy_seconds=0.25)
    (4.25, 4.5, 4.5)
    """
    rule = checked_rule(rule)
    one = not_negative("copy_seconds", copy_seconds, unit="s")
    computed = not_negative("source_ready", source_ready, unit="s")
    if not math.isfinite(detection):
        return (math.inf,) * rule.copies
    if rule.pipelined:
        first = following_copy_ready_time(
            detection_seconds=detection,
            source_ready_seconds=computed,
            copy_seconds=one,
            model_layers=rule.layers,
        )
    else:
        first = copy_ready_time(
            detection_seconds=detection,
            source_ready_seconds=computed if rule.visibility == "computed" else 0.0,
            copy_seconds=one,
        )
    return tuple(float(first) + _after_first(rule, i, one) for i in range(1, rule.copies + 1))


def _after_first(rule: Replication, copy: int, one: float) -> float:
    """Return how long after the first a copy is ready."""
    if rule.multicast == "parallel":
        return 0.0
    if rule.multicast == "serial":
        return float(serial_copies_seconds(copy_seconds=one, prefix_copies=copy)) - one
    if rule.multicast == "tree":
        return float(tree_copies_seconds(copy_seconds=one, prefix_copies=copy)) - one
    chained = chained_copies_seconds(copy_seconds=one, prefix_copies=copy, model_layers=rule.layers)
    return float(chained) - one
