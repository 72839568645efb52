"""Bytes that one token takes in a group of layers, by dtype and engine layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.model.formulas import (
    attention_bytes_on_rank,
    attention_bytes_per_token,
    cross_attention_bytes,
    entry_bytes_per_token,
    latent_bytes_per_token,
    record_bytes_per_token,
)
from kvcost.model.records import FP8_DS_MLA, NVFP4_DS_MLA, V4_ENTRY, Record, index_record
from kvcost.model.spec import (
    AttentionLayers,
    CompressedLayers,
    CrossAttentionLayers,
    IndexLayers,
    LatentLayers,
    LayerGroup,
    WindowedLatentLayers,
)

if TYPE_CHECKING:
    from kvcost.model.dtypes import KVDtype
    from kvcost.model.storage import Storage

__all__ = [
    "attention_token_bytes_on_rank",
    "cross_bytes",
    "index_entry_bytes",
    "token_bytes",
    "window_of",
]

# KV dtypes whose layout per head is known of an engine.
_HEAD_DTYPES = {
    "vllm": frozenset(
        {"fp32", "bf16", "fp16", "fp8", "fp8_per_token_head", "int8_per_token_head", "nvfp4"}
    ),
    "sglang": frozenset({"fp32", "bf16", "fp16", "fp8", "nvfp4"}),
}
_PLAIN = frozenset({"fp32", "bf16", "fp16"})


def window_of(group: LayerGroup) -> int | None:
    """Return the tokens that a group keeps at most, or None where it keeps all or none.

    Parameters
    ----------
    group : layer group
        The group.

    Returns
    -------
    int or None
        Its window.
    """
    if isinstance(group, AttentionLayers | WindowedLatentLayers):
        return group.window
    return None


def token_bytes(group: LayerGroup, storage: Storage) -> float:
    """Return the bytes that a token takes in a group while it is inside the group's window.

    Parameters
    ----------
    group : layer group
        The group.
    storage : Storage
        How it is stored.

    Returns
    -------
    float
        Bytes of one token, one copy; 0 for states and for cross attention, which no token of the
        decoder adds to.

    Raises
    ------
    MissingFactError
        If the engine's record for the group is not known.
    InvalidValueError
        If the width does not fill the blocks of the dtype.
    """
    if isinstance(group, AttentionLayers):
        return float(attention_bytes_per_token(layers=group.layers, **_heads(group, storage)))
    if isinstance(group, LatentLayers):
        return _latent_bytes(group, storage)
    if isinstance(group, IndexLayers):
        return float(
            record_bytes_per_token(
                layers=group.layers,
                record_bytes=index_entry_bytes(group, storage),
                tokens_per_entry=group.tokens_per_entry,
            )
        )
    if isinstance(group, CompressedLayers):
        return _entry_bytes(group, storage, group.ratio)
    if isinstance(group, WindowedLatentLayers):
        return _entry_bytes(group, storage, 1)
    return 0.0


def attention_token_bytes_on_rank(
    group: AttentionLayers, storage: Storage, *, tensor_ranks: int, context_ranks: int
) -> float:
    """Return the bytes that a token takes on one rank in a group with heads.

    Parameters
    ----------
    group : AttentionLayers
        The group.
    storage : Storage
        How it is stored.
    tensor_ranks, context_ranks : int
        Ranks that split the heads, and the tokens of a head.

    Returns
    -------
    float
        Bytes of one token on the rank that has most.
    """
    return float(
        attention_bytes_on_rank(
            layers=group.layers,
            tensor_ranks=tensor_ranks,
            context_ranks=context_ranks,
            **_heads(group, storage),
        )
    )


def cross_bytes(group: CrossAttentionLayers, storage: Storage, *, source_tokens: int) -> float:
    """Return the bytes that cross attention keeps of a request.

    Parameters
    ----------
    group : CrossAttentionLayers
        The group.
    storage : Storage
        How it is stored.
    source_tokens : int
        Tokens of the encoder.

    Returns
    -------
    float
        Bytes of one request, one copy.
    """
    return float(
        cross_attention_bytes(
            layers=group.layers, source_tokens=source_tokens, **_heads(group, storage)
        )
    )


def index_entry_bytes(group: IndexLayers, storage: Storage) -> float:
    """Return the bytes of one entry of an index.

    Parameters
    ----------
    group : IndexLayers
        The group.
    storage : Storage
        How it is stored.

    Returns
    -------
    float
        Bytes of an entry in one layer.
    """
    default = "fp8" if group.storage == "fp8_record" else "bf16"
    if (storage.index or default) == "fp8":
        return index_record(group.head_dim).size
    return float(
        entry_bytes_per_token(
            layers=1, entry_dim=group.head_dim, element_bytes=2, tokens_per_entry=1
        )
    )


def _heads(group: AttentionLayers | CrossAttentionLayers, storage: Storage) -> dict[str, Any]:
    dtype = storage.dtype
    known = _HEAD_DTYPES.get(storage.layout)
    if known is not None and dtype.name not in known:
        raise _no_record(storage, f"heads in {dtype.name}", "; ".join(sorted(known)))
    if dtype.quant_block > 1:
        _check_blocks(dtype, group.head_dim_k, "a key head")
        _check_blocks(dtype, group.head_dim_v, "a value head")
    scales = dtype.head_scale_bytes if group.head_dim_v else dtype.head_scale_bytes / 2
    return {
        "kv_heads": group.kv_heads,
        "head_dim_k": group.head_dim_k,
        "head_dim_v": group.head_dim_v,
        "element_bytes": dtype.element_bytes,
        "head_scale_bytes": scales,
    }


def _latent_bytes(group: LatentLayers, storage: Storage) -> float:
    record = _latent_record(group, storage)
    if record is not None:
        return float(
            record_bytes_per_token(
                layers=group.layers, record_bytes=record.size, tokens_per_entry=1
            )
        )
    _check_shared(storage.dtype, (group.kv_lora_rank, "a latent"), (group.rope_dim, "a rotary key"))
    return float(
        latent_bytes_per_token(
            layers=group.layers,
            kv_lora_rank=group.kv_lora_rank,
            rope_dim=group.rope_dim,
            element_bytes=storage.dtype.element_bytes,
        )
    )


def _latent_record(group: LatentLayers, storage: Storage) -> Record | None:
    """Return the engine's record, or None where it stores plain elements of one dtype."""
    name = storage.dtype.name
    if storage.layout == "logical" or name in _PLAIN:
        return None
    if storage.layout == "sglang":
        if name in {"fp8", "nvfp4"}:
            return None
        raise _no_record(storage, f"latents in {name}", "bf16; fp8; nvfp4")
    if name == "fp8" and not storage.sparse:
        return None
    record = {"fp8": FP8_DS_MLA, "nvfp4": NVFP4_DS_MLA}.get(name)
    if record is None:
        raise _no_record(storage, f"latents in {name}", "bf16; fp8; nvfp4")
    if (group.kv_lora_rank, group.rope_dim) != (512, 64):
        raise _no_record(
            storage, f"latents of {group.kv_lora_rank} + {group.rope_dim} in {name}", "bf16"
        )
    return record


