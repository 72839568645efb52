"""Models from an architecture search: attention that differs, or is missing, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.attention import (
    Heads,
    attention_layer,
    checked_kv_heads,
    head_width,
)
from kvcost.model.config.geometry import Geometry, family

if TYPE_CHECKING:
    from kvcost.model.config.fields import Fields
    from kvcost.model.spec import LayerGroup

__all__: list[str] = []


@family("nemotron-nas")
def nemotron_nas(cfg: Fields) -> Geometry:
    """Read a Nemotron decoder from a search: blocks state their own query heads per KV head."""
    layers = cfg.layers()
    hidden = cfg.count("hidden_size")
    q_heads = cfg.count("num_attention_heads")
    width = head_width(cfg, hidden_size=hidden, q_heads=q_heads)
    if cfg.states("num_key_value_heads"):
        raise cfg.unsupported("num_key_value_heads")
    cfg.skip("num_key_value_heads")
    blocks = cfg.sections("block_configs", length=layers)
    groups: list[LayerGroup] = []
    for block in blocks:
        block.skip("ffn", "parallel_blocks")
        if block.states("parallel_blocks"):
            raise block.unsupported("parallel_blocks")
        attention = block.section("attention")
        if attention is None:
            raise block.missing("attention")
        groups += _block(attention, q_heads, width)
    return Geometry(
        total_layers=layers,
        groups=groups,
        q_heads=q_heads,
        hidden_size=hidden,
        max_context=cfg.tokens("max_position_embeddings"),
    )


def _block(attention: Fields, q_heads: int, width: int) -> list[LayerGroup]:
    absent = attention.flag("no_op") | attention.flag("replace_with_linear")
    group = attention.optional_count("n_heads_in_group")
    window = attention.tokens("window_length")
    attention.skip("use_prefill_window_in_sink_attention", "unshifted_sink")
    for unknown in ("num_sink_tokens", "sparsify", "is_mamba", "mamba", "llama4"):
        if attention.raw(unknown):
            raise attention.unsupported(unknown)
    if absent:
        return []
    if group is None:
        raise attention.missing("n_heads_in_group")
    if q_heads % group:
        raise attention.invalid(
            "n_heads_in_group", group, f"must divide the {q_heads} query heads", "correct it"
        )
    heads = Heads(q_heads=q_heads, kv_heads=q_heads // group, k=width, v=width)
    return [attention_layer(heads, window=window)]


@family("deci")
def deci(cfg: Fields) -> Geometry:
    """Read a DeciLM decoder: KV heads are listed layer by layer."""
    layers = cfg.layers()
    hidden = cfg.count("hidden_size")
    q_heads = cfg.count("num_attention_heads")
    width = head_width(cfg, hidden_size=hidden, q_heads=q_heads)
    cfg.skip("num_key_value_heads")
    listed = cfg.counts("num_key_value_heads_per_layer", least=1, length=layers)
    if listed is None:
        raise cfg.missing("num_key_value_heads_per_layer")
    groups: list[LayerGroup] = []
    for kv_heads in listed:
        checked_kv_heads(cfg, "num_key_value_heads_per_layer", q_heads=q_heads, kv_heads=kv_heads)
        groups.append(attention_layer(Heads(q_heads=q_heads, kv_heads=kv_heads, k=width, v=width)))
    return Geometry(
        total_layers=layers,
        groups=groups,
        q_heads=q_heads,
        hidden_size=hidden,
        max_context=cfg.tokens("max_position_embeddings"),
    )
