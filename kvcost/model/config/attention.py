"""Heads, widths, windows: the building blocks that most families share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvcost.model.spec import AttentionLayers, LayerGroup, WindowKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvcost.model.config.fields import Fields

__all__ = [
    "CHUNKED",
    "FULL",
    "LAYER_WORDS",
    "SLIDING",
    "Heads",
    "attention_layer",
    "head_width",
    "mixed_layers",
    "read_heads",
    "speculative_layers",
]

MOST_HEADS = 100_000

FULL, SLIDING, CHUNKED = "full", "sliding", "chunked"

# Kinds of attention layers as configs call them.
LAYER_WORDS: Mapping[str, str] = {
    "full_attention": FULL,
    "attention": FULL,
    "global": FULL,
    "global_attention": FULL,
    "sliding_attention": SLIDING,
    "local": SLIDING,
    "local_attention": SLIDING,
    "chunked_attention": CHUNKED,
}


@dataclass(frozen=True, kw_only=True)
class Heads:
    """Query heads, KV heads and widths of one kind of attention layer."""

    q_heads: int | None
    kv_heads: int
    k: int
    v: int


def head_width(cfg: Fields, *, hidden_size: int | None, q_heads: int, key: str = "head_dim") -> int:
    """Return the stated head width, or hidden size over query heads where none is stated."""
    stated = cfg.optional_count(key)
    if stated is not None:
        return stated
    if hidden_size is None:
        raise cfg.missing(key)
    if hidden_size % q_heads:
        raise cfg.invalid(
            "hidden_size",
            hidden_size,
            f"must be a multiple of the {q_heads} attention heads where no {key} is stated",
            f"add {key!r} to the config",
        )
    return hidden_size // q_heads


def checked_kv_heads(cfg: Fields, key: str, *, q_heads: int | None, kv_heads: int) -> int:
    """Return the number of KV heads after checking that it divides the query heads, if known."""
    if q_heads is not None and q_heads % kv_heads:
        raise cfg.invalid(
            key,
            kv_heads,
            f"must divide the {q_heads} query heads",
            "correct the number of heads or of KV heads",
        )
    return kv_heads


def read_heads(
    cfg: Fields,
    *,
    hidden_size: int | None,
    heads: Sequence[str] = ("num_attention_heads",),
    kv_heads: Sequence[str] = ("num_key_value_heads",),
    head_dim: str = "head_dim",
) -> Heads:
    """Return the heads of a model whose layers all have the same.

    Absent KV heads mean one for each query head. Query heads may be absent only where KV heads and
    their width are stated, for nothing stored depends on them then.
    """
    kv = cfg.optional_count(*kv_heads, most=MOST_HEADS) if kv_heads else None
    if kv is not None and cfg.states(head_dim):
        q_heads = cfg.optional_count(*heads, most=MOST_HEADS)
    else:
        q_heads = cfg.count(*heads, most=MOST_HEADS)
    if q_heads is None:
        width = cfg.count(head_dim)
    else:
        width = head_width(cfg, hidden_size=hidden_size, q_heads=q_heads, key=head_dim)
    if kv is not None:
        checked_kv_heads(cfg, kv_heads[0], q_heads=q_heads, kv_heads=kv)
    stored = q_heads if kv is None else kv
    if stored is None:
        raise cfg.missing(heads[0])
    return Heads(q_heads=q_heads, kv_heads=stored, k=width, v=width)


def attention_layer(
    heads: Heads,
    *,
    window: int | None = None,
    kind: WindowKind = "sliding",
    model_q_heads: int | None = None,
) -> AttentionLayers:
    """Return one attention layer; its query heads are kept where they are not the model's."""
    return AttentionLayers(
        layers=1,
        kv_heads=heads.kv_heads,
        head_dim_k=heads.k,
        head_dim_v=heads.v,
        window=window,
        window_kind=None if window is None else kind,
        q_heads=None if model_q_heads in (None, heads.q_heads) else heads.q_heads,
    )


def mixed_layers(
    cfg: Fields,
    kinds: Sequence[str],
    *,
    full: Heads,
    windowed: Heads | None = None,
    window: int | None = None,
    chunk: int | None = None,
    window_key: str = "sliding_window",
) -> list[LayerGroup]:
    """Return one attention layer for each kind in the list.

    Raises
    ------
    MissingFactError
        If there are windowed or chunked layers and their width is not stated.
    """
    windowed = full if windowed is None else windowed
    if SLIDING in kinds and window is None:
        raise cfg.missing(window_key)
    if CHUNKED in kinds and chunk is None:
        raise cfg.missing("attention_chunk_size")
    layer = {
        FULL: attention_layer(full),
        SLIDING: attention_layer(windowed, window=window, model_q_heads=full.q_heads),
        CHUNKED: attention_layer(
            windowed, window=chunk, kind="chunked", model_q_heads=full.q_heads
        ),
    }
    return [layer[kind] for kind in kinds]


def speculative_layers(cfg: Fields, layer: LayerGroup, *keys: str) -> list[LayerGroup]:
    """Return the MTP layers that the fields state, each like `layer`."""
    names = keys or ("num_nextn_predict_layers", "num_mtp_layers")
    stated = next((key for key in names if cfg.states(key)), None)
    for key in names:
        cfg.skip(key)
    count = 0 if stated is None else cfg.count(stated, least=0, most=1000)
    return [replace(layer, layers=1)] * count
