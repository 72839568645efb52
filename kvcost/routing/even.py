"""Isolated even bursts: time to first token under the policies that the study compares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from kvcost.queueing.result import ErrorClass
from kvcost.routing.answer import RoutedTTFT, Split
from kvcost.routing.even_checks import checked_costs, checked_name, checked_rule
from kvcost.routing.even_pooled import pooled_percentiles
from kvcost.routing.even_random import split_at_random
from kvcost.routing.even_ties import AWARE, LEAST, REPLICATE, follow_ties
from kvcost.routing.even_turns import take_turns

if TYPE_CHECKING:
    from kvcost.routing.cases import Burst
    from kvcost.routing.even_turns import Followed

__all__ = ["POLICIES", "burst_ttft"]

POLICIES = ("random", "round_robin", "least_load", "cache_aware", "replicate_on_burst")

_KINDS = {"least_load": LEAST, "cache_aware": AWARE, "replicate_on_burst": REPLICATE}
_FALLING_BACK = {"cache_aware", "replicate_on_burst"}
_SHARES = (0.5, 0.95, 0.99)
_EXACT = ErrorClass(kind="exact", relative=1e-9, text="exact to 1e-09")
_EXACT_TIES = ErrorClass(
    kind="exact", relative=1e-6, text="exact to 1e-06: rarer histories are left out"
)
_THINNED = ErrorClass(
    kind="approximation",
    relative=0.021,
    text="mean within 0.1% of simulation in nine of ten cases, 2.1% in the worst of 188",
)
_RANDOM = ErrorClass(
    kind="approximation",
    relative=0.013,
    text="mean within 0.2% of simulation in nine of ten cases, 1.3% in the worst of 270, the noise "
    "of the simulation included",
)
_TESTED = 64
_MANY = f"the error is measured up to {_TESTED} replicas only"
_CLUSTERS = "the longest counts the first busy period of each replica only: it may be 20% too low"


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
    """Find the time to first token of an isolated even burst under a routing policy.

    Parameters
    ----------
    policy : str
        One of `POLICIES`.
    case : Burst
        The burst, its replicas and their costs; arrivals ``even``, or any with a span of 0.
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
        If a value is out of its domain, the arrivals are not even, or there is more than one
        output token.
    UnknownNameError
        If the policy is none of `POLICIES`.

    Notes
    -----
    Arrivals and services are not random, so that ties are all that is random. ``round_robin`` is a
    recursion over the requests of one replica, exact. The policies that look at loads follow the
    law of the joint state through the ties: exact where few states are possible, else the law is
    thinned. ``random`` follows the law of one replica's work. All keep the rules of the model: an
    admitted request moves the replica's clock at once, a decode step starts when K requests are
    admitted or none waits, and a request counts as load until its decode step has run. A method
    that is exact is so for the mean, its parts and the percentiles; histories that lead to the
    same state share the mean of their longest times.

    Examples
    --------
    >>> from kvcost.routing.cases import Burst, NodeCosts
    >>> node = NodeCosts(
    ...     cold=4.7, hit=0.018, copy=0.11, slots=8, step_fixed=0.0132, step_each=0.002
    ... )
    >>> case = Burst(requests=500, span=60.0, arrivals="even", replicas=4, node=node)
    >>> for policy in "cache_aware", "replicate_on_burst":
    ...     print(policy, round(burst_ttft(policy, case).mean, 4))
    cache_aware 0.2438
    replicate_on_burst 0.0365
    """
    checked_name(policy, POLICIES)
    costs = checked_costs(case, copied=policy == "replicate_on_burst")
    rule = checked_rule(
        copies=copies,
        repeats=repeats,
        window=window,
        threshold_abs=threshold_abs,
        threshold_rel=threshold_rel,
        visibility=visibility,
    )
    requests, replicas, gap = int(case.requests), int(case.replicas), float(case.gap)
    if policy == "round_robin" or (policy == "random" and replicas == 1):
        found = take_turns(requests=requests, gap=gap, replicas=replicas, costs=costs)
        return _answer(policy, case, found, "recursion over the requests of one replica", _EXACT)
    if policy == "random":
        found = split_at_random(requests=requests, gap=gap, replicas=replicas, costs=costs)
        answer = _answer(policy, case, found, "law of one replica's work, slot by slot", _RANDOM)
        each = case.node.hit + case.node.step(case.node.slots) / case.node.slots
        return replace(answer, warnings=(_CLUSTERS,)) if gap < each else answer
    found = follow_ties(
        _KINDS[policy], requests=requests, gap=gap, replicas=replicas, costs=costs, rule=rule
    )
    if found.thinned:
        answer = _answer(policy, case, found, "recursion over ties, thinned", _THINNED)
        return replace(answer, warnings=(_MANY,)) if replicas > _TESTED else answer
    return _answer(policy, case, found, "recursion over all ties", _EXACT_TIES)


def _answer(
    policy: str, case: Burst, found: Followed, method: str, error: ErrorClass
) -> RoutedTTFT:
    parts = [float(part) / case.requests for part in found.parts]
    names = ("own_head", "suffix", "copy", "decode", "own_prefill")
    split = Split(other_cold=0.0, **dict(zip(names, parts, strict=True)))
    p50, p95, p99 = pooled_percentiles(found.values, found.weights, _SHARES)
    return RoutedTTFT(
        policy=policy,
        mean=split.total,
        p50=p50,
        p95=p95,
        p99=p99,
        maximum=max(found.longest, split.total),
        split=split,
        trip_share=found.tripped if policy in _FALLING_BACK else None,
        cold_requests=found.cold,
        method=method,
        error=error,
    )
