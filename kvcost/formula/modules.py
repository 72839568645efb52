"""Where the formulas are defined."""

from __future__ import annotations

from importlib import import_module

__all__ = ["FORMULA_MODULES", "import_all"]

FORMULA_MODULES = (
    "kvcost.model.formulas",
    "kvcost.hardware.formulas",
    "kvcost.compute.formulas",
    "kvcost.transfer.formulas",
    "kvcost.breakeven.formulas",
    "kvcost.queueing.formulas",
    "kvcost.queueing.approximations",
    "kvcost.queueing.burst.formulas",
    "kvcost.queueing.dispatch.formulas",
    "kvcost.routing.replication_formulas",
)
"""Every module that registers formulas; named, not imported, since they build on this package."""


def import_all() -> None:
    """Import every module that registers formulas."""
    for name in FORMULA_MODULES:
        import_module(name)
