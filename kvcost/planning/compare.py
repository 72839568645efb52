"""Policies side by side on one scenario: closed form, simulation, and the reason of the order."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from kvcost.errors import InvalidValueError
from kvcost.routing import registry
from kvcost.routing.answer import Split
from kvcost.routing.closed import closed_form, why_not

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kvcost.routing.answer import RoutedTTFT
    from kvcost.routing.closed import Memo
    from kvcost.scenario import Scenario
    from kvcost.simulation.cluster import Simulated

__all__ = ["Comparison", "PolicyAnswer", "compare", "policy_params"]

_WORDS = {
    "own_head": "waiting for the first request of the own burst to compute the prefix",
    "other_cold": "waiting behind other requests' cold prefills",
    "suffix": "waiting behind the suffixes of other hits",
    "copy": "waiting for copies",
    "decode": "waiting for decode steps",
    "own_prefill": "the request's own prefill",
}


@dataclass(frozen=True, kw_only=True)
class PolicyAnswer:
    """What a policy gives on a scenario.

    Attributes
    ----------
    policy : str
        The policy.
    closed : RoutedTTFT or None
        Its closed form; None where `missing` says why there is none.
    missing : str or None
        What the closed forms do not cover.
    simulated : Simulated or None
        Simulated runs, where asked for or needed.
    """

    policy: str
    closed: RoutedTTFT | None
    missing: str | None
    simulated: Simulated | None

    @property
    def best(self) -> RoutedTTFT | Simulated:
        """The answer to show: the closed form, or the simulation where there is none."""
        answer = self.closed or self.simulated
        assert answer is not None
        return answer

    @property
    def mean(self) -> float:
        """Mean TTFT [s]."""
        return self.best.mean

    @property
    def rank(self) -> float:
        """Mean to rank by [s]: the simulated one, where there is one."""
        return self.mean if self.simulated is None else self.simulated.mean

    @property
    def split(self) -> Split | None:
        """Parts of the mean: of the closed form, or of the simulation where it does not tell."""
        if self.closed is not None and self.closed.split is not None:
            return self.closed.split
        return None if self.simulated is None else self.simulated.split

    @property
    def difference(self) -> float | None:
        """Closed form over simulated mean, less one; None unless there are both."""
        if self.closed is None or self.simulated is None or self.simulated.mean == 0:
            return None
        return self.closed.mean / self.simulated.mean - 1

    @property
    def inside(self) -> bool | None:
        """Whether the closed form lies in the simulated 95% interval; None unless both are there.

        A simulation in which nothing is random has an interval of no width: there the two must
        agree to nine digits.
        """
        if self.closed is None or self.simulated is None:
            return None
        slack = 1e-9 * abs(self.simulated.mean)
        return self.simulated.low - slack <= self.closed.mean <= self.simulated.high + slack

    @property
    def reason(self) -> str:
        """Where most of the mean comes from, in words."""
        told = self.best if self.simulated is None else self.simulated
        split = told.split
        if split is None or told.mean <= 0:
            return "the method does not tell where the time goes"
        parts = {part.name: getattr(split, part.name) for part in fields(Split)}
        largest = max(parts, key=lambda name: parts[name])
        text = f"{parts[largest] / split.total:.0%} is {_WORDS[largest]}"
        cold = told.cold_requests
        if cold is not None:
            text += f"; {_counted(cold)} the whole prompt"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the answer in base units, as JSON holds it."""
        answer = self.best
        split = self.split
        error = self.closed.error.text if self.closed else "95% interval of the simulated mean"
        found: dict[str, Any] = {
            "policy": self.policy,
            "mean_ttft": answer.mean,
            "p50_ttft": answer.p50,
            "p95_ttft": answer.p95,
            "p99_ttft": answer.p99,
            "max_ttft": answer.maximum,
            "split": None
            if split is None
            else {f.name: getattr(split, f.name) for f in fields(Split)},
            "method": self.closed.method if self.closed else "simulated",
            "error": error,
            "cold_requests": answer.cold_requests,
            "reason": self.reason,
            "warnings": list(self.closed.warnings) if self.closed else [],
            "no_closed_form": self.missing,
            "imbalance_share": self.closed.trip_share if self.closed else None,
            "simulated": None,
            "difference": self.difference,
        }
        if self.simulated is not None:
            found["simulated"] = {
                "mean": self.simulated.mean,
                "low": self.simulated.low,
                "high": self.simulated.high,
                "runs": self.simulated.runs,
                "requests": self.simulated.requests,
                "p50_ttft": self.simulated.p50,
                "p95_ttft": self.simulated.p95,
                "p99_ttft": self.simulated.p99,
                "max_ttft": self.simulated.maximum,
            }
            if self.closed is None:
                found["imbalance_share"] = self.simulated.imbalance_share
        return found


