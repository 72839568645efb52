"""Decoders whose layers all keep plain K and V, with or without a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from kvcost.model.config.attention import (
    FULL,
    LAYER_WORDS,
    SLIDING,
    Heads,
    attention_layer,
    mixed_layers,
    read_heads,
    speculative_layers,
)
from kvcost.model.config.fields import Fields
from kvcost.model.config.geometry import Geometry, family

if TYPE_CHECKING:
    from kvcost.model.spec import LayerGroup

__all__ = ["Pattern", "closing_window", "decoder", "every", "layer_kinds"]

Pattern: TypeAlias = Callable[[Fields, int], list[str]]


def every(period: int, *, full_at: int = -1) -> Pattern:
    """Return the pattern with one full layer in each `period`, at `full_at` of it."""

    def kinds(_: Fields, layers: int) -> list[str]:
        return [FULL if i % period == full_at % period else SLIDING for i in range(layers)]

    return kinds


def all_full(_: Fields, layers: int) -> list[str]:
    """Return full attention on every layer."""
    return [FULL] * layers


def all_sliding(cfg: Fields, layers: int) -> list[str]:
    """Return the window on every layer, where one is stated."""
    return [FULL if cfg.tokens("sliding_window") is None else SLIDING] * layers


def layer_kinds(cfg: Fields, layers: int, pattern: Pattern) -> list[str]:
    """Return the stated kinds of the layers, or those of the family's pattern."""
    stated = cfg.words("layer_types", LAYER_WORDS, length=layers)
    return pattern(cfg, layers) if stated is None else stated


def closing_window(cfg: Fields, window: int | None, context: int | None) -> int | None:
    """Return the window, or None for one that is not narrower than the context."""
    if window is not None and context is not None and window >= context:
        cfg.note(f"the window of {window} tokens is no narrower than the context: never reached")
        return None
    return window


def decoder(
    cfg: Fields,
    *,
    pattern: Pattern = all_full,
    heads: Callable[[Fields, int | None], Heads] | None = None,
    layers_key: Sequence[str] = ("num_hidden_layers",),
    hidden_key: Sequence[str] = ("hidden_size",),
    context_key: Sequence[str] = ("max_position_embeddings",),
) -> Geometry:
    """Read a decoder of K and V layers.

    Parameters
    ----------
    cfg : Fields
        The text config.
    pattern : callable
        Kinds of the layers where the config lists none.
    heads : callable, optional
        Reader of the heads; by default the usual fields.
    layers_key, hidden_key, context_key : sequence of str
        Names of the fields.
    """
    layers = cfg.layers(*layers_key)
    hidden = cfg.optional_count(*hidden_key)
    context = cfg.tokens(*context_key)
    full = (heads or (lambda c, h: read_heads(c, hidden_size=h)))(cfg, hidden)
    kinds = layer_kinds(cfg, layers, pattern)
    window = None
    off = cfg.names("use_sliding_window") and not cfg.flag("use_sliding_window")
    if off or not cfg.states("sliding_window"):
        cfg.skip("max_window_layers")
    if SLIDING in kinds:
        stated = cfg.tokens("sliding_window")
        window = closing_window(cfg, stated, context)
        if window != stated:
            kinds = [FULL if kind == SLIDING else kind for kind in kinds]
    elif off or cfg.states("layer_types"):
        cfg.skip("sliding_window")
    groups = mixed_layers(cfg, kinds, full=full, window=window)
    return Geometry(
        total_layers=layers,
        groups=groups,
        mtp_groups=_mtp(cfg, full, window, has_window=SLIDING in kinds),
        q_heads=full.q_heads,
        hidden_size=hidden,
        max_context=context,
    )


def _mtp(cfg: Fields, full: Heads, window: int | None, *, has_window: bool) -> list[LayerGroup]:
    """Return the MTP layers: full attention, unless the config lists their kinds."""
    layer = attention_layer(full)
    if cfg.states("mtp_layer_types"):
        kinds = cfg.words("mtp_layer_types", LAYER_WORDS) or []
        cfg.skip("num_nextn_predict_layers", "num_mtp_layers")
        return mixed_layers(cfg, kinds, full=full, window=window)
    cfg.skip("mtp_layer_types")
    extra = speculative_layers(cfg, layer)
    if extra and has_window:
        cfg.note("the kind of the MTP layers' attention is not stated: taken as full attention")
    return extra


@family(
    "apertus", "apertus1p5_text", "aquila", "arcee", "arctic", "aria_text", "bitnet", "cohere",
    "deepseek_ocr2_text", "diffllama", "emu3_text_model", "ernie4_5", "ernie4_5_moe",
    "ernie4_5_vl_moe_text", "exaone", "flex_olmo", "gemma", "glm", "glm4", "glm4_moe",
    "glm4v_moe_text", "glm4v_text", "glm_ocr_text", "granite", "granitemoe", "granitemoeshared",
    "helium", "hunyuan_vl_text", "hy_v3", "hyperclovax", "internlm2", "internlm3", "iquestcoder",
    "jais2", "llama", "mimo", "minicpm", "nanochat", "nemotron", "olmo", "olmo2", "olmoe", "orion",
    "paddleocr_vl_text", "phi", "qwen3_vl_moe_text", "qwen3_vl_text", "sarvam_moe", "seed_oss",
    "smolvlm_text", "solar_open", "stablelm", "xverse", "Yi",
)  # fmt: skip
def full_attention(cfg: Fields) -> Geometry:
    """Read a decoder with full attention on every layer."""
    if cfg.model_type == "mimo":
        return switched_window(cfg)
    if cfg.model_type == "gemma":
        cfg.skip("use_bidirectional_attention")
    return decoder(cfg)


@family(
    "ministral", "ministral3", "mistral", "mixtral", "phi3", "phimoe", "phi4mm", "phi4_multimodal",
    "starcoder2", "qwen3_omni_moe_text",
)  # fmt: skip
def one_window(cfg: Fields) -> Geometry:
    """Read a decoder whose window, if stated, holds on every layer."""
    cfg.skip("sliding_window")
    if cfg.count("full_attn_mod", otherwise=1) != 1:
        raise cfg.unsupported("full_attn_mod")
    if cfg.states("use_sliding_window"):
        return switched_window(cfg)
    return decoder(cfg, pattern=all_sliding)


@family(
    "qwen2", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "qwen2_5_omni_text",
    "qwen3", "dots1",
)  # fmt: skip
def switched_window(cfg: Fields) -> Geometry:
    """Read a Qwen decoder: the window holds from `max_window_layers` on, if switched on."""
    cfg.skip("sliding_window", "max_window_layers", "use_sliding_window")
    on = cfg.flag("use_sliding_window", otherwise=cfg.model_type == "dots1")

    def pattern(c: Fields, layers: int) -> list[str]:
        if not on or c.tokens("sliding_window") is None:
            return [FULL] * layers
        first = c.count("max_window_layers", least=0)
        return [SLIDING if i >= first else FULL for i in range(layers)]

    return decoder(cfg, pattern=pattern)


@family("qwen2_moe", "qwen3_moe")
def switched_window_moe(cfg: Fields) -> Geometry:
    """Read a Qwen mixture of experts; its window, never on in a release, is read only if listed."""
    cfg.skip("sliding_window", "max_window_layers", "use_sliding_window")
    if cfg.flag("use_sliding_window") and not cfg.states("layer_types"):
        raise cfg.unsupported("use_sliding_window")
    return decoder(cfg)
