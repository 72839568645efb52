"""Steady Poisson traffic without sharing: time to first token under the load-based policies."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.deterministic import mdc
from kvcost.queueing.result import ErrorClass
from kvcost.queueing.service import Lognormal
from kvcost.queueing.validation import not_negative, positive, require_stable, whole
from kvcost.routing.answer import RoutedTTFT, Split
from kvcost.routing.even_checks import checked_name
from kvcost.routing.steady_decode import decoding, full_share
from kvcost.routing.steady_law import Prefill, one_replica, sum_quantiles
from kvcost.routing.steady_measured import LEAST_UTILIZATION, measured

if TYPE_CHECKING:
    from kvcost.routing.cases import Steady

__all__ = ["POLICIES", "steady_ttft"]

POLICIES = (
    "random",
    "round_robin",
    "least_load",
    "least_work",
    "power_of_two",
    "cache_aware",
)

_SHARES = (0.5, 0.95, 0.99)
_NEGLIGIBLE = 1e-3
_LITTLE = 0.05
_QUIET = 0.01
_IDLE = 1e-5
_TIMES = 400
_LOOKS = {"least_load": "all", "cache_aware": "all", "power_of_two": "two"}
_LAWS = ("fixed", "lognormal")
_LATTICE = ErrorClass(
    kind="approximation",
    relative=0.03,
    text="mean within 3% of simulation; the queue is exact, decode steps are approximate",
)
_FACTORS = ErrorClass(
    kind="approximation", relative=0.06, text="mean within 6% of simulation where measured"
)
_DECODED = ErrorClass(
    kind="approximation",
    relative=0.12,
    text="mean within 3% of simulation for fixed prefills of 64 output tokens, 12% for lognormal",
)
_POOLED = ErrorClass(
    kind="approximation",
    relative=0.06,
    text="mean within 6% of simulation; decode steps and the price on KV use are left out",
)


@dataclass(frozen=True, kw_only=True)
class _Found:
    wait: float
    quantiles: tuple[float, ...]
    method: str
    error: ErrorClass
    warnings: tuple[str, ...] = ()


def steady_ttft(policy: str, case: Steady) -> RoutedTTFT:
    """Find the time to first token of steady Poisson traffic under a routing policy.

    Parameters
    ----------
    policy : str
        One of `POLICIES`.
    case : Steady
        Traffic, replicas and costs.

    Returns
    -------
    RoutedTTFT
        Mean and percentiles; the longest has no bound, so it is infinite.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    UnknownNameError
        If the policy is none of `POLICIES`.
    UnstableError
        If more work arrives than the replicas can do, decode steps at full KV slots included.

    Notes
    -----
    ``random``: each replica is M/G/1. ``round_robin``: E_R/G/1, which is M/D/R for a fixed prefill.
    ``least_load``, and ``cache_aware`` which has nothing to match: join the shortest queue, but a
    request counts until it is decoded, and that only happens when nobody waits; the factor is
    measured. ``power_of_two`` likewise. ``least_work``: one queue for all replicas, M/G/R. To each
    come the wait for a decode step under way and, where the KV slots fill up, the decode time that
    admissions then cost.

    References
    ----------
    .. [1] L. Takacs (1962), Introduction to the Theory of Queues, chapter 1.
    .. [2] S. W. Fuhrmann, R. B. Cooper (1985), Stochastic decompositions in the M/G/1 queue with
       generalized vacations, https://doi.org/10.1287/opre.33.5.1117

    Examples
    --------
    >>> from kvcost.routing.cases import Steady
    >>> case = Steady(
    ...     rate=4.1, replicas=4, prefill_mean=0.585, prefill_scv=0.0, law="fixed", slots=66,
    ...     step_fixed=0.0132, step_each=0.00025, output_tokens=1,
    ... )
    >>> for policy in "random", "round_robin":
    ...     print(policy, round(steady_ttft(policy, case).mean, 3))
    random 1.023
    round_robin 0.643
    """
    checked_name(policy, POLICIES)
    case = _checked(case)
    # below this load nobody waits to any digit shown, and the laws lose theirs
    least = _IDLE * case.replicas / case.prefill_mean
    case = replace(case, rate=max(case.rate, least))
    load = case.rate * case.prefill_mean
    require_stable(servers=case.replicas, offered_load=load)
    steps = decoding(case)
    found = _found(policy, case, extra=0.0, delay=steps.wait, ratio=steps.ratio)
    warnings, error = found.warnings, found.error
    rho = load / case.replicas
    simple = rho * case.prefill_mean / (2 * (1 - rho))
    full = full_share(
        utilization=rho, slots=case.slots, held=steps.held, spread=found.wait / simple
    )
    wait, quantiles = found.wait, found.quantiles
    if full * steps.each > _NEGLIGIBLE * (1 - rho) * case.prefill_mean:
        require_stable(servers=case.replicas, offered_load=load + case.rate * steps.each)
        slower = _found(policy, case, extra=steps.each, delay=steps.wait, ratio=steps.ratio)
        wait += full * (slower.wait - found.wait)
        quantiles = tuple(
            a + full * (b - a) for a, b in zip(found.quantiles, slower.quantiles, strict=True)
        )
        error, warnings = _doubted(policy, error, warnings, by=wait / found.wait - 1)
    decode = wait - found.wait + steps.wait
    p50, p95, p99 = _in_quiet(policy, case, quantiles, rho=rho)
    return RoutedTTFT(
        policy=policy,
        mean=wait + steps.wait + case.prefill_mean,
        p50=p50,
        p95=p95,
        p99=p99,
        maximum=math.inf,
        split=Split(
            own_head=0.0,
            other_cold=found.wait,
            suffix=0.0,
            copy=0.0,
            decode=decode,
            own_prefill=case.prefill_mean,
        ),
        method=found.method,
        error=error,
        warnings=warnings,
    )


def _in_quiet(
    policy: str, case: Steady, quantiles: tuple[float, ...], *, rho: float
) -> tuple[float, ...]:
    """Return percentiles that go to those of the prefill alone as the load vanishes.

    The laws lose their digits, and the measured factors begin, above loads at which hardly anybody
    waits: up to one request in a hundred for the laws, so that no percentile here moves.
    """
    alone = Prefill(mean=case.prefill_mean, scv=case.prefill_scv, high=case.prefill_high)
    own = tuple(alone.quantile(share) for share in (0.5, 0.95, 0.99))
    if policy in _LOOKS and case.replicas > 1:
        # two replicas at least must be busy for a request to wait
        share = min(rho / LEAST_UTILIZATION, 1.0) ** 2
        return tuple(a + share * (b - a) for a, b in zip(own, quantiles, strict=True))
    return own if rho <= _QUIET else quantiles


def _doubted(
    policy: str, error: ErrorClass, warnings: tuple[str, ...], *, by: float
) -> tuple[ErrorClass, tuple[str, ...]]:
    """Return the error and warnings where full KV slots lengthen the wait by a share."""
    if by < _LITTLE:
        return error, warnings
    warnings = (*warnings, f"full KV slots lengthen the wait by {by:.0%}, which is approximate")
    worst = 0.3 if policy in _LOOKS else 0.12
    if error.relative is None:
        return error, warnings
    text = f"mean within {worst:.0%} of simulation where KV slots fill up"
    return ErrorClass(kind="approximation", relative=worst, text=text), warnings


def _checked(case: Steady) -> Steady:
    if case.law not in _LAWS:
        raise InvalidValueError(
            field="law", value=case.law, bound="is no law", remedy=f"use {' or '.join(_LAWS)}"
        )
    mean = positive("prefill_mean", case.prefill_mean, unit="s")
    scv = not_negative("prefill_scv", case.prefill_scv, unit="1")
    if case.law == "lognormal" and not case.prefill_high > mean:
        raise InvalidValueError(
            field="prefill_high",
            value=case.prefill_high,
            bound=f"must be above the mean of {mean:g} s",
            remedy="leave it out for a law that is not clipped",
        )
    return replace(
        case,
        rate=positive("rate", case.rate, unit="1/s"),
        replicas=whole("replicas", case.replicas),
        prefill_mean=mean,
        prefill_scv=0.0 if case.law == "fixed" else scv,
        slots=positive("slots", case.slots, unit="1"),
        step_fixed=not_negative("step_fixed", case.step_fixed, unit="s"),
        step_each=not_negative("step_each", case.step_each, unit="s"),
        output_tokens=whole("output_tokens", case.output_tokens),
    )


def _found(policy: str, case: Steady, *, extra: float, delay: float, ratio: float) -> _Found:
    """Return the wait where each prefill holds the replica `extra` seconds longer."""
    replicas = case.replicas
    prefill = Prefill(
        mean=case.prefill_mean + extra,
        scv=case.prefill_scv * (case.prefill_mean / (case.prefill_mean + extra)) ** 2,
        high=case.prefill_high + extra,
    )
    if replicas == 1 or policy == "random":
        found = _single(case.rate / replicas, prefill, delay)
    elif policy == "round_robin" or (policy == "least_work" and prefill.scv <= 0):
        # equal prefills: the replica whose turn it is has the least work
        found = _turns(case, prefill, delay)
    elif policy == "least_work":
        found = _pooled(case, prefill, delay)
    else:
        looks = _LOOKS[policy] if replicas > 2 else "all"
        found = _least(looks, case, prefill, delay, ratio)
    return replace(found, quantiles=tuple(each - extra for each in found.quantiles))


def _single(rate: float, prefill: Prefill, delay: float) -> _Found:
    law = one_replica(rate=rate, every=1, prefill=prefill, delay=delay, shares=_SHARES)
    rho = rate * prefill.mean
    return _Found(
        wait=rho * prefill.mean * (1 + prefill.scv) / (2 * (1 - rho)),
        quantiles=law.quantiles,
        method="M/G/1 at each replica by Pollaczek-Khinchine, decode steps as vacations",
        error=_LATTICE,
    )


def _turns(case: Steady, prefill: Prefill, delay: float) -> _Found:
    law = one_replica(
        rate=case.rate, every=case.replicas, prefill=prefill, delay=delay, shares=_SHARES
    )
    wait, name = law.wait, f"E_{case.replicas}/G/1 by Spitzer's identity on a lattice"
    if prefill.scv <= 0:
        pooled = mdc(servers=case.replicas, mean_service=prefill.mean, arrival_rate=case.rate)
        wait, name = pooled.mean_high, f"in turn = {pooled.method}"
    return _Found(
        wait=wait,
        quantiles=law.quantiles,
        method=f"{name}, decode steps as vacations",
        error=_LATTICE,
    )


def _pooled(case: Steady, prefill: Prefill, delay: float) -> _Found:
    from kvcost.queueing.dispatch.least_work import least_work_left  # noqa: PLC0415

    mean = prefill.mean
    law = Lognormal(mean=1.0, scv=prefill.scv)
    found = least_work_left(
        servers=case.replicas, service=law, utilization=case.rate * mean / case.replicas
    )
    wait = found.mean if found.mean is not None else (found.mean_low + found.mean_high) / 2
    longest = found.quantile(0.9995)
    times = np.concatenate([[0.0], np.geomspace(1e-3, max(longest, 2e-3), _TIMES)])
    beyond = np.array([found.survival(float(t)) for t in times])
    return _Found(
        wait=wait * mean,
        quantiles=sum_quantiles(
            waits=times * mean, beyond=beyond, prefill=prefill, delay=delay, shares=_SHARES
        ),
        method=f"{found.method}, decode steps as vacations",
        error=_POOLED,
        warnings=found.warnings,
    )


def _least(looks: str, case: Steady, prefill: Prefill, delay: float, ratio: float) -> _Found:
    got = measured(
        looks=looks,
        replicas=case.replicas,
        utilization=case.rate * prefill.mean / case.replicas,
        scv=prefill.scv,
        ratio=ratio,
    )
    base = "join the shortest queue" if looks == "all" else "the shorter of two queues"
    error = _FACTORS if case.output_tokens == 1 else _DECODED
    if got.outside:
        error = replace(error, relative=None, text="outside what was measured")
    return _Found(
        wait=got.wait * prefill.mean,
        quantiles=tuple(each * prefill.mean + delay for each in got.quantiles),
        method=f"{base}, times a measured factor for finished prefills that still count as load",
        error=error,
        warnings=got.outside,
    )
