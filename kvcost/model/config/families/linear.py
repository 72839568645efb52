"""Decoders with delta-rule linear attention: Qwen 3.5 and kin, Kimi Linear, GLM-5.3-Flash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.attention import attention_layer, read_heads, speculative_layers
from kvcost.model.config.families.hybrid import ATTENTION, RECURRENT, assembled
from kvcost.model.config.families.latent import index_layer, indexer_layers, latent_layer
from kvcost.model.config.families.recurrent import delta_rule
from kvcost.model.config.geometry import Geometry, family

if TYPE_CHECKING:
    from kvcost.model.config.fields import Fields
    from kvcost.model.spec import LayerGroup, RecurrentLayers

__all__: list[str] = []

_WORDS = {
    "full_attention": ATTENTION,
    "indexed_attention": ATTENTION,
    "deepseek_sparse_attention": ATTENTION,
    "linear_attention": RECURRENT,
}
_PLAIN_WORDS = {"full_attention": ATTENTION, "linear_attention": RECURRENT}


def _gated_delta(cfg: Fields) -> RecurrentLayers:
    return delta_rule(
        key_heads=cfg.count("linear_num_key_heads"),
        value_heads=cfg.count("linear_num_value_heads"),
        key_dim=cfg.count("linear_key_head_dim"),
        value_dim=cfg.count("linear_value_head_dim"),
        conv_width=cfg.count("linear_conv_kernel_dim"),
    )


@family(
    "qwen3_next", "qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen3_5_text", "olmo_hybrid",
)  # fmt: skip
def gated_delta(cfg: Fields) -> Geometry:
    """Read a decoder with gated delta networks, and full attention once in a period."""
    layers, hidden = cfg.layers(), cfg.optional_count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    period = cfg.count("full_attention_interval", otherwise=4)
    kinds = cfg.words("layer_types", _PLAIN_WORDS, length=layers) or [
        RECURRENT if (i + 1) % period else ATTENTION for i in range(layers)
    ]
    attention = attention_layer(heads)
    names = ("mtp_num_hidden_layers", "num_nextn_predict_layers")
    return assembled(
        cfg,
        kinds,
        attention=attention,
        recurrent=_gated_delta(cfg),
        q_heads=heads.q_heads,
        hidden=hidden,
        mtp=speculative_layers(cfg, attention, *names),
    )


def _kimi_kinds(cfg: Fields, section: Fields | None, layers: int) -> list[str]:
    """Return the kinds of the layers from two lists of layer numbers that start at 1."""
    kinds = cfg.words("layer_types", _PLAIN_WORDS, length=layers)
    full = None if section is None else section.counts("full_attn_layers", least=1)
    linear = None if section is None else section.counts("kda_layers", least=1)
    if kinds is not None:
        return kinds
    if section is None or full is None or linear is None:
        raise cfg.missing("linear_attn_config.full_attn_layers")
    if sorted([*full, *linear]) != list(range(1, layers + 1)):
        raise section.invalid(
            "full_attn_layers",
            f"and kda_layers, {len(full)} and {len(linear)} layers,",
            f"must name each of the layers 1 to {layers} once",
            "correct the two lists or num_hidden_layers",
        )
    chosen = set(full)
    return [ATTENTION if i in chosen else RECURRENT for i in range(1, layers + 1)]


@family("kimi_linear", "kimi_k3")
def kimi_linear(cfg: Fields) -> Geometry:
    """Read a Kimi Linear or Kimi K3 decoder: MLA, and Kimi delta attention."""
    layers = cfg.layers()
    section = cfg.section("linear_attn_config")
    kinds = _kimi_kinds(cfg, section, layers)
    recurrent = _kimi_delta(cfg, section)
    attention = latent_layer(cfg)
    if cfg.flag("mla_use_nope"):
        cfg.note("no rotary embedding is applied, but qk_rope_head_dim is stored all the same")
    return assembled(
        cfg,
        kinds,
        attention=attention,
        recurrent=recurrent,
        q_heads=cfg.optional_count("num_attention_heads"),
        hidden=cfg.optional_count("hidden_size"),
        mtp=speculative_layers(cfg, attention),
        context=("max_position_embeddings", "model_max_length"),
    )


def _kimi_delta(cfg: Fields, section: Fields | None) -> RecurrentLayers:
    where, names = cfg, ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")
    if section is not None:
        where, names = section, ("num_heads", "head_dim", "short_conv_kernel_size")
    heads, width = where.count(names[0]), where.count(names[1])
    return delta_rule(
        key_heads=heads,
        value_heads=heads,
        key_dim=width,
        value_dim=width,
        conv_width=where.count(names[2]),
    )


@family("glm5_next_text", "glm5_next")
def glm5_next(cfg: Fields) -> Geometry:
    """Read a GLM-5.3-Flash decoder: MLA with a pooled index, and Kimi delta attention."""
    layers = cfg.layers()
    kinds = cfg.words("layer_types", _WORDS, length=layers) or [
        ATTENTION if i % 4 == 3 else RECURRENT for i in range(layers)
    ]
    own = indexer_layers(cfg, layers)
    attention = latent_layer(cfg)
    pool = cfg.count("index_kpool")
    index = index_layer(cfg, tokens_per_entry=pool)
    cfg.skip("index_kpool_always_select_tail", "index_share_for_mtp_iteration")
    if pool > 1:
        cfg.note(
            f"the index holds one entry for {pool} tokens; its short unpooled tail is left out"
        )
    mtp = speculative_layers(cfg, attention)
    geometry = assembled(
        cfg,
        kinds,
        attention=attention,
        recurrent=_kimi_delta(cfg, cfg.section("linear_attn_config")),
        q_heads=cfg.optional_count("num_attention_heads"),
        hidden=cfg.optional_count("hidden_size"),
        mtp=[*mtp, *[index] * len(mtp)],
    )
    indexed: list[LayerGroup] = [
        index for kind, keeps in zip(kinds, own, strict=True) if kind == ATTENTION and keeps
    ]
    geometry.groups.extend(indexed)
    return geometry
