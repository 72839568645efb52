"""Gemma 3n and Gemma 4: the last layers read the KV of earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.attention import (
    FULL,
    LAYER_WORDS,
    SLIDING,
    Heads,
    checked_kv_heads,
    mixed_layers,
    read_heads,
)
from kvcost.model.config.geometry import Geometry, family

if TYPE_CHECKING:
    from kvcost.model.config.fields import Fields

__all__: list[str] = []


@family("gemma3n_text", "gemma4_text", "gemma4_unified_text")
def sharing_gemma(cfg: Fields) -> Geometry:
    """Read a Gemma 3n or 4 decoder; in Gemma 4 full layers have heads of their own."""
    layers = cfg.layers()
    hidden = cfg.optional_count("hidden_size")
    windowed = read_heads(cfg, hidden_size=hidden)
    period = 5 if cfg.model_type == "gemma3n_text" else 6
    kinds = cfg.words("layer_types", LAYER_WORDS, length=layers)
    if kinds is None:
        kinds = [SLIDING if (i + 1) % period else FULL for i in range(layers)]
    full = windowed
    if cfg.model_type != "gemma3n_text":
        kinds[-1] = FULL
        full = _global_heads(cfg, windowed, kinds)
        if cfg.raw("use_bidirectional_attention") == "all":
            raise cfg.unsupported("use_bidirectional_attention")
    shared = cfg.count("num_kv_shared_layers", least=0, most=layers, otherwise=0)
    own = kinds[: layers - shared]
    if not set(kinds[layers - shared :]) <= set(own):
        raise cfg.invalid(
            "num_kv_shared_layers",
            shared,
            "must leave a layer of each kind with KV of its own",
            "correct num_kv_shared_layers or layer_types",
        )
    return Geometry(
        total_layers=layers,
        groups=mixed_layers(
            cfg, own, full=full, windowed=windowed, window=cfg.tokens("sliding_window")
        ),
        shared_layers=shared,
        q_heads=windowed.q_heads,
        hidden_size=hidden,
        max_context=cfg.tokens("max_position_embeddings"),
    )


def _global_heads(cfg: Fields, windowed: Heads, kinds: list[str]) -> Heads:
    """Return the heads of full layers, from the named fields or from per-layer overrides."""
    overrides = cfg.section("per_layer_config")
    if overrides is not None:
        return _overridden_heads(overrides, windowed, kinds)
    if not cfg.states("global_head_dim"):
        cfg.note("global_head_dim is not stated: 512, as in this family")
    width = cfg.count("global_head_dim", otherwise=512)
    same = cfg.flag("attention_k_eq_v") or cfg.model_type == "gemma4_unified_text"
    kv_heads = cfg.optional_count("num_global_key_value_heads")
    if kv_heads is None or not same:
        kv_heads = windowed.kv_heads
    checked_kv_heads(cfg, "num_global_key_value_heads", q_heads=windowed.q_heads, kv_heads=kv_heads)
    return Heads(q_heads=windowed.q_heads, kv_heads=kv_heads, k=width, v=width)


def _overridden_heads(overrides: Fields, windowed: Heads, kinds: list[str]) -> Heads:
    found: set[Heads] = set()
    for layer, kind in enumerate(kinds):
        keys = [key for key in (str(layer), f"{layer:02d}") if overrides.states(key)]
        if not keys:
            if kind == FULL:
                found.add(windowed)
            continue
        if kind != FULL:
            raise overrides.unsupported(keys[0])
        own = overrides.section(keys[0])
        if own is None:
            continue
        width = own.count("head_dim", otherwise=windowed.k)
        kv_heads = own.count("num_key_value_heads", otherwise=windowed.kv_heads)
        found.add(Heads(q_heads=windowed.q_heads, kv_heads=kv_heads, k=width, v=width))
    if len(found) > 1:
        raise overrides.unsupported("full layers with different heads")
    return found.pop() if found else windowed