def _entry_bytes(
    group: CompressedLayers | WindowedLatentLayers, storage: Storage, tokens_per_entry: int
) -> float:
    name = storage.dtype.name
    if storage.layout == "logical":
        _check_shared(storage.dtype, (group.entry_dim, "an entry"))
        return float(
            entry_bytes_per_token(
                layers=group.layers,
                entry_dim=group.entry_dim,
                element_bytes=storage.dtype.element_bytes,
                tokens_per_entry=tokens_per_entry,
            )
        )
    # vLLM packs these entries in its FP8 record whether the cache dtype is left to it or is FP8.
    if storage.layout != "vllm" or name not in {"bf16", "fp8"}:
        raise _no_record(storage, f"compressed entries in {name}", "layout vllm with fp8")
    if (group.entry_dim, group.rope_dim) != (512, 64):
        raise _no_record(
            storage, f"compressed entries of {group.entry_dim} with {group.rope_dim} rotary", "none"
        )
    return float(
        record_bytes_per_token(
            layers=group.layers, record_bytes=V4_ENTRY.size, tokens_per_entry=tokens_per_entry
        )
    )


def _no_record(storage: Storage, what: str, known: str) -> MissingFactError:
    return MissingFactError(
        fact=f"the record for {what}",
        subject=f"layout {storage.layout}",
        remedy=f"use layout logical, or what is known of this one: {known}",
    )


def _check_shared(dtype: KVDtype, *widths: tuple[int, str]) -> None:
    if dtype.head_scale_bytes:
        raise MissingFactError(
            fact="the scale of an entry that all heads share",
            subject=f"KV dtype {dtype.name}",
            remedy="use another KV dtype; this one keeps its scales per head",
        )
    for width, what in widths:
        _check_blocks(dtype, width, what)


def _check_blocks(dtype: KVDtype, width: int, what: str) -> None:
    if width % dtype.quant_block:
        raise InvalidValueError(
            field="kv_dtype",
            value=dtype.name,
            bound=f"needs {what} of a multiple of {dtype.quant_block} elements, not {width}",
            remedy="use a KV dtype without blocks, such as fp8",
        )
