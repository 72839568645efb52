"""Spreadsheets: a live planner, a LAMBDA library, and formulas for cells of your own.

Everything is printed from the registry of formulas; nothing is restated.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.sheet.cells import excel
    from kvcost.sheet.lambdas import lambda_module, lambda_name, write_lambdas
    from kvcost.sheet.planner import Planner, write_planner
    from kvcost.sheet.question import Question
    from kvcost.sheet.scenario import scenario_question

_HOMES = {
    "Planner": "planner",
    "Question": "question",
    "excel": "cells",
    "lambda_module": "lambdas",
    "lambda_name": "lambdas",
    "scenario_question": "scenario",
    "write_lambdas": "lambdas",
    "write_planner": "planner",
}

__all__ = [
    "Planner",
    "Question",
    "excel",
    "lambda_module",
    "lambda_name",
    "scenario_question",
    "write_lambdas",
    "write_planner",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"kvcost.sheet.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'kvcost.sheet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
