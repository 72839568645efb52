"""MiniMax-M2 and M3: grouped-query attention, in M3 with a sparse-attention index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.attention import attention_layer, read_heads
from kvcost.model.config.geometry import Geometry, family
from kvcost.model.spec import AttentionLayers, IndexLayers, LayerGroup

if TYPE_CHECKING:
    from kvcost.model.config.fields import Fields

__all__: list[str] = []

_WORDS = {"full_attention": "plain", "minimax_m3_sparse": "indexed"}


def _speculative(cfg: Fields, layer: AttentionLayers) -> list[LayerGroup]:
    """Return the MTP layers: the number of predicted tokens, else modules times layers of each."""
    modules = cfg.count("num_mtp_modules", least=0, most=1000, otherwise=0)
    each = cfg.count("mtp_transformer_layers", least=0, most=1000, otherwise=1)
    stated = cfg.count("num_nextn_predict_layers", least=0, most=1000, otherwise=modules * each)
    if cfg.names("use_mtp") and not cfg.flag("use_mtp"):
        return []
    return [layer] * stated


def _geometry(cfg: Fields, *, indexed: list[bool], index: IndexLayers | None) -> Geometry:
    hidden = cfg.optional_count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    layer = attention_layer(heads)
    groups: list[LayerGroup] = [layer] * len(indexed)
    if index is not None:
        groups += [index] * sum(indexed)
    return Geometry(
        total_layers=len(indexed),
        groups=groups,
        mtp_groups=_speculative(cfg, layer),
        q_heads=heads.q_heads,
        hidden_size=hidden,
        max_context=cfg.tokens("max_position_embeddings"),
    )


@family("minimax_m2")
def minimax_m2(cfg: Fields) -> Geometry:
    """Read a MiniMax-M2 decoder: full attention on every layer."""
    layers = cfg.layers()
    flags = cfg.counts("attn_type_list", length=layers)
    if flags is not None and set(flags) != {1}:
        raise cfg.unsupported("attn_type_list")
    return _geometry(cfg, indexed=[False] * layers, index=None)


@family("minimax_m3", "minimax_m3_text", "minimax_m3_vl", "minimax_m3_vl_text")
def minimax_m3(cfg: Fields) -> Geometry:
    """Read a MiniMax-M3 decoder: an index of one head, in bf16, on the sparse layers."""
    layers = cfg.layers()
    section = cfg.section("sparse_attention_config")
    kinds = cfg.words("layer_types", _WORDS, length=layers)
    cfg.skip("index_n_heads", "index_block_size", "index_topk_blocks", "index_local_blocks")
    if kinds is not None:
        indexed = [kind == "indexed" for kind in kinds]
        width = cfg.count("index_head_dim")
        if section is not None:
            _skip_section(section)
    elif section is not None:
        flags = section.counts("sparse_attention_freq", length=layers)
        on = section.flag("use_sparse_attention", otherwise=True)
        if flags is None:
            raise section.missing("sparse_attention_freq")
        indexed = [bool(flag) and on for flag in flags]
        width = section.count("sparse_index_dim")
        cfg.skip("index_head_dim")
        _skip_section(section)
    else:
        raise cfg.missing("sparse_attention_config")
    index = IndexLayers(layers=1, head_dim=width, storage="bf16")
    geometry = _geometry(cfg, indexed=indexed, index=index)
    if geometry.mtp_groups:
        cfg.note("whether MTP layers keep an index is not stated: they are counted without one")
    return geometry


def _skip_section(section: Fields) -> None:
    section.skip(
        "sparse_attention_freq", "sparse_block_size", "sparse_disable_index_value",
        "sparse_index_dim", "sparse_init_block", "sparse_local_block", "sparse_num_index_heads",
        "sparse_score_type", "sparse_topk_blocks", "use_sparse_attention",
    )  # fmt: skip
