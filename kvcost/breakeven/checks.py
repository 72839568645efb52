"""Checks and JSON values that the results of this layer share."""

from __future__ import annotations

import math
from typing import Any

from kvcost.errors import InvalidValueError
from kvcost.facts import Provenance

__all__ = ["json_value", "something_to_fetch"]


def something_to_fetch(*, kv_bytes_per_token: float, fixed_bytes_per_request: float) -> None:
    """Refuse a prompt whose KV has no bytes.

    Raises
    ------
    InvalidValueError
        If neither a token nor a request has bytes.
    """
    if not kv_bytes_per_token and not fixed_bytes_per_request:
        raise InvalidValueError(
            field="kv_bytes_per_token",
            value=kv_bytes_per_token,
            bound="must be above 0 where no byte is fixed",
            remedy="give the bytes of a token, or those of a request's states",
        )


def json_value(value: Any) -> Any:
    """Return a field of a result as JSON has it; a number that is not finite becomes None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Provenance):
        return str(value)
    if isinstance(value, tuple):
        return [json_value(item) for item in value]
    return value
