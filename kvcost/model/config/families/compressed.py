"""DeepSeek-V4: a window of shared entries on every layer, and compressed entries on most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.families.latent import index_layer
from kvcost.model.config.geometry import Geometry, family
from kvcost.model.spec import CompressedLayers, LayerGroup, WindowedLatentLayers

if TYPE_CHECKING:
    from kvcost.model.config.fields import Fields

__all__: list[str] = []

_INDEXED_RATIO = 4
_NO_RATIO = 0
_KNOWN_RATIOS = (_NO_RATIO, _INDEXED_RATIO, 128)

_WORDS = {
    "compressed_sparse_attention": "indexed",
    "heavily_compressed_attention": "heavy",
    "sliding_attention": "window",
}


@family("deepseek_v4", "deepseek_ref")
def deepseek_v4(cfg: Fields) -> Geometry:
    """Read a DeepSeek-V4 decoder.

    Every layer keeps one shared entry, K and V alike, for each token of the window. A layer with
    a ratio keeps one more entry for that many tokens; those with the small ratio also keep an
    index entry for each compressed one.
    """
    layers = cfg.layers()
    cfg.count("num_key_value_heads", most=1, otherwise=1)
    cfg.skip("q_lora_rank", "o_lora_rank", "compress_rope_theta")
    entry = cfg.count("head_dim")
    rope = _rope_dim(cfg, entry)
    extra = cfg.count("num_nextn_predict_layers", least=0, most=1000, otherwise=0)
    ratios, indexed_ratio = _ratios(cfg, layers, extra)
    window = WindowedLatentLayers(
        layers=1,
        entry_dim=entry,
        rope_dim=rope,
        window=cfg.count("sliding_window", most=10**12),
    )
    index = index_layer(cfg, tokens_per_entry=indexed_ratio)

    def build(some: list[int]) -> list[LayerGroup]:
        groups: list[LayerGroup] = [window] * len(some)
        for ratio in some:
            if ratio == _NO_RATIO:
                continue
            groups.append(CompressedLayers(layers=1, entry_dim=entry, rope_dim=rope, ratio=ratio))
            if ratio == indexed_ratio:
                groups.append(index)
        return groups

    return Geometry(
        total_layers=layers,
        groups=build(ratios[:layers]),
        mtp_groups=build(ratios[layers:] or [_NO_RATIO] * extra),
        q_heads=cfg.optional_count("num_attention_heads"),
        hidden_size=cfg.optional_count("hidden_size"),
        max_context=cfg.tokens("max_position_embeddings"),
    )


def _rope_dim(cfg: Fields, entry: int) -> int:
    """Return the rotary width: stated, or as a fraction of the entry."""
    stated = cfg.optional_count("qk_rope_head_dim", least=0, most=entry)
    factor = cfg.raw("partial_rotary_factor")
    if stated is not None:
        return stated
    if isinstance(factor, float) and 0 <= factor <= 1:
        return int(entry * factor)
    raise cfg.missing("qk_rope_head_dim")


def _ratios(cfg: Fields, layers: int, extra: int) -> tuple[list[int], int]:
    """Return the ratio of each layer, MTP layers last, and the ratio that has an index."""
    stated = cfg.counts("compress_ratios")
    kinds = cfg.words("layer_types", _WORDS, length=layers)
    rates = cfg.section("compress_rates")
    if kinds is not None:
        if rates is None:
            raise cfg.missing("compress_rates")
        light = rates.count("compressed_sparse_attention")
        heavy = rates.count("heavily_compressed_attention")
        by_kind = {"indexed": light, "heavy": heavy, "window": _NO_RATIO}
        return [by_kind[kind] for kind in kinds], light
    if stated is None:
        raise cfg.missing("compress_ratios")
    if len(stated) not in (layers, layers + extra):
        cfg.counts("compress_ratios", length=layers)
    for ratio in stated:
        if ratio not in _KNOWN_RATIOS:
            raise cfg.unsupported(f"compress_ratios: {ratio}")
    return stated, _INDEXED_RATIO
