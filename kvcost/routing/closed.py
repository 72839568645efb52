"""The closed form of a policy on a scenario, where there is one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from kvcost.queueing.result import ErrorClass
from kvcost.routing import registry
from kvcost.routing.nearest import BurstFacts, nearest_form
from kvcost.routing.reduce import burst_case, outside_closed_forms, steady_case, window_case
from kvcost.scenario.work import BurstWork, SteadyWork, WindowWork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.routing.answer import RoutedTTFT
    from kvcost.scenario import Scenario

__all__ = ["Memo", "closed_form", "why_not"]

_NO_LIMIT = 1e12

Memo: TypeAlias = "dict[tuple[str, tuple[tuple[str, Any], ...]], RoutedTTFT]"

_BURST = frozenset({"random", "round_robin", "least_load", "cache_aware", "replicate_on_burst"})
_STEADY = frozenset(
    {"random", "round_robin", "least_load", "least_work", "power_of_two", "cache_aware"}
)
# with nothing shared these choose as the policy beside them does
_WITHOUT_SHARING = {
    "replicate_on_burst": "cache_aware",
    "p2p_pull": "least_load",
    "consistent_hash": "random",
}


def _covered(
    policy: str, scenario: Scenario, values: Mapping[str, float]
) -> tuple[str, dict[str, Any]] | None:
    """Return the form that answers for `policy` on the scenario's workload, and its arguments."""
    work = scenario.workload
    if isinstance(work, SteadyWork):
        name = _WITHOUT_SHARING.get(policy, policy)
        return (name, {}) if name in _STEADY else None
    if policy in _BURST:
        return policy, _rule(values)
    if not isinstance(work, BurstWork):
        return None
    prompt = work.shared_tokens + work.suffix_tokens
    slots = scenario.costs().slots(prompt + work.output_tokens)
    facts = BurstFacts(
        requests=work.requests, prompt=prompt, private=work.suffix_tokens, slots=slots
    )
    return nearest_form(policy, values, facts)


def _rule(values: Mapping[str, float]) -> dict[str, Any]:
    """Return a policy's own parameters as the forms name them."""
    names = {
        "balance_abs": "threshold_abs",
        "balance_rel": "threshold_rel",
        "copies": "copies",
        "repeats": "repeats",
        "within": "window",
    }
    whole = {"copies", "repeats"}
    return {
        argument: int(values[name]) if name in whole else min(values[name], _NO_LIMIT)
        for name, argument in names.items()
        if name in values
    }


def why_not(  # noqa: PLR0911 - one return a reason
    scenario: Scenario, policy: str, params: Mapping[str, Any] | None = None
) -> str | None:
    """Say why there is no closed form for a policy on a scenario, or return None if there is.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    policy : str
        The policy.
    params : mapping, optional
        Its parameters.

    Returns
    -------
    str or None
        In words.
    """
    outside = outside_closed_forms(scenario)
    if outside is not None:
        return outside
    if not isinstance(scenario.workload, BurstWork | WindowWork | SteadyWork):
        return "this kind of workload"
    values = registry.policy(policy).values(params)
    covered = _covered(policy, scenario, values)
    if covered is None:
        return "this policy on this kind of workload"
    if covered[0] == "replicate_on_burst" and scenario.network.copies == "nic":
        return "copies that share network cards"
    if values.get("miss_to_smallest_tree"):
        return "misses to the smallest tree"
    if values.get("overload_kv_use", 1) < 1 or values.get("balance_kv_use", 1) < 1:
        return "thresholds on KV use"
    shared = scenario.workload.shared
    threshold = values.get("cache_threshold", 0.0)
    if shared and isinstance(scenario.workload, BurstWork | WindowWork):
        prompt = shared + scenario.workload.suffix_tokens
        if threshold * prompt > shared:
            return "a shared prefix below the cache threshold"
    if isinstance(scenario.workload, WindowWork):
        return _outside_windows(scenario, scenario.workload, policy, _rule(values))
    return None


def _outside_windows(
    scenario: Scenario, work: WindowWork, policy: str, rule: Mapping[str, Any]
) -> str | None:
    """Say what of a window the form of a policy does not cover, or return None."""
    from kvcost.routing.windows import covers  # noqa: PLC0415 - compiled when asked for

    return covers(
        policy,
        window_case(scenario, work),
        scenario.behaviour.copy_visibility,
        **{
            ("detection_window" if name == "window" else name): value
            for name, value in rule.items()
            if name in {"copies", "repeats", "window", "threshold_abs"}
        },
    )


def closed_form(
    scenario: Scenario,
    policy: str,
    params: Mapping[str, Any] | None = None,
    *,
    memo: Memo | None = None,
) -> RoutedTTFT | None:
    """Return the time to first token of a policy on a scenario, in closed form.

    Parameters
    ----------
    scenario : Scenario
        Replicas and workload.
    policy : str
        The policy.
    params : mapping, optional
        Its parameters that differ from production defaults.
    memo : dict, optional
        Filled with the forms worked out, so that policies of one scenario whose nearest form is
        the same share it.

    Returns
    -------
    RoutedTTFT or None
        None where `why_not` says why. For a policy without a form of its own, that of the nearest
        one, with the measured distance to it as its error.

    Raises
    ------
    UnknownNameError
        If there is no such policy or parameter.
    InvalidValueError
        If a parameter is out of its range.
    UnstableError
        If steady traffic brings more work than the replicas can do.
    """
    chosen = registry.policy(policy)
    if why_not(scenario, policy, params) is not None:
        return None
    values = chosen.values(params)
    covered = _covered(policy, scenario, values)
    assert covered is not None
    form, rule = covered
    memo = {} if memo is None else memo
    key = (form, tuple(sorted(rule.items())))
    if key not in memo:
        memo[key] = _answer(scenario, form, rule)
    answer = memo[key]
    if form == policy or isinstance(scenario.workload, SteadyWork):
        return replace(answer, policy=policy)
    return replace(
        answer,
        policy=policy,
        method=f"as {form}: {answer.method}",
        error=ErrorClass(kind="approximation", relative=None, text=chosen.nearest_error),
    )


def _answer(scenario: Scenario, form: str, rule: dict[str, Any]) -> RoutedTTFT:
    work = scenario.workload
    if isinstance(work, SteadyWork):
        from kvcost.routing.steady import steady_ttft  # noqa: PLC0415 - compiled when asked for

        return steady_ttft(form, steady_case(scenario, work))
    seen: Any = scenario.behaviour.copy_visibility
    if isinstance(work, WindowWork):
        from kvcost.routing.windows import window_ttft  # noqa: PLC0415

        renamed = {("detection_window" if k == "window" else k): v for k, v in rule.items()}
        return window_ttft(form, window_case(scenario, work), visibility=seen, **renamed)
    assert isinstance(work, BurstWork)
    if work.arrivals == "even" or work.span == 0:
        from kvcost.routing import even as forms  # noqa: PLC0415
    else:
        from kvcost.routing import poisson as forms  # type: ignore[no-redef] # noqa: PLC0415
    return forms.burst_ttft(form, burst_case(scenario, work), visibility=seen, **rule)
