"""Decoders that mix attention with Mamba, lightning attention or short convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.attention import (
    Heads,
    attention_layer,
    read_heads,
)
from kvcost.model.config.families.recurrent import (
    gated_lru,
    lightning,
    mamba1,
    mamba2,
    short_convolution,
)
from kvcost.model.config.geometry import Geometry, family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvcost.model.config.fields import Fields
    from kvcost.model.spec import LayerGroup, RecurrentLayers

__all__ = ["ATTENTION", "BOTH", "NEITHER", "RECURRENT", "assembled"]

ATTENTION, RECURRENT, BOTH, NEITHER = "attention", "recurrent", "both", "neither"

_WORDS: Mapping[str, str] = {
    "attention": ATTENTION,
    "full_attention": ATTENTION,
    "mamba": RECURRENT,
    "linear_attention": RECURRENT,
    "conv": RECURRENT,
    "recurrent": RECURRENT,
    "hybrid": BOTH,
    "moe": NEITHER,
    "mlp": NEITHER,
}


def assembled(
    cfg: Fields,
    kinds: Sequence[str],
    *,
    attention: LayerGroup,
    recurrent: RecurrentLayers,
    q_heads: int | None,
    hidden: int | None,
    mtp: list[LayerGroup] | None = None,
    context: Sequence[str] = ("max_position_embeddings",),
) -> Geometry:
    """Return the geometry of layers that are attention, recurrent, both or neither."""
    parts: Mapping[str, tuple[LayerGroup, ...]] = {
        ATTENTION: (attention,),
        RECURRENT: (recurrent,),
        BOTH: (attention, recurrent),
        NEITHER: (),
    }
    return Geometry(
        total_layers=len(kinds),
        groups=[group for kind in kinds for group in parts[kind]],
        mtp_groups=mtp or [],
        q_heads=q_heads,
        hidden_size=hidden,
        max_context=cfg.tokens(*context),
    )


def _mamba2(cfg: Fields, *, hidden: int, channels: int | None = None) -> RecurrentLayers:
    """Return the Mamba-2 layer of configs that prefix its fields with ``mamba_``."""
    heads = cfg.count("mamba_n_heads")
    total = channels if channels is not None else cfg.count("mamba_expand") * hidden
    cfg.skip("mamba_expand")
    if cfg.raw("mamba_d_head") in (None, "auto"):
        if total % heads:
            raise cfg.invalid(
                "mamba_n_heads", heads, f"must divide the {total} channels", "correct it"
            )
        width = total // heads
    else:
        width = cfg.count("mamba_d_head")
    return mamba2(
        heads=heads,
        head_dim=width,
        state_size=cfg.count("mamba_d_state"),
        groups=cfg.count("mamba_n_groups"),
        conv_width=cfg.count("mamba_d_conv"),
    )


@family("mamba", "falcon_mamba")
def mamba(cfg: Fields) -> Geometry:
    """Read a pure Mamba model."""
    hidden = cfg.count("hidden_size", "d_model")
    layers = cfg.layers("num_hidden_layers", "n_layer")
    channels = cfg.optional_count("intermediate_size", "d_inner") or cfg.count("expand") * hidden
    cfg.skip("expand")
    layer = mamba1(
        channels=channels,
        state_size=cfg.count("state_size"),
        conv_width=cfg.count("conv_kernel"),
    )
    return Geometry(total_layers=layers, groups=[layer] * layers, hidden_size=hidden)


@family("mamba2")
def mamba2_model(cfg: Fields) -> Geometry:
    """Read a pure Mamba-2 model."""
    layers = cfg.layers()
    layer = mamba2(
        heads=cfg.count("num_heads"),
        head_dim=cfg.count("head_dim"),
        state_size=cfg.count("state_size"),
        groups=cfg.count("n_groups"),
        conv_width=cfg.count("conv_kernel"),
    )
    cfg.skip("expand")
    hidden = cfg.optional_count("hidden_size")
    return Geometry(total_layers=layers, groups=[layer] * layers, hidden_size=hidden)


@family("jamba")
def jamba(cfg: Fields) -> Geometry:
    """Read a Jamba decoder: attention once in a period, Mamba elsewhere."""
    layers, hidden = cfg.layers(), cfg.count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    period, offset = cfg.count("attn_layer_period"), cfg.count("attn_layer_offset", least=0)
    kinds = cfg.words("layers_block_type", _WORDS, length=layers) or [
        ATTENTION if i % period == offset else RECURRENT for i in range(layers)
    ]
    recurrent = mamba1(
        channels=cfg.count("mamba_expand") * hidden,
        state_size=cfg.count("mamba_d_state"),
        conv_width=cfg.count("mamba_d_conv"),
    )
    return _with(cfg, kinds, heads, recurrent, hidden)


def _with(
    cfg: Fields, kinds: Sequence[str], heads: Heads, recurrent: RecurrentLayers, hidden: int
) -> Geometry:
    return assembled(
        cfg,
        kinds,
        attention=attention_layer(heads),
        recurrent=recurrent,
        q_heads=heads.q_heads,
        hidden=hidden,
    )


@family("bamba")
def bamba(cfg: Fields) -> Geometry:
    """Read a Bamba decoder: attention on the listed layers."""
    layers, hidden = cfg.layers(), cfg.count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    listed = set(cfg.counts("attn_layer_indices") or ())
    _within(cfg, "attn_layer_indices", listed, layers)
    kinds = [ATTENTION if i in listed else RECURRENT for i in range(layers)]
    return _with(cfg, kinds, heads, _mamba2(cfg, hidden=hidden), hidden)


def _within(cfg: Fields, key: str, listed: set[int], layers: int) -> None:
    for index in listed:
        if index >= layers:
            raise cfg.invalid(key, index, f"must be below the {layers} layers", "correct it")


@family("granitemoehybrid")
def granite_hybrid(cfg: Fields) -> Geometry:
    """Read a Granite 4 decoder: layers are listed."""
    layers, hidden = cfg.layers(), cfg.count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    kinds = cfg.words("layer_types", _WORDS, length=layers)
    if kinds is None:
        kinds = cfg.words("layers_block_type", _WORDS, length=layers)
    if kinds is None:
        raise cfg.missing("layer_types")
    if set(kinds) == {ATTENTION}:
        cfg.skip(*_MAMBA_FIELDS)
        return Geometry(
            total_layers=layers,
            groups=[attention_layer(heads)] * layers,
            q_heads=heads.q_heads,
            hidden_size=hidden,
            max_context=cfg.tokens("max_position_embeddings"),
        )
    return _with(cfg, kinds, heads, _mamba2(cfg, hidden=hidden), hidden)


_MAMBA_FIELDS = (
    "mamba_n_heads", "mamba_n_groups", "mamba_d_state", "mamba_d_head", "mamba_d_conv",
    "mamba_expand",
)  # fmt: skip


@family("falcon_h1")
def falcon_h1(cfg: Fields) -> Geometry:
    """Read a Falcon-H1 decoder: attention and Mamba-2 side by side on every layer."""
    layers, hidden = cfg.layers(), cfg.count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    cfg.skip("layers_block_type", "attn_layer_indices")
    recurrent = _mamba2(cfg, hidden=hidden, channels=cfg.optional_count("mamba_d_ssm"))
    return _with(cfg, [BOTH] * layers, heads, recurrent, hidden)


@family("zamba2")
def zamba2(cfg: Fields) -> Geometry:
    """Read a Zamba2 decoder: shared attention blocks, each use with a cache of its own."""
    layers, hidden = cfg.layers(), cfg.count("hidden_size")
    cfg.skip("attention_hidden_size", "attention_head_dim", "kv_channels", "num_query_groups")
    cfg.skip("mamba_headdim", "hybrid_layer_ids", "head_dim", "num_mem_blocks", "adapter_rank")
    q_heads = cfg.count("num_attention_heads")
    kv_heads = cfg.count("num_key_value_heads", otherwise=q_heads)
    width = 2 * hidden // q_heads
    kinds = cfg.words("layers_block_type", _WORDS, length=layers)
    if kinds is None:
        raise cfg.missing("layers_block_type")
    heads = cfg.count("n_mamba_heads")
    recurrent = mamba2(
        heads=heads,
        head_dim=cfg.count("mamba_expand") * hidden // heads,
        state_size=cfg.count("mamba_d_state"),
        groups=cfg.count("mamba_ngroups"),
        conv_width=cfg.count("mamba_d_conv"),
    )
    own = Heads(q_heads=q_heads, kv_heads=kv_heads, k=width, v=width)
    return _with(cfg, kinds, own, recurrent, hidden)


@family("lfm2", "lfm2_moe")
def lfm2(cfg: Fields) -> Geometry:
    """Read an LFM2 decoder: attention on the listed layers, short convolutions elsewhere."""
    layers, hidden = cfg.layers(), cfg.count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden, heads=("num_attention_heads", "num_heads"))
    kinds = cfg.words("layer_types", _WORDS, length=layers)
    listed = cfg.counts("full_attn_idxs")
    if kinds is None:
        if listed is None:
            raise cfg.missing("layer_types")
        _within(cfg, "full_attn_idxs", set(listed), layers)
        kinds = [ATTENTION if i in listed else RECURRENT for i in range(layers)]
    cfg.skip("conv_dim", "conv_dim_out", "block_dim", "conv_use_xavier_init")
    recurrent = short_convolution(channels=hidden, width=cfg.count("conv_L_cache"))
    return _with(cfg, kinds, heads, recurrent, hidden)


@family("recurrent_gemma")
def recurrent_gemma(cfg: Fields) -> Geometry:
    """Read a RecurrentGemma decoder: recurrent blocks and local attention by a repeated list."""
    layers, hidden = cfg.layers(), cfg.count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    cfg.skip("_block_types")
    block = cfg.words("block_types", _WORDS) or []
    if not block:
        raise cfg.missing("block_types")
    lru_width = cfg.count("lru_width", otherwise=hidden)
    return assembled(
        cfg,
        [block[i % len(block)] for i in range(layers)],
        attention=attention_layer(heads, window=cfg.count("attention_window_size", most=10**12)),
        recurrent=gated_lru(channels=lru_width, conv_width=cfg.count("conv1d_width")),
        q_heads=heads.q_heads,
        hidden=hidden,
    )


@family("minimax", "minimax_text_01", "minimax_m1", "MiniMaxText01", "MiniMaxM1")
def minimax(cfg: Fields) -> Geometry:
    """Read a MiniMax-Text-01 or M1 decoder: lightning attention, full attention now and then."""
    layers, hidden = cfg.layers(), cfg.count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    kinds = cfg.words("layer_types", _WORDS, length=layers)
    flags = cfg.counts("attn_type_list", length=layers)
    if kinds is None:
        if flags is None:
            raise cfg.missing("layer_types")
        kinds = [ATTENTION if flag else RECURRENT for flag in flags]
    if heads.q_heads is None:
        raise cfg.missing("num_attention_heads")
    recurrent = lightning(heads=heads.q_heads, head_dim=heads.k)
    return _with(cfg, kinds, heads, recurrent, hidden)


_LETTERS = {"M": RECURRENT, "*": ATTENTION, "-": NEITHER, "E": NEITHER}


def _letters(cfg: Fields, key: str) -> list[str] | None:
    pattern = cfg.text(key)
    if pattern is None:
        return None
    unknown = sorted(set(pattern) - set(_LETTERS))
    if unknown:
        raise cfg.unsupported(f"{key}: {''.join(unknown)[:20]}")
    return [_LETTERS[letter] for letter in pattern]


@family("nemotron_h")
def nemotron_h(cfg: Fields) -> Geometry:
    """Read a Nemotron-H decoder: one letter or word a block, MLP and MoE blocks store nothing."""
    kinds = cfg.words("layers_block_type", _WORDS) or cfg.words("layer_types", _WORDS)
    kinds = _letters(cfg, "hybrid_override_pattern") or kinds
    if not kinds:
        raise cfg.missing("hybrid_override_pattern")
    stated = cfg.optional_count("num_hidden_layers")
    if stated is not None and stated != len(kinds):
        raise cfg.invalid(
            "num_hidden_layers", stated, f"must be the {len(kinds)} of the pattern", "correct one"
        )
    hidden = cfg.optional_count("hidden_size")
    if cfg.states("sliding_window"):
        raise cfg.unsupported("sliding_window")
    width = "attention_head_dim" if cfg.states("attention_head_dim") else "head_dim"
    heads = read_heads(cfg, hidden_size=None, head_dim=width)
    cfg.skip("sliding_window", "expand", "mamba_expand", "head_dim", "attention_head_dim")
    attention = attention_layer(heads)
    mtp_kinds = _letters(cfg, "mtp_hybrid_override_pattern") or cfg.words(
        "mtp_layers_block_type", _WORDS
    )
    extra = cfg.count("num_nextn_predict_layers", least=0, most=1000, otherwise=0)
    if extra and not mtp_kinds:
        raise cfg.missing("mtp_layers_block_type")
    recurrent = mamba2(
        heads=cfg.count("mamba_num_heads"),
        head_dim=cfg.count("mamba_head_dim"),
        state_size=cfg.count("ssm_state_size"),
        groups=cfg.count("n_groups", "mamba_n_groups"),
        conv_width=cfg.count("conv_kernel", "mamba_d_conv"),
    )
    parts: Mapping[str, list[LayerGroup]] = {
        ATTENTION: [attention],
        RECURRENT: [recurrent],
        NEITHER: [],
    }
    one: list[LayerGroup] = [group for kind in mtp_kinds or [] for group in parts[kind]]
    return assembled(
        cfg,
        kinds,
        attention=attention,
        recurrent=recurrent,
        q_heads=heads.q_heads,
        hidden=hidden,
        mtp=one * extra,
    )
