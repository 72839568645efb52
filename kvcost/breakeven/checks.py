"""Checks and JSON values that the results of this layer share."""

from __future__ import annotations

import math
from typing import Any

from kvcost.compute import PrefillCurve
from kvcost.errors import InvalidValueError
from kvcost.facts import Provenance
from kvcost.transfer import TransferPath

__all__ = ["cost_models", "json_value", "something_to_fetch"]


def cost_models(*, prefill: object, path: object) -> None:
    """Refuse what is no prefill curve and no transfer path.

    Raises
    ------
    InvalidValueError
        Naming what to build.
    """
    if not isinstance(prefill, PrefillCurve):
        raise InvalidValueError(
            field="prefill",
            value=prefill,
            bound="must be a PrefillCurve",
            remedy="build one, as in PrefillCurve.from_points({16_000: 0.31})",
        )
    if not isinstance(path, TransferPath):
        raise InvalidValueError(
            field="path",
            value=path,
            bound="must be a TransferPath",
            remedy='build one, as in TransferPath(store_bandwidth="1.71 GB/s")',
        )


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
