"""Routing budgets: the TTFT of a scenario under its policy, bursts and waiting included."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kvcost.checks.outcome import Outcome
from kvcost.checks.words import computed_seconds, relation
from kvcost.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.checks.table import Table
    from kvcost.planning import PolicyAnswer

__all__ = ["KEYS", "SUMMARY", "judge_route", "read"]

SUMMARY = "the TTFT of a scenario under a routing policy is within a limit"
KEYS = frozenset({"scenario", "policy", "statistic", "max_ttft", "measured"})

_STATISTICS = ("mean", "p50", "p95", "p99", "longest")


def judge_route(asked: PolicyAnswer | float, *, limit: float, statistic: str) -> Outcome:
    """Return whether a TTFT under a routing policy is within its limit.

    Parameters
    ----------
    asked : PolicyAnswer or float
        What `kvcost.planning.compare` answers for a policy, or a measured TTFT [s].
    limit : float
        Longest time allowed [s].
    statistic : str
        ``mean``, ``p50``, ``p95``, ``p99`` or ``longest``. Where the mean was simulated, the upper
        end of its interval counts.

    Returns
    -------
    Outcome
        Met where the time is at most the limit.
    """
    allowed = f"the {format_seconds(limit)} allowed"
    notes: tuple[str, ...] = ()
    if isinstance(asked, (float, int)):
        value = float(asked)
        text = f"measured {statistic} TTFT {format_seconds(value)}"
    else:
        told = asked.best
        value = told.maximum if statistic == "longest" else getattr(told, statistic)
        if statistic == "mean" and asked.closed is None and asked.simulated is not None:
            value = asked.simulated.high
        text = f"{statistic} TTFT {computed_seconds(value)} under {asked.policy}"
        how = asked.to_dict()
        notes = (f"method: {how['method']}", f"error: {how['error']}", asked.reason)
    return Outcome(
        met=value <= limit,
        text=f"{text} is {relation(value, limit)} {allowed}",
        value=value,
        limit=limit,
        unit="s",
        notes=notes,
    )


def read(table: Table) -> Callable[[], Outcome]:
    """Return the function that judges a routing budget; see `kvcost.checks.kinds`."""
    table.need("max_ttft", example='"1.5 s"')
    table.need("statistic", example='"mean" or "p95"')
    limit = cast("float", table.seconds("max_ttft"))
    statistic = cast("str", table.text("statistic", choices=_STATISTICS))
    measured = table.seconds("measured", allow_zero=True)
    if measured is not None:
        return lambda: judge_route(measured, limit=limit, statistic=statistic)
    from kvcost.planning import compare, policy_params  # noqa: PLC0415 - loaded when asked for
    from kvcost.routing import registry  # noqa: PLC0415
    from kvcost.scenario import load_scenario  # noqa: PLC0415

    table.need("scenario", example='"bullet-70b-burst" or "my.toml"')
    name = cast("str", table.text("scenario"))
    scenario = load_scenario(table.files.folder / name if name.endswith(".toml") else name)
    policy = table.text("policy") or scenario.policy.name
    registry.policy(policy).values(policy_params(scenario, policy))

    def judge() -> Outcome:
        answer = compare(scenario, policy)[policy]
        return judge_route(answer, limit=limit, statistic=statistic)

    return judge
