"""Decoders that mix full and windowed layers by a pattern of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.attention import (
    CHUNKED,
    FULL,
    LAYER_WORDS,
    SLIDING,
    Heads,
    attention_layer,
    mixed_layers,
    read_heads,
)
from kvcost.model.config.families.standard import closing_window, decoder, every
from kvcost.model.config.geometry import Geometry, family

if TYPE_CHECKING:
    from kvcost.model.config.fields import Fields
    from kvcost.model.spec import LayerGroup

__all__: list[str] = []


def _beam(_: Fields, layers: int) -> list[str]:
    return [FULL if i % 6 == 5 or i == layers - 1 else SLIDING for i in range(layers)]


def _flint(_: Fields, layers: int) -> list[str]:
    return [FULL if i < 2 or i % 4 == 1 or i == layers - 1 else SLIDING for i in range(layers)]


_FIXED = {
    "beam": _beam,
    "flint": _flint,
    "gpt_oss": every(2),
    "gemma2": every(2),
    "vaultgemma": every(2),
    "olmo3": every(4),
    "cwm": every(4, full_at=0),
    "granite_swa": every(4, full_at=0),
    "granitemoe_swa": every(4, full_at=0),
    "kolibri1": every(5),
}

_STATED = {
    "gemma3_text": ("sliding_window_pattern", "_sliding_window_pattern"),
    "cohere2": ("sliding_window_pattern", "layer_switch"),
    "afmoe": ("global_attn_every_n_layers",),
}
_PERIODS = {"gemma3_text": 6, "cohere2": 4, "afmoe": 4}


@family(*_FIXED)
def fixed_pattern(cfg: Fields) -> Geometry:
    """Read a decoder whose family has one pattern."""
    cfg.skip("sliding_window")
    return decoder(cfg, pattern=_FIXED[cfg.model_type])


@family(*_STATED)
def stated_pattern(cfg: Fields) -> Geometry:
    """Read a decoder that states how often a full layer comes."""
    cfg.skip("sliding_window")
    if cfg.raw("use_bidirectional_attention"):
        raise cfg.unsupported("use_bidirectional_attention")
    period = cfg.count(*_STATED[cfg.model_type], otherwise=_PERIODS[cfg.model_type])
    return decoder(cfg, pattern=every(period))


@family("exaone4", "exaone_moe")
def exaone(cfg: Fields) -> Geometry:
    """Read an EXAONE 4 decoder: no window, or a list of layers, or a period."""
    cfg.skip("sliding_window", "sliding_window_pattern")
    if cfg.states("layer_types"):
        return decoder(cfg)
    if cfg.names("sliding_window") and not cfg.states("sliding_window"):
        return decoder(cfg)
    if isinstance(cfg.raw("sliding_window_pattern"), str):
        raise cfg.unsupported("sliding_window_pattern")
    return decoder(cfg, pattern=every(cfg.count("sliding_window_pattern")))


@family(
    "cohere2_moe", "laguna", "mellum", "muse_glimmer_text", "muse_spark_text", "cohere_compass_text"
)
def listed(cfg: Fields) -> Geometry:
    """Read a decoder that always lists its layers."""
    cfg.skip("sliding_window", "num_attention_heads_per_layer", "sliding_window_pattern")
    cfg.skip("prefix_dense_sliding_window_pattern")
    if not cfg.states("layer_types"):
        raise cfg.missing("layer_types")
    return decoder(cfg)


@family("smollm3")
def smollm3(cfg: Fields) -> Geometry:
    """Read a SmolLM3 decoder: a window, if switched on, on the layers without rotary embedding."""
    cfg.skip("sliding_window", "no_rope_layers", "no_rope_layer_interval", "max_window_layers")
    if cfg.flag("use_sliding_window") and not cfg.states("layer_types"):
        raise cfg.unsupported("use_sliding_window")
    return decoder(cfg)


@family("llama4_text")
def llama4(cfg: Fields) -> Geometry:
    """Read a Llama 4 decoder: chunked attention wherever there is rotary embedding."""
    layers = cfg.layers()
    hidden = cfg.optional_count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    chunk = cfg.tokens("attention_chunk_size")
    context = cfg.tokens("max_position_embeddings")
    interval = cfg.count("no_rope_layer_interval", otherwise=4)
    rope = cfg.counts("no_rope_layers") or []
    kinds = cfg.words("layer_types", LAYER_WORDS, length=layers)
    if kinds is None:
        if rope and len(rope) != layers:
            cfg.counts("no_rope_layers", length=layers)
        uses_rope = rope or [int((i + 1) % interval != 0) for i in range(layers)]
        kinds = [CHUNKED if flag and chunk is not None else FULL for flag in uses_rope]
    return Geometry(
        total_layers=layers,
        groups=mixed_layers(cfg, kinds, full=heads, chunk=chunk),
        q_heads=heads.q_heads,
        hidden_size=hidden,
        max_context=context,
    )


def _value_heads(cfg: Fields, hidden: int | None) -> Heads:
    both = read_heads(cfg, hidden_size=hidden)
    value = cfg.count("v_head_dim", otherwise=both.k)
    return Heads(q_heads=both.q_heads, kv_heads=both.kv_heads, k=both.k, v=value)


def _window_heads(cfg: Fields, full: Heads) -> Heads:
    """Return the heads of windowed layers: those of ``swa_`` fields."""
    q_heads = cfg.count("swa_num_attention_heads", otherwise=full.q_heads)
    if not cfg.states("swa_num_key_value_heads"):
        cfg.note("swa_num_key_value_heads is not stated: twice the KV heads, as in this family")
    kv_heads = cfg.count("swa_num_key_value_heads", otherwise=2 * full.kv_heads)
    k = cfg.count("swa_head_dim", otherwise=full.k)
    v = cfg.count("swa_v_head_dim", otherwise=full.v)
    return Heads(q_heads=q_heads, kv_heads=kv_heads, k=k, v=v)


@family("mimo_v2_flash", "mimo_v2")
def mimo_v2(cfg: Fields) -> Geometry:
    """Read a MiMo-V2 decoder: narrower V, and other KV heads on windowed layers."""
    layers = cfg.layers()
    hidden = cfg.optional_count("hidden_size")
    context = cfg.tokens("max_position_embeddings")
    full = _value_heads(cfg, hidden)
    windowed = _window_heads(cfg, full)
    window = closing_window(cfg, cfg.tokens("sliding_window", "sliding_window_size"), context)
    cfg.skip("attention_chunk_size")
    kinds = cfg.words("layer_types", LAYER_WORDS, length=layers)
    pattern = cfg.counts("hybrid_layer_pattern", length=layers)
    if kinds is None and pattern is not None:
        kinds = [SLIDING if flag else FULL for flag in pattern]
    if kinds is None:
        kinds = [FULL if i == 0 or (i + 1) % 6 == 0 else SLIDING for i in range(layers)]
    extra = cfg.count("num_nextn_predict_layers", least=0, most=1000, otherwise=0)
    layer = attention_layer(windowed, window=window, model_q_heads=full.q_heads)
    mtp: list[LayerGroup] = [layer] * extra
    return Geometry(
        total_layers=layers,
        groups=mixed_layers(cfg, kinds, full=full, windowed=windowed, window=window),
        mtp_groups=mtp,
        q_heads=full.q_heads,
        hidden_size=hidden,
        max_context=context,
    )


@family("step3p5", "step3p7")
def step(cfg: Fields) -> Geometry:
    """Read a Step 3.5 or 3.7 decoder: a list of layers that may go on over the MTP layers."""
    layers = cfg.layers()
    hidden = cfg.optional_count("hidden_size")
    context = cfg.tokens("max_position_embeddings")
    full = _step_heads(cfg, hidden)
    windowed = _step_window_heads(cfg, full)
    extra = cfg.count("num_nextn_predict_layers", least=0, most=1000, otherwise=0)
    kinds = cfg.words("layer_types", LAYER_WORDS) or [FULL] * layers
    if len(kinds) not in (layers, layers + extra):
        cfg.words("layer_types", LAYER_WORDS, length=layers)
    mtp_kinds = cfg.words("mtp_layer_types", LAYER_WORDS) or kinds[layers:]
    if extra and not mtp_kinds:
        cfg.note("the kind of the MTP layers' attention is not stated: taken as full attention")
        mtp_kinds = [FULL] * extra
    window = cfg.tokens("sliding_window")

    def build(some: list[str]) -> list[LayerGroup]:
        return mixed_layers(cfg, some, full=full, windowed=windowed, window=window)

    return Geometry(
        total_layers=layers,
        groups=build(kinds[:layers]),
        mtp_groups=build(mtp_kinds),
        q_heads=full.q_heads,
        hidden_size=hidden,
        max_context=context,
    )


def _step_heads(cfg: Fields, hidden: int | None) -> Heads:
    keys = ("num_key_value_heads", "num_attention_groups")
    return read_heads(cfg, hidden_size=hidden, kv_heads=keys)


def _step_window_heads(cfg: Fields, full: Heads) -> Heads:
    other = cfg.section("attention_other_setting")
    q_heads = cfg.count("num_sliding_attention_heads", otherwise=full.q_heads)
    for layer, override in (cfg.raw("per_layer_config") or {}).items():
        if not isinstance(override, dict) or set(override) - {"num_attention_heads"}:
            raise cfg.unsupported(f"per_layer_config.{layer}")
    if other is None:
        return Heads(q_heads=q_heads, kv_heads=full.kv_heads, k=full.k, v=full.v)
    if other.text("attention_type") not in (None, "sliding_attention"):
        raise other.unsupported("attention_type")
    q_heads = other.count("num_attention_heads", otherwise=q_heads)
    kv_heads = other.count("num_attention_groups", "num_key_value_heads", otherwise=full.kv_heads)
    width = other.count("head_dim", otherwise=full.k)
    return Heads(q_heads=q_heads, kv_heads=kv_heads, k=width, v=width)
