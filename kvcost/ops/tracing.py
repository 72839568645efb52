"""Whether a formula is being traced, and how deep.

While `active` is true, formulas and `ops` receive sympy symbols. In a shallow trace a call to
another formula stays a call, for display; in a deep trace it is expanded.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["active", "shallow", "tracing"]

active = False
shallow = False


@contextmanager
def tracing(*, shallow: bool) -> Iterator[None]:
    """Mark the enclosed calls as a trace.

    Parameters
    ----------
    shallow : bool
        Keep calls to other formulas as calls.
    """
    state = globals()
    before = (state["active"], state["shallow"])
    state["active"], state["shallow"] = True, shallow
    try:
        yield
    finally:
        state["active"], state["shallow"] = before