def _counted(cold: float) -> str:
    if round(cold, 1) == 1:
        return "1 request computes"
    return f"{cold:,.0f} requests compute" if cold >= 10 else f"{cold:.2g} requests compute"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Policies on one scenario, the best mean TTFT first.

    Attributes
    ----------
    title : str
        Of the scenario.
    answers : tuple of PolicyAnswer
        One a policy.
    """

    title: str
    answers: tuple[PolicyAnswer, ...]

    def __getitem__(self, policy: str) -> PolicyAnswer:
        """Return a policy's answer."""
        for answer in self.answers:
            if answer.policy == policy:
                return answer
        raise KeyError(policy)

    def to_dict(self) -> dict[str, Any]:
        """Return all answers by policy, best first, in base units."""
        return {answer.policy: answer.to_dict() for answer in self.answers}


def _names(policies: str | Sequence[str] | None, scenario: Scenario) -> Sequence[str]:
    if policies is None:
        return (scenario.policy.name,)
    wanted = (policies,) if isinstance(policies, str) else tuple(dict.fromkeys(policies))
    stated = scenario.network.bandwidth is not None
    if "all" in wanted:
        known = map(registry.policy, registry.names())
        return [policy.name for policy in known if stated or not policy.needs_network]
    if not wanted:
        raise InvalidValueError(
            field="policies", value=wanted, bound="must name at least one", remedy="use all"
        )
    for name in wanted:
        registry.policy(name).require_network(stated=stated)
    return wanted


def compare(
    scenario: Scenario,
    policies: str | Sequence[str] | None = "all",
    *,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    simulate: bool = False,
    replications: int | None = None,
    seed: int | None = None,
    workers: int = 2,
    progress: Callable[[int], object] | None = None,
) -> Comparison:
    """Compare routing policies on a scenario.

    Parameters
    ----------
    scenario : Scenario
        Replicas and workload.
    policies : str or sequence of str, optional
        ``all``, one name or several; the scenario's own policy if None. Without a network ``all``
        leaves out the policies that move KV between replicas.
    params : mapping, optional
        Parameters by policy. The scenario's own are used for its policy, and those that another
        policy shares with it by name are used there too.
    simulate : bool
        Whether to simulate what has a closed form; what has none is simulated anyway.
    replications, seed, workers, progress
        As `kvcost.simulation.cluster.simulate_many` takes them.

    Returns
    -------
    Comparison
        Best mean first.

    Raises
    ------
    UnknownNameError
        If there is no such policy or parameter.
    InvalidValueError, MissingFactError, CapacityError, UnstableError
        If the scenario cannot be served as stated.

    Examples
    --------
    >>> from kvcost.scenario import load_scenario
    >>> found = compare(load_scenario("bullet-70b-burst"), ["cache_aware", "round_robin"])
    >>> [(each.policy, round(each.mean, 4)) for each in found.answers]
    [('round_robin', 0.2271), ('cache_aware', 0.2444)]
    """
    wanted = _names(policies, scenario)
    values = {name: policy_params(scenario, name, params) for name in wanted}
    for name, given in values.items():
        registry.policy(name).values(given)
    answers = []
    memo: Memo = {}
    for name in wanted:
        missing = why_not(scenario, name, values[name])
        closed = None if missing else closed_form(scenario, name, values[name], memo=memo)
        simulated = None
        if simulate or closed is None:
            from kvcost.simulation.cluster import simulate_many  # noqa: PLC0415 - compiles

            simulated = simulate_many(
                scenario,
                policy=name,
                params=values[name],
                replications=replications,
                seed=seed,
                workers=workers,
                progress=progress,
            )
        answers.append(
            PolicyAnswer(policy=name, closed=closed, missing=missing, simulated=simulated)
        )
    answers.sort(key=lambda answer: answer.rank)
    return Comparison(title=scenario.title, answers=tuple(answers))


def policy_params(
    scenario: Scenario, name: str, params: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Return a policy's parameters: those given for it, else what the scenario states for all.

    Parameters
    ----------
    scenario : Scenario
        Whose own parameters another policy takes where it has them by the same name.
    name : str
        The policy.
    params : mapping, optional
        Parameters by policy.

    Returns
    -------
    dict
        Parameters that differ from production defaults.

    Raises
    ------
    UnknownNameError
        If there is no such policy.
    """
    given = (params or {}).get(name)
    if given is not None:
        return dict(given)
    own = scenario.policy.params
    if name == scenario.policy.name:
        return dict(own)
    chosen = registry.policy(name)
    known = {each.name for each in chosen.parameters}
    shared = {key: value for key, value in own.items() if key in known}
    if own.get("preset") in (chosen.presets or {}):
        shared["preset"] = own["preset"]
    return shared
