"""Isolated bursts with random arrivals: time to first token under the policies of the study."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.result import ErrorClass
from kvcost.routing import even
from kvcost.routing.answer import RoutedTTFT, Split
from kvcost.routing.even_checks import checked_costs, checked_name, checked_rule
from kvcost.routing.even_pooled import pooled_percentiles
from kvcost.routing.even_replica import COLD, EACH, FIXED, HIT, SLOTS
from kvcost.routing.poisson_computed import copied_when_computed
from kvcost.routing.poisson_copies import copied_at_admission
from kvcost.routing.poisson_crowd import crowd
from kvcost.routing.poisson_fallback import fall_back
from kvcost.routing.poisson_light import heads_found, least_load_light
from kvcost.routing.poisson_node import arriving_at_random, arriving_in_turns, follow
from kvcost.routing.poisson_sums import top_load

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array
    from kvcost.routing.cases import Burst
    from kvcost.routing.poisson_crowd import Crowd
    from kvcost.routing.poisson_node import Arriving

__all__ = ["POLICIES", "POLICIES_BY_ARRIVALS", "burst_ttft"]

POLICIES = ("random", "round_robin", "least_load", "cache_aware", "replicate_on_burst")
POLICIES_BY_ARRIVALS: dict[str, tuple[str, ...]] = {"poisson": POLICIES, "uniform": POLICIES}

_SHARES = (0.5, 0.95, 0.99)
_SURE = 3.0  # standard deviations
_FULL = 0.75
# mean against 300 simulated bursts a case, their noise included: nine of ten cases, and the worst
_MEASURED = {
    "random": (0.010, 0.026),
    "round_robin": (0.011, 0.027),
    "least_load": (0.011, 0.040),
    "cache_aware": (0.021, 0.076),
    "replicate_on_burst": (0.017, 0.128),
}
_METHODS = {
    "random": "arrivals counted from one service to the next, a share of them kept",
    "round_robin": "arrivals counted from one service to the next, every R-th of them",
    "least_load": "as round robin while heads are computed",
    "cache_aware": "arrivals counted from one service to the next",
    "replicate_on_burst": "frozen source beside a steady law of the other replicas",
}
_TIGHT = (
    "work nearly fills the replicas beside the source: errors of the mean up to 43% were measured"
)
_CROWDED = (
    "one replica cannot serve the burst until its backlog trips the fallback: errors of the mean "
    "up to 24% were measured"
)
_SOME = 0.01  # share of bursts that trip, above which they count
_REPEATS = "more than 2 repeats: the gaps between them are taken as their mean"


def burst_ttft(
    policy: str,
    case: Burst,
    *,
    copies: int = 4,
    repeats: int = 2,
    window: float = 1.0,
    threshold_abs: float = 64,
    threshold_rel: float = 1.5,
    visibility: Literal["admission", "computed"] = "admission",
) -> RoutedTTFT:
    """Find the time to first token of an isolated burst with random arrivals.

    Parameters
    ----------
    policy : str
        One of `POLICIES`.
    case : Burst
        The burst, its replicas and their costs; arrivals ``poisson`` or ``uniform``.
    copies : int
        Replicas that ``replicate_on_burst`` wants the prefix on.
    repeats : int
        Arrivals within the window, the present one included, from which it copies.
    window : float
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
        If a value is out of its domain, the arrivals are not random, or there is more than one
        output token.
    UnknownNameError
        If the policy is none of `POLICIES`.

    Notes
    -----
    Behind its cold head the services of a replica end at known times until it first runs out of
    work. Until then the number of arrivals is all that is random, and the recursion over the ends
    of services is exact: for Poisson and for uniform arrivals, for those that one replica gets at
    random, and for every R-th. From there on the queue and the batch are followed from request to
    request, until they are steady; uniform arrivals then count as Poisson. So ``random``,
    ``round_robin`` and, without a fallback, ``cache_aware`` are near exact for Poisson arrivals.

    After a fallback ``cache_aware`` follows the mean path; who does not wait on it waits as under
    least load. ``least_load`` equals round robin while
    all replicas are busy; where heads end farther apart than the queues behind them last, who is
    stuck behind a head is counted instead, and the others find warm replicas. These, and the
    replicas beside a frozen source of copies, follow the law of one among independent others;
    where much more work comes than they can do, the burst counts as even. Most of what is
    approximate is there: the error is largest where the work nearly fills these replicas.

    The longest is the time that ln 2 requests a burst exceed.

    References
    ----------
    .. [1] Takács, L. (1967). Combinatorial Methods in the Theory of Stochastic Processes. Wiley,
       New York.
    .. [2] Mitzenmacher, M. (2001). The power of two choices in randomized load balancing. IEEE
       Transactions on Parallel and Distributed Systems 12(10), 1094-1104. doi:10.1109/71.963420

    Examples
    --------
    >>> from kvcost.routing.cases import Burst, NodeCosts
    >>> node = NodeCosts(
    ...     cold=4.7, hit=0.018, copy=0.11, slots=8, step_fixed=0.0132, step_each=0.002
    ... )
    >>> case = Burst(requests=500, span=60.0, arrivals="poisson", replicas=4, node=node)
    >>> for policy in "cache_aware", "round_robin":
    ...     print(policy, round(burst_ttft(policy, case).mean, 3))
    cache_aware 0.253
    round_robin 0.232
    """
    checked_name(policy, POLICIES)
    if case.arrivals not in POLICIES_BY_ARRIVALS:
        raise InvalidValueError(
            field="arrivals",
            value=case.arrivals,
            bound="must be poisson or uniform",
            remedy="use kvcost.routing.even for even arrivals",
        )
    settled = replace(case, arrivals="even")
    costs = checked_costs(settled, copied=policy == "replicate_on_burst")
    rule = checked_rule(
        copies=copies,
        repeats=repeats,
        window=window,
        threshold_abs=threshold_abs,
        threshold_rel=threshold_rel,
        visibility=visibility,
    )
    if case.gap <= 0:
        return _as_even(policy, case, rule)
    if case.arrivals == "uniform":
        case = replace(case, spacing="inclusive")
    if policy == "cache_aware":
        return _aware(policy, case, costs, rule[3:5])
    if policy == "replicate_on_burst":
        return _replicating(policy, case, costs, rule)
    if policy == "random":
        return _spread(policy, case, arriving_at_random(case), costs)
    if policy == "least_load" and _apart(case, costs):
        return _light(policy, case, costs)
    calm = _calm(case, costs) if policy == "least_load" and case.replicas > 1 else None
    return _spread(policy, case, arriving_in_turns(case, case.replicas), costs, calm)


def _each(costs: Array) -> float:
    """Return the work of a hit, its share of a full decode step included."""
    return float(costs[HIT] + costs[FIXED] / costs[SLOTS] + costs[EACH])


def _apart(case: Burst, costs: Array) -> bool:
    """Return whether heads end farther apart than the queues behind them last."""
    each, gap, replicas = _each(costs), float(case.gap), int(case.replicas)
    queue = float(costs[COLD]) * each / (gap * replicas)
    return replicas > 1 and each < gap and (replicas - 1) * gap > queue


def _as_even(policy: str, case: Burst, rule: Array) -> RoutedTTFT:
    return even.burst_ttft(
        policy,
        replace(case, arrivals="even"),
        copies=int(rule[0]),
        repeats=int(rule[1]),
        window=float(rule[2]),
        threshold_abs=float(rule[3]),
        threshold_rel=float(rule[4]),
        visibility="computed" if rule[5] else "admission",
    )


def _calm(case: Burst, costs: Array) -> Crowd | None:
    """Return what requests meet where all replicas are warm, if they can do the work."""
    gap, replicas = float(case.gap), int(case.replicas)
    if _each(costs) >= gap * replicas:
        return None
    top = top_load(gap, replicas, costs)
    return crowd(gap=gap, servers=replicas, source=0, costs=costs, top=top)


def _spread(
    policy: str, case: Burst, arriving: Arriving, costs: Array, calm: Crowd | None = None
) -> RoutedTTFT:
    node = follow(arriving, costs, calm=calm)
    heads, hit, cold = float(arriving.weights[0]), float(costs[HIT]), float(costs[COLD])
    own = heads * cold + (case.requests - heads) * hit
    values, weights = np.append(node.values + hit, cold), np.append(node.weights, heads)
    return _answer(policy, case, np.append(node.parts, own), values, weights, heads)


def _light(policy: str, case: Burst, costs: Array) -> RoutedTTFT:
    requests, replicas, gap = int(case.requests), int(case.replicas), float(case.gap)
    hit, cold = float(costs[HIT]), float(costs[COLD])
    heads = heads_found(requests=requests, gap=gap, replicas=replicas, cold=cold)
    found = least_load_light(
        requests=requests, gap=gap, replicas=replicas, costs=costs,
        even=case.arrivals == "uniform", heads=heads,
    )  # fmt: skip
    own = heads * cold + (requests - heads) * hit
    values, weights = np.append(found.values + hit, cold), np.append(found.weights, heads)
    return _answer(policy, case, np.append(found.parts, own), values, weights, heads)


def _aware(policy: str, case: Burst, costs: Array, thresholds: Array) -> RoutedTTFT:
    requests, replicas, gap = int(case.requests), int(case.replicas), float(case.gap)
    limit = float(thresholds[0]) if replicas > 1 else math.inf
    node = follow(arriving_in_turns(case, 1), costs, limit=limit)
    hit, cold = float(costs[HIT]), float(costs[COLD])
    values, weights = np.append(node.values + hit, cold), np.append(node.weights, 1.0)
    tripped, heads = node.tripped, 1.0
    stayed = requests - tripped * (requests - node.trip_index)
    parts = np.append(node.parts, cold + (stayed - 1) * hit)
    if tripped > 0:
        index = min(round(node.trip_index), requests - 1)
        if case.arrivals == "uniform" and requests > index + 1:
            gap = max(case.span - node.trip_time, 0.0) / (requests - 1 - index)
        later, sums, colds = fall_back(
            requests=requests, replicas=replicas, time=node.trip_time, index=index, gap=gap,
            costs=costs, thresholds=thresholds,
        )  # fmt: skip
        parts += tripped * sums
        # on the mean path some do not wait at all: they wait as at warm replicas under least load
        calm = later <= hit * (1 + 1e-9)
        each = _each(costs)
        if calm.any() and each < gap * colds:
            found = crowd(
                gap=gap, servers=colds, source=0, costs=costs, top=top_load(gap, colds, costs)
            )
            waiting = tripped * float(calm.sum())
            parts += waiting * np.array([0.0, found.wait - found.decode, 0.0, found.decode, 0.0])
            values = np.append(values, found.values + hit)
            weights = np.append(weights, found.weights * waiting)
            later = later[~calm]
        values = np.append(values, later)
        weights = np.append(weights, np.full(later.size, tripped))
        heads = 1 - tripped + tripped * colds
    answer = _answer(policy, case, parts, values, weights, heads)
    if tripped > _SOME and _each(costs) > _FULL * float(case.gap):
        wide = ErrorClass(kind="approximation", relative=0.25, text=_CROWDED)
        answer = replace(answer, error=wide, warnings=(_CROWDED,))
    return replace(answer, trip_share=tripped)


def _replicating(policy: str, case: Burst, costs: Array, rule: Array) -> RoutedTTFT:
    requests, gap = int(case.requests), float(case.gap)
    warm, repeats, window = min(int(case.replicas), int(rule[0])), int(rule[1]), float(rule[2])
    hit, cold, each = float(costs[HIT]), float(costs[COLD]), _each(costs)
    last = window - max(repeats - 2, 0) * gap  # what is left of the window for the last gap
    seldom = repeats > 1 and last < 1e-6 * gap
    if warm == 1 or seldom or repeats > requests:
        thresholds = rule[3:5] if seldom or repeats > requests else np.array([math.inf, 1.0])
        return _aware(policy, case, costs, thresholds)
    warnings = (_REPEATS,) if repeats > 2 else ()
    # what comes while the source is frozen, and by how much it passes what the others can do
    coming = min(cold / gap, requests - 1.0)
    excess = coming * (1 - (warm - 1) * gap / each)
    if each > gap * warm or excess > _SURE * math.sqrt(coming):
        answer = _as_even(policy, case, rule)
        method = f"as even where work comes faster than it is done: {answer.method}"
        return replace(answer, method=method, error=_error(policy), warnings=warnings)
    alone = hit + float(costs[FIXED] + costs[EACH])
    if max(alone, each) > _FULL * gap * (warm - 1):
        warnings = (*warnings, _TIGHT)
    found = (copied_when_computed if rule[5] else copied_at_admission)(
        requests=requests, gap=gap, warm=warm, repeats=repeats, window=window, costs=costs,
        even=case.arrivals == "uniform",
    )  # fmt: skip
    values, weights = np.append(found.values + hit, cold), np.append(found.weights, 1.0)
    parts = np.append(found.parts, cold + (requests - 1) * hit)
    answer = _answer(policy, case, parts, values, weights, 1.0)
    return replace(answer, trip_share=0.0, warnings=warnings)


def _error(policy: str) -> ErrorClass:
    most, worst = _MEASURED[policy]
    return ErrorClass(
        kind="approximation",
        relative=worst,
        text=f"mean within {most:.1%} of simulation in nine of ten cases, {worst:.1%} in the worst "
        "of 110 without a warning, the noise of the simulation included",
    )


def _answer(  # noqa: PLR0917
    policy: str, case: Burst, sums: Array, values: Array, weights: Array, cold: float
) -> RoutedTTFT:
    parts = [float(part) / case.requests for part in sums]
    names = ("own_head", "suffix", "copy", "decode", "own_prefill")
    split = Split(other_cold=0.0, **dict(zip(names, parts, strict=True)))
    largest = max(1 - math.log(2) / case.requests, 0.0)
    p50, p95, p99, longest = pooled_percentiles(values, weights, (*_SHARES, largest))
    return RoutedTTFT(
        policy=policy,
        mean=split.total,
        p50=p50,
        p95=p95,
        p99=p99,
        maximum=max(longest, split.total),
        split=split,
        cold_requests=float(cold),
        method=_METHODS[policy],
        error=_error(policy),
    )
