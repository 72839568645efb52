"""Bursts, batches and what they leave behind: build-up, longest wait, drain."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.queueing.burst.answer import BurstWait, Extremes
    from kvcost.queueing.burst.batches import BatchSize, bulk
    from kvcost.queueing.burst.entry import burst
    from kvcost.queueing.burst.fluid import fluid_burst
    from kvcost.queueing.burst.slots import cold_then_warm, cold_then_warm_waits, copies, copy_waits

_WHERE = {
    "BatchSize": "batches",
    "BurstWait": "answer",
    "Extremes": "answer",
    "bulk": "batches",
    "burst": "entry",
    "cold_then_warm": "slots",
    "cold_then_warm_waits": "slots",
    "copies": "slots",
    "copy_waits": "slots",
    "fluid_burst": "fluid",
}

__all__ = [
    "BatchSize",
    "BurstWait",
    "Extremes",
    "bulk",
    "burst",
    "cold_then_warm",
    "cold_then_warm_waits",
    "copies",
    "copy_waits",
    "fluid_burst",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"kvcost.queueing.burst.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'kvcost.queueing.burst' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
