"""What an engine sets aside for a token, and what its layout means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvcost.model.formulas import page_bytes_per_token
from kvcost.model.pool import equal_page_pool
from kvcost.model.records import V4_ENTRY, V4_PAGE_BYTES
from kvcost.model.spec import (
    CompressedLayers,
    CrossAttentionLayers,
    IndexLayers,
    LatentLayers,
    RecurrentLayers,
    WindowedLatentLayers,
)
from kvcost.model.token_sizes import index_entry_bytes, token_bytes, window_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.model.spec import LayerGroup
    from kvcost.model.storage import Storage

__all__ = ["Reserved", "layout_notes", "reserved"]

_V4_BLOCK_TOKENS = 256


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """What an engine sets aside for a token.

    Parameters
    ----------
    bytes_per_token : float or None
        Bytes of one token, one copy; None where no fact says.
    note : str
        What the number means, or why there is none; empty where it is the stored bytes.
    """

    bytes_per_token: float | None
    note: str = ""


def reserved(groups: Sequence[LayerGroup], storage: Storage) -> Reserved:
    """Return what an engine sets aside for each token of the capacity that it states.

    Parameters
    ----------
    groups : sequence of layer groups
        The layers that count.
    storage : Storage
        How they are stored.

    Returns
    -------
    Reserved
        Bytes and what they mean.

    Notes
    -----
    ``logical`` sets aside what is stored, so the number is the growing bytes. For ``vllm`` and
    ``sglang`` it is the growing bytes in the engine's records where every layer keeps every token;
    where windows or states mix in, ``vllm`` has the bytes of its pool over the tokens that the
    pool is said to hold, and ``sglang`` none: its separate pools are sized by flags. DeepSeek-V4
    in ``vllm`` has its pages rounded up.
    """
    if storage.layout == "logical":
        return Reserved(bytes_per_token=_growing(groups, storage))
    if any(isinstance(group, CompressedLayers) for group in groups):
        return _v4_pages(groups, storage)
    if not any(_is_fixed(group) for group in groups):
        return Reserved(bytes_per_token=_growing(groups, storage))
    return _mixed_pool(groups, storage)


def layout_notes(groups: Sequence[LayerGroup], storage: Storage) -> tuple[str, ...]:
    """Return what a reader must know about the records of a layout.

    Parameters
    ----------
    groups : sequence of layer groups
        The layers that count.
    storage : Storage
        How they are stored.

    Returns
    -------
    tuple of str
        Sentences; none for layout logical.
    """
    name = storage.dtype.name
    latent = any(isinstance(group, LatentLayers) for group in groups)
    compressed = any(isinstance(group, CompressedLayers) for group in groups)
    notes = []
    if storage.layout == "sglang" and latent and name == "fp8":
        notes.append(
            "SGLang keeps FP8 latents raw, without scales, as on Blackwell; on Hopper it may keep "
            "the 656-byte record"
        )
    if storage.layout == "vllm" and latent and storage.sparse and name == "fp8":
        notes.append("vLLM keeps the FP8 latents of this sparse model in 656-byte records")
    if storage.layout == "vllm" and latent and name == "nvfp4":
        notes.append("vLLM keeps NVFP4 latents in 352-byte records")
    if storage.layout == "vllm" and compressed:
        said = "" if name == "fp8" else f", whatever the KV dtype ({name} was asked for)"
        notes.append(
            f"vLLM keeps compressed entries in {V4_ENTRY.size:g}-byte FP8 records{said}; "
            "the state of the compressor is not counted"
        )
    return tuple(notes)


def _growing(groups: Sequence[LayerGroup], storage: Storage) -> float:
    return sum(token_bytes(group, storage) for group in groups if window_of(group) is None)


def _is_fixed(group: LayerGroup) -> bool:
    recurrent = isinstance(group, RecurrentLayers | CrossAttentionLayers)
    return recurrent or window_of(group) is not None


def _v4_pages(groups: Sequence[LayerGroup], storage: Storage) -> Reserved:
    total = 0.0
    for group in groups:
        if isinstance(group, CompressedLayers):
            size, ratio = V4_ENTRY.size, group.ratio
        elif isinstance(group, IndexLayers):
            size, ratio = index_entry_bytes(group, storage), group.tokens_per_entry
        elif isinstance(group, WindowedLatentLayers):
            continue
        else:
            return Reserved(
                bytes_per_token=None,
                note="reserved bytes are not stated: no fact says how vLLM pads other layers "
                "beside compressed ones",
            )
        total += page_bytes_per_token(
            layers=group.layers,
            record_bytes=size,
            tokens_per_entry=ratio,
            block_tokens=_V4_BLOCK_TOKENS,
            page_bytes=V4_PAGE_BYTES,
        )
    return Reserved(
        bytes_per_token=total,
        note=f"reserved bytes have vLLM's pages of {_V4_BLOCK_TOKENS} tokens rounded up to "
        f"multiples of {V4_PAGE_BYTES} bytes; windows and the state of the compressor are not in "
        "them, but weigh on the capacity that vLLM logs",
    )


def _mixed_pool(groups: Sequence[LayerGroup], storage: Storage) -> Reserved:
    if storage.layout == "sglang":
        return Reserved(
            bytes_per_token=None,
            note="reserved bytes are not stated: SGLang keeps windows and states in pools of their "
            "own, sized by flags (swa_full_tokens_ratio, mamba_full_memory_ratio)",
        )
    if any(isinstance(group, IndexLayers) for group in groups):
        return Reserved(
            bytes_per_token=None,
            note="reserved bytes are not stated: no fact says how vLLM's pool pads an index beside "
            "windows or states",
        )
    pool = equal_page_pool(groups, storage)
    if pool is None:
        return Reserved(
            bytes_per_token=None,
            note="reserved bytes are not stated: the pages of this model's layers do not divide "
            "each other, and releases of vLLM treat that differently",
        )
    padding = f", {pool.padding_layers} of them padding" if pool.padding_layers else ""
    return Reserved(
        bytes_per_token=pool.bytes_per_token,
        note=f"reserved bytes are vLLM's pool over the tokens it is said to hold: "
        f"{pool.layer_groups} groups of {pool.group_layers} layers with equal pages{padding}; "
        "only the layers that keep every token grow with a request",
    )
