"""Charts of answers: told apart without colour, drawn offline, with no formula written again.

They need Altair, which the extra ``notebook`` brings; it is loaded with the first chart.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.charts.break_even import break_even_map
    from kvcost.charts.copies import replication_map
    from kvcost.charts.elasticities import tornado
    from kvcost.charts.ladder import tier_ladder
    from kvcost.charts.load import latency_load
    from kvcost.charts.parts import policy_parts
    from kvcost.charts.saving import save, svg_text
    from kvcost.charts.sweeps import (
        Cell,
        LoadSweep,
        load_sweep,
        replication_sweep,
        threshold_sweep,
    )
    from kvcost.charts.thresholds import threshold_map
    from kvcost.charts.timeline import burst_timeline

_WHERE = {
    "Cell": "sweeps",
    "LoadSweep": "sweeps",
    "break_even_map": "break_even",
    "burst_timeline": "timeline",
    "latency_load": "load",
    "load_sweep": "sweeps",
    "policy_parts": "parts",
    "replication_map": "copies",
    "replication_sweep": "sweeps",
    "save": "saving",
    "svg_text": "saving",
    "threshold_map": "thresholds",
    "threshold_sweep": "sweeps",
    "tier_ladder": "ladder",
    "tornado": "elasticities",
}

__all__ = [
    "Cell",
    "LoadSweep",
    "break_even_map",
    "burst_timeline",
    "latency_load",
    "load_sweep",
    "policy_parts",
    "replication_map",
    "replication_sweep",
    "save",
    "svg_text",
    "threshold_map",
    "threshold_sweep",
    "tier_ladder",
    "tornado",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'kvcost.charts' has no attribute {name!r}")
    return getattr(import_module(f"kvcost.charts.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
