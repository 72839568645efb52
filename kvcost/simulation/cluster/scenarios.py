"""Simulate a scenario: one run, or as many as an interval needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.scenario.work import SteadyWork, TraceWork
from kvcost.simulation.cluster.replications import replicate
from kvcost.simulation.cluster.run import Behaviour, prepare, simulate_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kvcost.scenario import Scenario
    from kvcost.simulation.cluster.record import ClusterRun
    from kvcost.simulation.cluster.replications import Simulated
    from kvcost.simulation.cluster.run import Prepared

__all__ = ["behaviour_of", "simulate", "simulate_many"]


def behaviour_of(scenario: Scenario) -> Behaviour:
    """Return how the replicas, the router and the network of a scenario behave."""
    network = scenario.network
    return Behaviour(
        copies=network.copies,
        pipelined_layers=network.pipelined_layers,
        **vars(scenario.behaviour),
    )


def _policy(
    scenario: Scenario, policy: str | None, params: Mapping[str, Any] | None
) -> tuple[str, Mapping[str, Any]]:
    if policy is None or policy == scenario.policy.name:
        return scenario.policy.name, scenario.policy.params if params is None else params
    return policy, params or {}


def _once(
    scenario: Scenario,
    prepared: Prepared,
    *,
    policy: str,
    params: Mapping[str, Any],
    seed: int,
) -> ClusterRun:
    run = simulate_requests(
        prepared,
        scenario.costs(),
        policy=policy,
        params=params,
        replicas=scenario.replica.count,
        seed=seed,
        behaviour=behaviour_of(scenario),
    )
    if isinstance(scenario.workload, SteadyWork):
        return run.after(scenario.workload.warm_up)
    return run


def simulate(
    scenario: Scenario,
    *,
    policy: str | None = None,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> ClusterRun:
    """Run a scenario once.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    policy : str, optional
        Routing policy; the scenario's own if not given.
    params : mapping, optional
        Parameters of the policy that differ from production defaults; the scenario's own if
        neither is given.
    seed : int, optional
        Of arrivals, lengths and the policy's choices; the scenario's own if not given.

    Returns
    -------
    ClusterRun
        Every request's times.

    Raises
    ------
    CapacityError
        If weights or a request do not fit.
    InvalidValueError, MissingFactError, UnknownNameError
        If the scenario or the policy is not well stated.

    Examples
    --------
    >>> from kvcost.scenario import load_scenario
    >>> run = simulate(load_scenario("bullet-70b-burst"))
    >>> round(run.mean, 6), run.cold_requests
    (0.244379, 1)
    """
    name, values = _policy(scenario, policy, params)
    chosen = scenario.run.seed if seed is None else seed
    prepared = prepare(scenario.requests(chosen), key_blocks=scenario.key_blocks)
    return _once(scenario, prepared, policy=name, params=values, seed=chosen)


def simulate_many(
    scenario: Scenario,
    *,
    policy: str | None = None,
    params: Mapping[str, Any] | None = None,
    replications: int | None = None,
    seed: int | None = None,
    workers: int = 2,
    progress: Callable[[int], object] | None = None,
) -> Simulated:
    """Run a scenario independently several times, in parallel.

    Parameters
    ----------
    scenario, policy, params
        As for `simulate`.
    replications : int, optional
        Runs; the scenario's own number if not given.
    seed : int, optional
        From which the seeds of the runs derive. The same seed gives every policy the same
        arrivals, so that policies compare with little noise.
    workers : int
        Threads.
    progress : callable, optional
        Called with 1 after each run.

    Returns
    -------
    Simulated
        Mean with its 95% interval, percentiles, parts.

    Raises
    ------
    CapacityError, InvalidValueError, MissingFactError, UnknownNameError
        As `simulate`.
    """
    name, values = _policy(scenario, policy, params)
    fixed: Prepared | None = None
    if isinstance(scenario.workload, TraceWork):
        fixed = prepare(scenario.requests(), key_blocks=scenario.key_blocks)

    def once(of_run: int) -> ClusterRun:
        prepared = fixed or prepare(scenario.requests(of_run), key_blocks=scenario.key_blocks)
        return _once(scenario, prepared, policy=name, params=values, seed=of_run)

    return replicate(
        once,
        replications=scenario.run.replications if replications is None else replications,
        seed=scenario.run.seed if seed is None else seed,
        workers=workers,
        progress=progress,
    )
