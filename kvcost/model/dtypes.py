"""The dtypes that KV, index and recurrent state are stored in, with their scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvcost.errors import InvalidValueError, MissingFactError, UnknownNameError, nearest_names
from kvcost.model.checks import checked_number, checked_whole
from kvcost.model.formulas import scaled_element_bytes

__all__ = [
    "INDEX_DTYPES",
    "KV_DTYPES",
    "STATE_DTYPES",
    "KVDtype",
    "index_dtype",
    "kv_dtype",
    "state_element_bytes",
]


@dataclass(frozen=True, kw_only=True)
class KVDtype:
    """How one element of K or V is stored.

    Parameters
    ----------
    name : str
        Canonical name.
    element_bytes : float
        Bytes of an element, the scales of blocks included.
    head_scale_bytes : float
        Bytes of scale for one head and token, K and V together; 0 without such scales.
    quant_block : int
        Elements that share a scale within a head or latent; 1 without such scales.
    note : str
        What a reader must know; empty if nothing.
    """

    name: str
    element_bytes: float
    head_scale_bytes: float = 0.0
    quant_block: int = 1
    note: str = ""


_NO_SCALES = "int8 is counted without scales; int8_per_token_head counts them"


def _blocked(name: str, value_bytes: float, scale_bytes: float, quant_block: int) -> KVDtype:
    size = scaled_element_bytes(
        value_bytes=value_bytes, scale_bytes=scale_bytes, quant_block=quant_block
    )
    return KVDtype(name=name, element_bytes=size, quant_block=quant_block)


# One fp32 scale for K and one for V.
_HEAD_SCALES = 2 * 4.0

_KNOWN = {
    dtype.name: dtype
    for dtype in (
        KVDtype(name="fp32", element_bytes=4.0),
        KVDtype(name="bf16", element_bytes=2.0),
        KVDtype(name="fp16", element_bytes=2.0),
        KVDtype(name="fp8", element_bytes=1.0),
        KVDtype(name="fp8_per_token_head", element_bytes=1.0, head_scale_bytes=_HEAD_SCALES),
        KVDtype(name="int8", element_bytes=1.0, note=_NO_SCALES),
        KVDtype(name="int8_per_token_head", element_bytes=1.0, head_scale_bytes=_HEAD_SCALES),
        _blocked("nvfp4", 0.5, 1.0, 16),
        _blocked("mxfp4", 0.5, 1.0, 32),
    )
}

KV_DTYPES = (*_KNOWN, "int4")
"""Names of KV dtypes."""

INDEX_DTYPES = ("bf16", "fp8")
"""Names of index dtypes; fp8 is the record of fp8 values and fp32 scales."""

STATE_DTYPES = ("fp32", "bf16", "fp16")
"""Names of dtypes of recurrent and convolution states."""

_ALIASES = {
    "bfloat16": "bf16",
    "e4m3": "fp8",
    "e5m2": "fp8",
    "f16": "fp16",
    "f32": "fp32",
    "float": "fp32",
    "float16": "fp16",
    "float32": "fp32",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e4m3fn": "fp8",
    "fp8_e5m2": "fp8",
    "half": "fp16",
}


def _canonical(name: Any, *, field: str, kind: str, known: tuple[str, ...]) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InvalidValueError(
            field=field,
            value=name,
            bound="must be the name of a dtype",
            remedy=f"use one of {', '.join(known)}",
        )
    lowered = name.strip().lower().removeprefix("torch.")
    lowered = _ALIASES.get(lowered, lowered)
    if lowered not in known:
        raise UnknownNameError(
            kind=kind,
            name=name,
            nearest=nearest_names(lowered, known),
            remedy=f"use one of {', '.join(known)}",
        )
    return lowered


def kv_dtype(
    name: str, *, group_size: int | None = None, group_scale_bytes: float | None = None
) -> KVDtype:
    """Return a KV dtype by name.

    Parameters
    ----------
    name : str
        One of `KV_DTYPES` or an alias (``bfloat16``, ``float16``, ``fp8_e4m3``); case is ignored.
    group_size : int, optional
        Elements that share a scale; only int4 takes it, and needs it.
    group_scale_bytes : float, optional
        Bytes of scale and zero point of a group; only int4 takes it, and needs it.

    Returns
    -------
    KVDtype
        Its sizes.

    Raises
    ------
    UnknownNameError
        If no dtype has that name; the nearest are listed.
    MissingFactError
        If int4 is asked for without group size and scale bytes, which differ by engine.
    InvalidValueError
        If they are out of bounds or given for another dtype.

    Examples
    --------
    >>> kv_dtype("nvfp4").element_bytes
    0.5625
    >>> kv_dtype("int4", group_size=32, group_scale_bytes=2).element_bytes
    0.5625
    """
    chosen = _canonical(name, field="kv_dtype", kind="KV dtype", known=KV_DTYPES)
    if chosen == "int4":
        return _int4(group_size, group_scale_bytes)
    for field, value in (("group_size", group_size), ("group_scale_bytes", group_scale_bytes)):
        if value is not None:
            raise InvalidValueError(
                field=field,
                value=value,
                bound=f"says nothing about {chosen}",
                remedy="give it with int4 only, whose groups differ by engine",
            )
    return _KNOWN[chosen]


def _int4(group_size: int | None, group_scale_bytes: float | None) -> KVDtype:
    for fact, value in (
        ("group_size, the elements that share a scale,", group_size),
        ("group_scale_bytes, the scale and zero point of a group,", group_scale_bytes),
    ):
        if value is None:
            raise MissingFactError(
                fact=fact, subject="int4 KV", remedy="give it as the engine has it: engines differ"
            )
    size = checked_whole(
        group_size,
        field="group_size",
        low=1,
        high=10**6,
        remedy="give the elements that share a scale, such as 32 or 64",
    )
    scale_bytes = checked_number(
        group_scale_bytes,
        field="group_scale_bytes",
        low=0,
        high=64,
        remedy="give the bytes of scale and zero point of a group, such as 2 or 4",
    )
    return _blocked("int4", 0.5, scale_bytes, size)


def index_dtype(name: str) -> str:
    """Return the canonical name of an index dtype.

    Parameters
    ----------
    name : str
        ``bf16`` or ``fp8``, or an alias.

    Returns
    -------
    str
        One of `INDEX_DTYPES`.

    Raises
    ------
    UnknownNameError
        If no index dtype has that name.

    Examples
    --------
    >>> index_dtype("fp8_e4m3")
    'fp8'
    """
    return _canonical(name, field="index_dtype", kind="index dtype", known=INDEX_DTYPES)


def state_element_bytes(name: str, *, field: str = "state_dtype") -> float:
    """Return the bytes of an element of a recurrent or convolution state.

    Parameters
    ----------
    name : str
        One of `STATE_DTYPES` or an alias.
    field : str
        Name of the option, for the error.

    Returns
    -------
    float
        Bytes of an element.

    Raises
    ------
    UnknownNameError
        If no state dtype has that name.

    Examples
    --------
    >>> state_element_bytes("float32")
    4.0
    """
    kind = field.replace("_", " ")
    return _KNOWN[_canonical(name, field=field, kind=kind, known=STATE_DTYPES)].element_bytes
