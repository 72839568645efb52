"""Windows of overlapping bursts among decoys: time to first token under routing policies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from kvcost.errors import InvalidValueError
from kvcost.queueing.result import ErrorClass
from kvcost.queueing.validation import not_negative, positive, whole
from kvcost.routing.even_checks import checked_name, checked_rule
from kvcost.routing.windows_fluid import as_fluid
from kvcost.routing.windows_home import at_home, longest_queue
from kvcost.routing.windows_law import answer, hit_work, load
from kvcost.routing.windows_loads import Rule, by_loads, lattice
from kvcost.routing.windows_single import on_one

if TYPE_CHECKING:
    from kvcost.routing.answer import RoutedTTFT
    from kvcost.routing.cases import Window

__all__ = ["POLICIES", "covers", "window_ttft"]

POLICIES = ("random", "round_robin", "least_load", "cache_aware", "replicate_on_burst")

_LIGHT, _OVER = 0.72, 1.9
_TESTED = 8
_TRIPS = 2.0  # load from which affinity trips so early that every replica holds each prefix
_PAIR = 2
_PAIR_LOAD, _PAIR_SERVING = 0.35, 0.1
_MANY, _MANY_LOAD = 4, 0.45
_ALL_BUSY = 0.06  # chance that all replicas are busy, taken as independent


def _error(relative: float, text: str) -> ErrorClass:
    """Return an approximation with its measured error."""
    return ErrorClass(kind="approximation", relative=relative, text=text)


_ERRORS = {
    "random": _error(
        0.06, "mean within 3% of simulation in nine of ten windows tried, 6% at worst"
    ),
    "round_robin": _error(
        0.06, "mean within 5% of simulation in nine of ten windows tried, 6% at worst"
    ),
    "least_load": _error(
        0.06, "mean within 4% of simulation in nine of ten windows tried, 6% at worst"
    ),
    "cache_aware": _error(
        0.05, "mean within 3% of simulation in nine of ten windows tried, 5% at worst"
    ),
    "replicate_on_burst": _error(
        0.06, "mean within 1% of simulation in half of the windows tried, 6% at worst"
    ),
}
_FLUID = _error(0.05, "mean within 3% of simulation in nine of ten windows tried, 5% at worst")


def _heads(policy: str, case: Window) -> int:
    """Return how many requests of a burst compute its prefix."""
    if policy == "replicate_on_burst" or not case.bursts:
        return 1
    if policy == "cache_aware" and load(case, 1) < _TRIPS:
        return 1
    return min(case.replicas, case.burst_requests)


def covers(  # noqa: PLR0911 - one return a reason
    policy: str,
    case: Window,
    visibility: str = "admission",
    *,
    copies: int = 4,
    repeats: int = 2,
    detection_window: float = 1.0,
    threshold_abs: float = 64,
) -> str | None:
    """Say what of a window the closed form of a policy does not cover, or return None.

    Parameters
    ----------
    policy : str
        One of `POLICIES`.
    case : Window
        The window.
    visibility : str
        ``admission`` or ``computed``.
    copies, repeats : int
        See `window_ttft`.
    detection_window : float
        See `window_ttft` [s].
    threshold_abs : float
        See `window_ttft`.

    Returns
    -------
    str or None
        In words.
    """
    _checked(policy, case)
    outside = _case_not_covered(policy, case)
    if outside is not None or load(case, _heads(policy, case)) >= _OVER:
        return outside
    if policy == "cache_aware" and case.bursts:
        return _home_not_covered(case, threshold_abs)
    if policy == "random":
        return None
    if policy == "round_robin":
        return _turns_not_covered(case)
    if lattice(case, _heads(policy, case)) is None:
        return "this many replicas in a window"
    if policy == "least_load" or not case.bursts:
        return None
    gap = case.burst_span / (case.burst_requests - 1)
    if copies < case.replicas:
        return "copies on some replicas only in a window"
    if repeats < _PAIR or (repeats - 1) * gap > detection_window:
        return "bursts in a window that are copied at once or never"
    if hit_work(case) >= gap:
        return "bursts that one replica cannot serve"
    if visibility == "computed" and case.node.cold + gap > case.burst_span:
        return "bursts that end before their prefix is computed"
    return None


def _case_not_covered(policy: str, case: Window) -> str | None:
    """Say what of a window no form covers, or return None."""
    work = load(case, _heads(policy, case))
    gap = case.burst_span / max(case.burst_requests - 1, 1)
    reasons = {
        "more than one output token in a window": case.node.output_tokens > 1,
        "bursts of few requests or at one moment": case.bursts > 0
        and (case.burst_requests < 2 * case.replicas or case.burst_span <= 0),
        "bursts that start together": case.bursts > 1 and case.every <= 0,
        "an overloaded window with copies": work >= _OVER and policy == "replicate_on_burst",
        "a window near saturation": _LIGHT < work < _OVER,
        "an overloaded window with affinity that trips late": policy == "cache_aware"
        and case.bursts > 0
        and _LIGHT < work < _TRIPS,
        "copies between two busy replicas": policy == "replicate_on_burst"
        and case.replicas == _PAIR
        and case.bursts > 0
        and (work > _PAIR_LOAD or case.node.hit > _PAIR_SERVING * gap),
        "many busy replicas": policy in {"least_load", "replicate_on_burst"}
        and case.replicas > _MANY
        and work > _MANY_LOAD,
        "bursts that end as others start": policy == "least_load"
        and case.bursts > 1
        and case.burst_span > 0.5 * case.every
        and case.every > 0
        and abs(case.burst_span - round(case.burst_span / case.every) * case.every) < case.jitter,
        "few decoys among short cold prefills": policy in {"random", "least_load"}
        and case.decoys < case.bursts
        and case.node.cold < 3 * case.replicas * gap,
        f"more than {_TESTED} replicas in a window": case.replicas > _TESTED,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _home_not_covered(case: Window, threshold_abs: float) -> str | None:
    """Say where affinity queues on more than one cold request, or return None."""
    if hit_work(case) * _share_a_home(case) * (case.burst_requests - 1) >= case.burst_span:
        return "bursts that one replica cannot serve"
    if longest_queue(case) * _share_a_home(case) >= threshold_abs:
        return "affinity where queues trip the fallback"
    if load(case, 1) ** case.replicas > _ALL_BUSY:
        return "affinity in a window that is neither light nor overloaded"
    return None


def _share_a_home(case: Window) -> int:
    """Return how many bursts run at a time, which one replica may have to serve."""
    return math.ceil(case.burst_span / case.every) if case.bursts > 1 else 1


def _turns_not_covered(case: Window) -> str | None:
    """Say where taking turns is no random choice for decoys, or return None."""
    if case.replicas == 1:
        return None
    gap = case.burst_span / max(case.burst_requests - 1, 1)
    if not case.bursts or (case.bursts > 1 and case.every > case.burst_span):
        return "turns while no burst is active"
    span = case.decoy_high - case.decoy_low
    period = case.every if case.bursts > 1 else case.burst_span
    if case.decoys * period < case.replicas * span:
        return "turns with so few decoys that bursts keep their places"
    if case.replicas * gap > case.node.cold:
        return "turns longer than a cold prefill"
    return None


def _checked(policy: str, case: Window) -> None:
    """Check a policy's name and a window."""
    checked_name(policy, POLICIES)
    whole("bursts", case.bursts, least=0)
    whole("burst_requests", case.burst_requests)
    whole("decoys", case.decoys, least=0)
    whole("replicas", case.replicas)
    positive("cold", case.node.cold, unit="s")
    not_negative("hit", case.node.hit, unit="s")
    if case.decoy_high < case.decoy_low:
        raise InvalidValueError(
            field="decoy_high",
            value=case.decoy_high,
            bound=f"must not be below decoy_low, {case.decoy_low:g} s",
            remedy="swap them",
        )
    if case.decoys + case.bursts == 0:
        raise InvalidValueError(
            field="bursts", value=0, bound="leaves no request", remedy="add bursts or decoys"
        )


