"""Dispatch laws: what the wait is when requests are sent to servers with queues of their own.

Names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.queueing.dispatch.choices import power_of_d
    from kvcost.queueing.dispatch.least_work import least_work_left
    from kvcost.queueing.dispatch.shortest_queue import join_shortest_queue
    from kvcost.queueing.dispatch.split import random_split
    from kvcost.queueing.dispatch.sticky import StickyHomes, sticky_homes
    from kvcost.queueing.dispatch.turns import round_robin

_WHERE = {
    "StickyHomes": "sticky",
    "join_shortest_queue": "shortest_queue",
    "least_work_left": "least_work",
    "power_of_d": "choices",
    "random_split": "split",
    "round_robin": "turns",
    "sticky_homes": "sticky",
}

__all__ = [
    "StickyHomes",
    "join_shortest_queue",
    "least_work_left",
    "power_of_d",
    "random_split",
    "round_robin",
    "sticky_homes",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"kvcost.queueing.dispatch.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'kvcost.queueing.dispatch' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
