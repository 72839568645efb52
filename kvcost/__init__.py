"""What a KV cache costs in LLM serving: bytes, break-even, waiting and routing.

Use it as ``import kvcost as kv``; submodules load on first use.

PYTEST_DONT_REWRITE: kvcost holds a pytest plugin, and may be imported before pytest starts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost import (
        breakeven,
        charts,
        checks,
        compute,
        errors,
        facts,
        formula,
        hardware,
        model,
        planning,
        queueing,
        report,
        routing,
        scenario,
        sheet,
        simulation,
        transfer,
        units,
        workload,
    )

__all__ = [
    "__version__",
    "breakeven",
    "charts",
    "checks",
    "compute",
    "errors",
    "facts",
    "formula",
    "hardware",
    "model",
    "planning",
    "queueing",
    "report",
    "routing",
    "scenario",
    "sheet",
    "simulation",
    "transfer",
    "units",
    "workload",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"kvcost.{name}")
    raise AttributeError(f"module 'kvcost' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
