"""Decoders with field names of their own: GPT-2 and kin, Falcon, MPT, ChatGLM, Hunyuan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.attention import (
    FULL,
    SLIDING,
    Heads,
    attention_layer,
    head_width,
    mixed_layers,
    read_heads,
)
from kvcost.model.config.families.standard import all_sliding, decoder
from kvcost.model.config.geometry import Geometry, family

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.model.config.fields import Fields

__all__: list[str] = []

_LAYERS = ("n_layer", "num_hidden_layers", "num_layers")
_HEADS = ("n_head", "num_attention_heads")
_HIDDEN = ("n_embd", "hidden_size", "n_embed")
_CONTEXT = ("n_positions", "max_position_embeddings", "seq_length")


def _every_head(*names: str) -> Callable[[Fields, int | None], Heads]:
    def read(cfg: Fields, hidden: int | None) -> Heads:
        return read_heads(cfg, hidden_size=hidden, heads=names, kv_heads=())

    return read


@family("gpt2", "gpt-sw3", "gptj", "codegen", "ctrl", "bloom")
def gpt(cfg: Fields) -> Geometry:
    """Read a decoder of the GPT-2 kind: one KV head for each query head."""
    if cfg.flag("add_cross_attention"):
        raise cfg.unsupported("add_cross_attention")
    return decoder(
        cfg, heads=_every_head(*_HEADS), layers_key=_LAYERS, hidden_key=_HIDDEN,
        context_key=_CONTEXT,
    )  # fmt: skip


@family("gpt_neox", "gpt_neox_japanese", "opt", "persimmon", "biogpt", "internlm", "baichuan")
def every_head(cfg: Fields) -> Geometry:
    """Read a decoder with the usual names and one KV head for each query head."""
    context = ("model_max_length", "max_position_embeddings")
    return decoder(
        cfg,
        heads=_every_head("num_attention_heads"),
        context_key=context if cfg.model_type == "baichuan" else context[1:],
    )


@family("xglm")
def xglm(cfg: Fields) -> Geometry:
    """Read an XGLM decoder."""
    return decoder(
        cfg,
        heads=_every_head("attention_heads", "num_attention_heads"),
        layers_key=("num_layers", "num_hidden_layers"),
        hidden_key=("d_model", "hidden_size"),
    )


@family("gpt_bigcode")
def gpt_bigcode(cfg: Fields) -> Geometry:
    """Read a GPTBigCode decoder: one KV head if multi-query."""
    single = cfg.flag("multi_query", otherwise=True)
    cfg.skip("num_key_value_heads")

    def heads(c: Fields, hidden: int | None) -> Heads:
        own = _every_head(*_HEADS)(c, hidden)
        return Heads(q_heads=own.q_heads, kv_heads=1, k=own.k, v=own.v) if single else own

    return decoder(cfg, heads=heads, layers_key=_LAYERS, hidden_key=_HIDDEN, context_key=_CONTEXT)


@family("gpt_neo")
def gpt_neo(cfg: Fields) -> Geometry:
    """Read a GPT-Neo decoder: global and local layers by repeated lists."""
    layers = cfg.layers("num_layers", "num_hidden_layers")
    hidden = cfg.optional_count("hidden_size")
    heads = _every_head("num_heads", "num_attention_heads")(cfg, hidden)
    words = {"global": FULL, "local": SLIDING}
    kinds = cfg.words("attention_layers", words)
    cfg.skip("attention_types")
    if kinds is None:
        raise cfg.missing("attention_layers")
    if len(kinds) < layers:
        cfg.words("attention_layers", words, length=layers)
    window = cfg.tokens("window_size")
    return Geometry(
        total_layers=layers,
        groups=mixed_layers(
            cfg, kinds[:layers], full=heads, window=window, window_key="window_size"
        ),
        q_heads=heads.q_heads,
        hidden_size=hidden,
        max_context=cfg.tokens("max_position_embeddings"),
    )


@family("falcon", "RefinedWeb", "RefinedWebModel")
def falcon(cfg: Fields) -> Geometry:
    """Read a Falcon decoder: stated KV heads in the new architecture, else one if multi-query."""
    new = cfg.flag("new_decoder_architecture")
    single = cfg.flag("multi_query", otherwise=cfg.model_type == "falcon")
    cfg.skip("num_kv_heads", "n_head_kv")

    def heads(c: Fields, hidden: int | None) -> Heads:
        own = _every_head("num_attention_heads", "n_head")(c, hidden)
        kv_heads = own.kv_heads
        if new or not single:
            kv_heads = c.count("num_kv_heads", "n_head_kv", otherwise=own.kv_heads)
        elif single:
            kv_heads = 1
        return Heads(q_heads=own.q_heads, kv_heads=kv_heads, k=own.k, v=own.v)

    return decoder(
        cfg, heads=heads, layers_key=("num_hidden_layers", "n_layer"),
        hidden_key=("hidden_size", "n_embed"),
    )  # fmt: skip


@family("mpt", "dbrx")
def mosaic(cfg: Fields) -> Geometry:
    """Read an MPT or DBRX decoder: KV heads stand in the attention section."""
    attention = cfg.section("attn_config")
    cfg.skip("num_key_value_heads", "ffn_config")

    def heads(c: Fields, hidden: int | None) -> Heads:
        own = _every_head("n_heads", "num_attention_heads")(c, hidden)
        kind = None if attention is None else attention.text("attn_type")
        stated = None if attention is None else attention.optional_count("kv_n_heads")
        if kind == "multiquery_attention":
            stated = 1
        elif (kind == "grouped_query_attention" and stated is None) or (
            c.model_type == "dbrx" and stated is None
        ):
            raise c.missing("attn_config.kv_n_heads")
        kv_heads = own.kv_heads if stated is None else stated
        return Heads(q_heads=own.q_heads, kv_heads=kv_heads, k=own.k, v=own.v)

    if attention is not None:
        attention.skip("sliding_window_size")
        if attention.states("sliding_window_size") and attention.raw("sliding_window_size") != -1:
            raise attention.unsupported("sliding_window_size")
    return decoder(
        cfg, heads=heads, layers_key=("n_layers", "num_hidden_layers"),
        hidden_key=("d_model", "hidden_size"), context_key=("max_seq_len",),
    )  # fmt: skip


@family("chatglm")
def chatglm(cfg: Fields) -> Geometry:
    """Read a ChatGLM2, ChatGLM3 or GLM-4-9B decoder in its first field names."""
    grouped = cfg.flag("multi_query_attention")
    cfg.skip("multi_query_group_num")

    def heads(c: Fields, hidden: int | None) -> Heads:
        q_heads = c.count("num_attention_heads")
        kv_heads = c.count("multi_query_group_num") if grouped else q_heads
        width = head_width(c, hidden_size=hidden, q_heads=q_heads, key="kv_channels")
        return Heads(q_heads=q_heads, kv_heads=kv_heads, k=width, v=width)

    return decoder(cfg, heads=heads, layers_key=("num_layers",), context_key=("seq_length",))


@family("qwen")
def qwen1(cfg: Fields) -> Geometry:
    """Read a decoder of the first Qwen: one KV head for each query head."""

    def heads(c: Fields, hidden: int | None) -> Heads:
        return read_heads(c, hidden_size=hidden, kv_heads=(), head_dim="kv_channels")

    cfg.skip("max_position_embeddings")
    return decoder(cfg, heads=heads, context_key=("seq_length", "max_position_embeddings")[:1])


@family("jetmoe")
def jetmoe(cfg: Fields) -> Geometry:
    """Read a JetMoE decoder: KV heads are stated, query heads come from the experts."""
    cfg.skip("num_attention_heads")

    def heads(c: Fields, _: int | None) -> Heads:
        kv_heads = c.count("num_key_value_heads")
        width = c.count("kv_channels")
        q_heads = kv_heads * c.count("num_experts_per_tok")
        return Heads(q_heads=q_heads, kv_heads=kv_heads, k=width, v=width)

    return decoder(cfg, heads=heads)


@family("hunyuan", "hunyuan_v1_dense", "hunyuan_v1_moe")
def hunyuan(cfg: Fields) -> Geometry:
    """Read a Hunyuan decoder: with cross-layer attention, one layer in a few keeps KV."""
    if cfg.flag("use_mla"):
        raise cfg.unsupported("use_mla")
    cfg.skip("kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    shares = cfg.flag("use_cla")
    factor = cfg.count("cla_share_factor", most=1000) if shares else 1
    cfg.skip("cla_share_factor")
    layers = cfg.layers()
    hidden = cfg.optional_count("hidden_size")

    def width(key: str) -> Heads:
        return read_heads(cfg, hidden_size=hidden, head_dim=key)

    heads = width("attention_head_dim" if cfg.states("attention_head_dim") else "head_dim")
    cfg.skip("head_dim", "attention_head_dim")
    keeping = -(-layers // factor)
    return Geometry(
        total_layers=layers,
        groups=[attention_layer(heads)] * keeping,
        shared_layers=layers - keeping,
        q_heads=heads.q_heads,
        hidden_size=hidden,
        max_context=cfg.tokens("max_position_embeddings"),
    )


@family("phi-msft", "mixformer-sequential")
def first_phi(cfg: Fields) -> Geometry:
    """Read a Phi 1 or 2 decoder in its first field names."""

    def heads(c: Fields, hidden: int | None) -> Heads:
        return read_heads(c, hidden_size=hidden, heads=_HEADS, kv_heads=("n_head_kv",))

    return decoder(
        cfg, pattern=all_sliding, heads=heads, layers_key=_LAYERS, hidden_key=_HIDDEN,
        context_key=_CONTEXT,
    )  # fmt: skip
