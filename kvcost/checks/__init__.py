"""Budgets: limits that a deployment must keep, checked by pytest, a command or an assertion.

Names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.checks.budgets import BudgetFile, read_budgets
    from kvcost.checks.deployments import Deployment, deployment
    from kvcost.checks.kinds.bandwidth import assert_bandwidth_above_break_even
    from kvcost.checks.kinds.fits import assert_fits
    from kvcost.checks.kinds.stable import assert_stable
    from kvcost.checks.kinds.ttft import assert_ttft_within
    from kvcost.checks.kinds.wait import assert_wait_within
    from kvcost.checks.outcome import Budget, BudgetError, Outcome

_WHERE = {
    "Budget": "outcome",
    "BudgetError": "outcome",
    "BudgetFile": "budgets",
    "Deployment": "deployments",
    "Outcome": "outcome",
    "assert_bandwidth_above_break_even": "kinds.bandwidth",
    "assert_fits": "kinds.fits",
    "assert_stable": "kinds.stable",
    "assert_ttft_within": "kinds.ttft",
    "assert_wait_within": "kinds.wait",
    "deployment": "deployments",
    "read_budgets": "budgets",
}

__all__ = [
    "Budget",
    "BudgetError",
    "BudgetFile",
    "Deployment",
    "Outcome",
    "assert_bandwidth_above_break_even",
    "assert_fits",
    "assert_stable",
    "assert_ttft_within",
    "assert_wait_within",
    "deployment",
    "read_budgets",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"kvcost.checks.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'kvcost.checks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
