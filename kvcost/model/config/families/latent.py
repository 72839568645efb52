"""Multi-head latent attention, with or without a sparse-attention indexer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.attention import speculative_layers
from kvcost.model.config.families.standard import decoder
from kvcost.model.config.geometry import Geometry, family
from kvcost.model.spec import IndexLayers, LatentLayers, LayerGroup

if TYPE_CHECKING:
    from kvcost.model.config.fields import Fields

__all__ = ["index_layer", "indexer_layers", "latent_layer"]

_OWN, _SHARED = "own", "shared"


def latent_layer(cfg: Fields) -> LatentLayers:
    """Return one MLA layer: the latent and the rotary key, whatever the head fields say.

    `head_dim` and `num_key_value_heads` of such configs describe the expanded heads, which nobody
    stores.
    """
    cfg.skip("head_dim", "num_key_value_heads", "q_lora_rank", "qk_head_dim", "v_head_dim")
    cfg.skip("qk_nope_head_dim")
    return LatentLayers(
        layers=1,
        kv_lora_rank=cfg.count("kv_lora_rank"),
        rope_dim=cfg.count("qk_rope_head_dim", least=0),
    )


def index_layer(cfg: Fields, *, tokens_per_entry: int = 1) -> IndexLayers:
    """Return one indexer cache; its number of heads concerns queries only."""
    cfg.skip("index_n_heads", "index_topk")
    return IndexLayers(
        layers=1, head_dim=cfg.count("index_head_dim"), tokens_per_entry=tokens_per_entry
    )


def indexer_layers(cfg: Fields, layers: int, *, first_own: int = 2) -> list[bool]:
    """Tell for each layer whether it keeps an index of its own or reuses an earlier one.

    The kinds are listed, or drawn as a pattern of F and S, or follow from a period and an offset.
    """
    words = {"full": _OWN, "shared": _SHARED}
    kinds = cfg.words("indexer_types", words, length=layers)
    pattern = cfg.raw("index_topk_pattern")
    period = cfg.count("index_topk_freq", otherwise=1)
    offset = cfg.count("index_skip_topk_offset", least=0, otherwise=first_own)
    if kinds is not None:
        return [kind == _OWN for kind in kinds]
    if isinstance(pattern, str):
        if len(pattern) != layers or set(pattern) - {"F", "S"}:
            raise cfg.invalid(
                "index_topk_pattern", pattern, f"must be {layers} letters F or S", "correct it"
            )
        return [letter == "F" for letter in pattern]
    if pattern is not None:
        listed = cfg.words("index_topk_pattern", words, length=layers) or []
        return [kind == _OWN for kind in listed]
    return [max(i - offset + 1, 0) % period == 0 for i in range(layers)]


def _geometry(
    cfg: Fields, layers: int, groups: list[LayerGroup], mtp: list[LayerGroup], shared: int = 0
) -> Geometry:
    return Geometry(
        total_layers=layers,
        groups=groups,
        mtp_groups=mtp,
        shared_layers=shared,
        q_heads=cfg.optional_count("num_attention_heads"),
        hidden_size=cfg.optional_count("hidden_size"),
        max_context=cfg.tokens("max_position_embeddings"),
    )


@family(
    "axk1", "deepseek_v2", "deepseek_v3", "glm4_moe_lite", "kimi_k2", "minicpm3", "mistral4",
    "sarvam_mla", "youtu",
)  # fmt: skip
def latent(cfg: Fields) -> Geometry:
    """Read a decoder with MLA on every layer, or with plain K and V where MLA is switched off."""
    if not cfg.flag("use_mla", otherwise=True):
        cfg.skip("kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim")
        cfg.skip("v_head_dim")
        return decoder(cfg)
    layers = cfg.layers()
    layer = latent_layer(cfg)
    return _geometry(cfg, layers, [layer] * layers, speculative_layers(cfg, layer))


@family("longcat_flash")
def longcat(cfg: Fields) -> Geometry:
    """Read a LongCat-Flash decoder: two attention sublayers in each layer."""
    layers = cfg.layers("num_layers", "num_hidden_layers")
    layer = latent_layer(cfg)
    cfg.note("each layer holds two attention sublayers, both with a cache")
    return _geometry(cfg, layers, [layer] * (2 * layers), speculative_layers(cfg, layer))


@family("deepseek_v32", "axk2", "glm_moe_dsa", "hy_v4", "mistral_large4_text", "hy_v4_vl_text")
def latent_with_index(cfg: Fields) -> Geometry:
    """Read a decoder with MLA and an indexer; some layers may reuse the index or the latent."""
    layers = cfg.layers()
    cfg.words("layer_types", dict.fromkeys(_INDEXED, _OWN), length=layers)
    layer, index = latent_layer(cfg), index_layer(cfg)
    if cfg.model_type in ("hy_v4", "hy_v4_vl_text") and not cfg.states("indexer_types"):
        own = [i == 0 or (i - 1) % 4 == 0 for i in range(layers)]
    else:
        own = indexer_layers(cfg, layers)
    sources = cfg.counts("kv_source_layers", length=layers) or list(range(layers))
    keeping = sum(source == i for i, source in enumerate(sources))
    cfg.skip("index_share_for_mtp_iteration", "no_rope_layers", "no_rope_layer_interval")
    mtp = speculative_layers(cfg, layer)
    groups: list[LayerGroup] = [layer] * keeping
    groups += [index] * sum(own)
    return _geometry(cfg, layers, groups, [*mtp, *[index] * len(mtp)], layers - keeping)


_INDEXED = ("indexed_attention", "deepseek_sparse_attention", "full_attention")
