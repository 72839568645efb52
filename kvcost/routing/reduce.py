"""A scenario reduced to the few numbers that closed forms take."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kvcost.errors import CapacityError
from kvcost.routing.cases import Burst, NodeCosts, Steady, Window
from kvcost.scenario.work import BurstWork, SteadyWork, WindowWork

if TYPE_CHECKING:
    from kvcost.scenario import Scenario
    from kvcost.scenario.costs import ReplicaCosts
    from kvcost.scenario.work import MixedWork

_MOST = 10_000  # requests of a burst: the forms take longer than the simulation beyond

__all__ = ["burst_case", "node_costs", "outside_closed_forms", "steady_case", "window_case"]


def node_costs(scenario: Scenario, work: BurstWork | WindowWork | MixedWork) -> NodeCosts:
    """Return what one replica needs for a request of a burst.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware, cache and network.
    work : BurstWork, WindowWork or MixedWork
        Lengths.

    Returns
    -------
    NodeCosts
        Cold and warm prefill, copy, decode steps, slots.
    """
    return _node_costs(scenario.costs(), work)


@lru_cache(maxsize=1024)
def _node_costs(costs: ReplicaCosts, work: BurstWork | WindowWork | MixedWork) -> NodeCosts:
    shared = work.shared_tokens // costs.block_tokens * costs.block_tokens
    prompt = work.shared_tokens + work.suffix_tokens
    slots = _slots(costs, prompt + work.output_tokens)
    return NodeCosts(
        cold=costs.prefill(prompt),
        hit=costs.prefill(prompt, cached=shared),
        copy=costs.copy(shared),
        slots=slots,
        step_fixed=costs.decode_fixed,
        step_each=costs.decode_per_token * prompt,
        output_tokens=work.output_tokens,
    )


def _slots(costs: ReplicaCosts, tokens: float) -> int:
    """Return how many requests a replica's KV memory admits together, at least one."""
    slots = costs.slots(tokens)
    if slots < 1:
        raise CapacityError(
            what=f"the KV of a request, {tokens:,.0f} tokens",
            limit=f"the {costs.kv_tokens:,} tokens that a replica has room for",
            remedy="use more accelerators a replica, smaller weights, or shorter requests",
        )
    return slots


def burst_case(scenario: Scenario, work: BurstWork) -> Burst:
    """Return the isolated burst of a scenario."""
    return Burst(
        requests=work.requests,
        span=work.span,
        arrivals=work.arrivals,  # type: ignore[arg-type]
        spacing=work.spacing,  # type: ignore[arg-type]
        replicas=scenario.replica.count,
        node=node_costs(scenario, work),
    )


def window_case(scenario: Scenario, work: WindowWork) -> Window:
    """Return the window of a scenario."""
    return Window(
        bursts=work.bursts,
        first=work.first,
        every=work.every,
        jitter=work.jitter,
        burst_requests=work.burst_requests,
        burst_span=work.burst_span,
        decoys=work.decoys,
        decoy_low=work.decoy_low,
        decoy_high=work.decoy_high,
        replicas=scenario.replica.count,
        node=node_costs(scenario, work),
    )


def steady_case(scenario: Scenario, work: SteadyWork) -> Steady:
    """Return the steady traffic of a scenario."""
    costs = scenario.costs()
    mean, second = work.moments()
    prefill = costs.prefill(mean)
    return Steady(
        rate=work.rate,
        replicas=scenario.replica.count,
        prefill_mean=prefill,
        prefill_scv=second / mean**2 - 1,
        law=work.prompt_law,  # type: ignore[arg-type]
        prefill_high=costs.prefill(work.prompt_high),
        slots=_slots(costs, mean + work.output_tokens),
        step_fixed=costs.decode_fixed,
        step_each=costs.decode_per_token * mean,
        output_tokens=work.output_tokens,
    )


def outside_closed_forms(scenario: Scenario) -> str | None:
    """Say what of a scenario no closed form covers, or return None.

    Parameters
    ----------
    scenario : Scenario
        The scenario.

    Returns
    -------
    str or None
        In words.
    """
    behaviour, work = scenario.behaviour, scenario.workload
    costs = scenario.costs()
    reasons = {
        "loads that are seen late": behaviour.load_staleness > 0,
        "an index that lags": behaviour.index_lag > 0,
        "several gateways": behaviour.gateways > 1,
        "asynchronous loading": behaviour.loads == "async",
        "an index that sees computed KV only": behaviour.index_visibility == "computed",
        "pulls from peers": behaviour.pull_blocks > 0,
        "copies that follow the prefill": scenario.network.pipelined_layers > 0,
    }
    if isinstance(work, BurstWork):
        reasons[f"a burst of more than {_MOST:,} requests"] = work.requests > _MOST
    if isinstance(work, BurstWork | WindowWork):
        reasons["hits that cost nothing"] = work.suffix_tokens == 0
        reasons["more than one output token in a burst"] = work.output_tokens > 1
        reasons["a prefix that starts inside a block"] = work.shared_tokens % costs.block_tokens > 0
        key = scenario.policy.key_blocks
        reasons["a key shorter than the shared prefix"] = (
            key is not None and key != work.shared_tokens // costs.block_tokens
        )
    if isinstance(work, WindowWork):
        reasons["windows whose bursts are not even"] = (
            work.arrivals != "even" or work.spacing != "inclusive"
        )
    if isinstance(work, SteadyWork):
        reasons["gaps that are not exponential"] = work.gap_scv != 1
        reasons["attention in prefill of random lengths"] = (
            costs.prefill_quadratic > 0 and work.prompt_law != "fixed"
        )
    for reason, holds in reasons.items():
        if holds:
            return reason
    return None