def window_ttft(
    policy: str,
    case: Window,
    *,
    copies: int = 4,
    repeats: int = 2,
    detection_window: float = 1.0,
    threshold_abs: float = 64,
    threshold_rel: float = 1.5,
    visibility: Literal["admission", "computed"] = "admission",
) -> RoutedTTFT:
    """Find the time to first token of a window of bursts and decoys under a routing policy.

    Parameters
    ----------
    policy : str
        One of `POLICIES`, where `covers` gives None.
    case : Window
        The window, its replicas and their costs.
    copies : int
        Replicas that ``replicate_on_burst`` wants the prefix on.
    repeats : int
        Arrivals within the detection window, the present one included, from which it copies.
    detection_window : float
        Length of that window [s].
    threshold_abs, threshold_rel : float
        ``cache_aware`` falls back to the least load while the largest load exceeds the first, and
        the second times the smallest load.
    visibility : str
        ``admission``: a prefix can be copied as soon as its request is admitted, as in the public
        study. ``computed``: copies start at the first arrival after the prefill that computes the
        prefix. Routing sees a prefix at admission in both.

    Returns
    -------
    RoutedTTFT
        Mean, percentiles, longest, and the parts of the mean.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the window is none that the closed form covers.
    UnknownNameError
        If the policy is none of `POLICIES`.

    Notes
    -----
    Hits are short and many, cold prefills long and few: the cold work is a random process, hits
    are a flow that meets it.

    ``least_load`` and ``replicate_on_burst`` follow the joint law of the sorted cold work of all
    replicas on a lattice. A cold request goes to an idle replica, and ties with replicas that hold
    one request while each idle one serves a hit. A hit waits only while no replica is idle; then
    counts of requests are even, so that it meets the mean work. ``random`` and ``round_robin``
    follow the law of the work on one replica. A light ``cache_aware`` window counts the decoys
    that idle homes of bursts get, one at a time. An overloaded window is a fluid: work comes and
    goes, the same on every replica. Decoys are Poisson within their range, bursts start at their
    mean times, periods that are alike stand once, and prefixes stay resident.

    Examples
    --------
    >>> from kvcost.routing.cases import NodeCosts, Window
    >>> node = NodeCosts(
    ...     cold=0.5448, hit=0.00212, copy=0.0483, slots=31, step_fixed=0.00153, step_each=0.000905
    ... )
    >>> case = Window(
    ...     bursts=8, first=20.0, every=40.0, jitter=2.0, burst_requests=500, burst_span=60.0,
    ...     decoys=120, decoy_low=14.0, decoy_high=340.0, replicas=4, node=node,
    ... )
    >>> for policy in "least_load", "replicate_on_burst":
    ...     print(policy, round(window_ttft(policy, case).mean, 3))
    least_load 0.024
    replicate_on_burst 0.02
    """
    checked_rule(
        copies=copies,
        repeats=repeats,
        window=detection_window,
        threshold_abs=threshold_abs,
        threshold_rel=threshold_rel,
        visibility=visibility,
    )
    outside = covers(
        policy,
        case,
        visibility,
        copies=copies,
        repeats=repeats,
        detection_window=detection_window,
        threshold_abs=threshold_abs,
    )
    if outside is not None:
        raise InvalidValueError(
            field="case", value=policy, bound=f"does not cover {outside}", remedy="simulate it"
        )
    if load(case, _heads(policy, case)) >= _OVER:
        return answer(policy, case, as_fluid(case), method="fluid", error=_FLUID)
    error = _ERRORS[policy]
    if policy == "cache_aware" and case.bursts:
        return answer(policy, case, at_home(case), method="decoys at home", error=error)
    if policy in {"random", "round_robin"}:
        law = on_one(case, turns=policy == "round_robin")
        return answer(policy, case, law, method="law of one replica's work", error=error)
    rule = None
    if policy == "replicate_on_burst":
        rule = Rule(repeats=repeats, computed=visibility == "computed")
    law = by_loads(case, rule)
    return answer(policy, case, law, method="joint law of the replicas' cold work", error=error)
