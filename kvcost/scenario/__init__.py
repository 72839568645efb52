"""Scenarios: what is served, on what, to whom, and how it is routed."""

from __future__ import annotations

from kvcost.scenario.costs import ReplicaCosts
from kvcost.scenario.parts import (
    BehaviourPart,
    CachePart,
    ModelPart,
    NetworkPart,
    PolicyPart,
    ReplicaPart,
    RunPart,
)
from kvcost.scenario.scenario import Scenario, load_scenario, shipped_scenarios
from kvcost.scenario.work import BurstWork, MixedWork, SteadyWork, TraceWork, WindowWork

__all__ = [
    "BehaviourPart",
    "BurstWork",
    "CachePart",
    "MixedWork",
    "ModelPart",
    "NetworkPart",
    "PolicyPart",
    "ReplicaCosts",
    "ReplicaPart",
    "RunPart",
    "Scenario",
    "SteadyWork",
    "TraceWork",
    "WindowWork",
    "load_scenario",
    "shipped_scenarios",
]
