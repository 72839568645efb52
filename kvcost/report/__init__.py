"""One page about a scenario, for those who decide: the answer, its margins, and why to trust it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.report.blocks import Page
    from kvcost.report.build import build_report
    from kvcost.report.html import to_html
    from kvcost.report.markdown import to_markdown
    from kvcost.report.write import write_report

_WHERE = {
    "Page": "blocks",
    "build_report": "build",
    "to_html": "html",
    "to_markdown": "markdown",
    "write_report": "write",
}

__all__ = ["Page", "build_report", "to_html", "to_markdown", "write_report"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"kvcost.report.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'kvcost.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
