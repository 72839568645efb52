"""Seeded runs of a cluster of replicas behind a router."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.simulation.cluster.record import ClusterRun
    from kvcost.simulation.cluster.replications import Simulated, replicate, run_seeds
    from kvcost.simulation.cluster.run import Behaviour, Prepared, prepare, simulate_requests
    from kvcost.simulation.cluster.scenarios import simulate, simulate_many

_WHERE = {
    "Behaviour": "run",
    "ClusterRun": "record",
    "Prepared": "run",
    "Simulated": "replications",
    "prepare": "run",
    "replicate": "replications",
    "run_seeds": "replications",
    "simulate": "scenarios",
    "simulate_many": "scenarios",
    "simulate_requests": "run",
}

__all__ = [
    "Behaviour",
    "ClusterRun",
    "Prepared",
    "Simulated",
    "prepare",
    "replicate",
    "run_seeds",
    "simulate",
    "simulate_many",
    "simulate_requests",
]


def __getattr__(name: str) -> Any:
    # the compiler is loaded only by those who simulate
    if name in _WHERE:
        return getattr(import_module(f"kvcost.simulation.cluster.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'kvcost.simulation.cluster' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
