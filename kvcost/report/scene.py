"""What the report needs to know of a scenario beside its answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kvcost.compute import PrefillCurve
from kvcost.facts import Provenance
from kvcost.model import kv_bytes_per_token, load
from kvcost.scenario import BurstWork, MixedWork, SteadyWork, WindowWork
from kvcost.transfer import TransferPath

if TYPE_CHECKING:
    from kvcost.scenario import ReplicaCosts, Scenario

__all__ = ["Scene"]


@dataclass(frozen=True)
class Scene:
    """A scenario's costs, a typical prompt, and the places that KV can come from.

    Attributes
    ----------
    scenario : Scenario
        The scenario.
    """

    scenario: Scenario

    @cached_property
    def costs(self) -> ReplicaCosts:
        """Costs and limits of a replica."""
        return self.scenario.costs()

    @cached_property
    def kv_bytes_per_token(self) -> float:
        """Bytes that a token adds to the KV."""
        model = self.scenario.model
        if model.kv_bytes_per_token is not None or model.name is None:
            return float(model.kv_bytes_per_token or 0.0)
        return float(kv_bytes_per_token(load(model.name), kv_dtype=model.kv_dtype))

    @cached_property
    def prefill(self) -> PrefillCurve:
        """Time to compute a prompt."""
        return PrefillCurve(
            constant=self.costs.prefill_fixed,
            per_token=self.costs.prefill_slope,
            per_token_squared=self.costs.prefill_quadratic,
            floor=0.0,
            provenance=Provenance.ASSUMED,
            method="arithmetic of the scenario's model and hardware",
        )

    @cached_property
    def paths(self) -> dict[str, TransferPath]:
        """Ways to fetch KV, by where it is."""
        found = {}
        cache, network = self.scenario.cache, self.scenario.network
        links = self.scenario.replica.accelerators
        if cache.host_memory > 0 and cache.host_bandwidth is not None:
            found["host memory"] = TransferPath(store_bandwidth=cache.host_bandwidth * links)
        if network.bandwidth is not None:
            found["another replica"] = TransferPath(
                store_bandwidth=network.bandwidth * links, overhead_seconds=network.latency
            )
        return found

    @cached_property
    def prompt(self) -> int | None:
        """Tokens of a typical prompt; None where the workload does not tell."""
        work = self.scenario.workload
        if isinstance(work, BurstWork | WindowWork | MixedWork):
            return work.shared_tokens + work.suffix_tokens
        return work.prompt_tokens if isinstance(work, SteadyWork) else None

    @cached_property
    def requests(self) -> int | None:
        """Requests of one run; None where only the trace tells."""
        work = self.scenario.workload
        if isinstance(work, WindowWork):
            return work.bursts * work.burst_requests + work.decoys
        if isinstance(work, MixedWork):
            background = round(work.background_rate * work.duration)
            return work.bursts * work.burst_requests + background
        return work.requests
