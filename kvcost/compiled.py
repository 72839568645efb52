"""Compile with numba where it is there; without it the same code runs as plain Python."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COMPILED", "allocating", "compiled", "inlined", "rule_pointer"]

F = TypeVar("F", bound="Callable[..., Any]")

try:
    import numba
    from numba import types
except ImportError:
    COMPILED = False
else:
    COMPILED = True
    _njit: Any = numba.njit


def allocating(function: F) -> F:
    """Compile a function that may make arrays; it is kept on disk."""
    wrapped: F = _njit(cache=True, nogil=True)(function) if COMPILED else function
    return wrapped


def compiled(function: F, *, uses: tuple[str, ...] = ()) -> F:
    """Compile a function that makes no arrays; it releases the interpreter's lock.

    Without allocations the counting of references can go: it took nine tenths of the time. `uses`
    names the modules whose helpers are compiled in: the kept code must not outlive their text.
    """
    if not COMPILED:
        return function
    wrapped: F = _njit(cache=True, nogil=True, _nrt=False)(_marked(function, uses))
    return wrapped


def _marked(function: F, uses: tuple[str, ...]) -> F:
    """Return the function with the text of the modules it uses as a part of its identity.

    The compiler's cache looks at a function's own file and at its closure only.
    """
    if not uses:
        return function
    texts = b"".join(Path(str(sys.modules[name].__file__)).read_bytes() for name in uses)
    code = function.__code__.replace(co_freevars=("_texts",))
    closure = (CellType(sha256(texts).hexdigest()),)
    marked: Any = FunctionType(code, function.__globals__, function.__name__, None, closure)
    marked.__doc__, marked.__module__ = function.__doc__, function.__module__
    marked.__qualname__ = function.__qualname__
    renamed: F = marked
    return renamed


def inlined(function: F) -> F:
    """Compile a helper into its callers."""
    wrapped: F = _njit(forceinline=True, _nrt=False)(function) if COMPILED else function
    return wrapped


def rule_pointer(rule: Callable[..., int], *, uses: tuple[str, ...] = ()) -> Any:
    """Return a choice rule as something that the compiled loop calls, whichever rule it is."""
    if not COMPILED:
        return rule
    row, table, whole = types.float64[::1], types.float64[:, ::1], types.int64[::1]
    signature = types.int64(types.float64, row, row, table, row, row, whole)
    return numba.cfunc(signature, cache=True)(_marked(rule, uses))
