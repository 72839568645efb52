"""Decoders that also attend to an encoder: T5, BART, Whisper, Llama 3.2 Vision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.config.attention import Heads, attention_layer, head_width, read_heads
from kvcost.model.config.geometry import Geometry, family
from kvcost.model.spec import CrossAttentionLayers, LayerGroup

if TYPE_CHECKING:
    from kvcost.model.config.fields import Fields

__all__: list[str] = []


def _cross(heads: Heads, source_tokens: int | None) -> CrossAttentionLayers:
    return CrossAttentionLayers(
        layers=1,
        kv_heads=heads.kv_heads,
        head_dim_k=heads.k,
        head_dim_v=heads.v,
        source_tokens=source_tokens,
    )


def _geometry(
    layers: int, heads: Heads, *, hidden: int, context: int | None, source: int | None
) -> Geometry:
    self_attention: LayerGroup = attention_layer(heads)
    return Geometry(
        total_layers=layers,
        groups=[self_attention] * layers + [_cross(heads, source)] * layers,
        q_heads=heads.q_heads,
        hidden_size=hidden,
        max_context=context,
    )


@family("t5", "mt5", "umt5", "longt5", "switch_transformers")
def t5(cfg: Fields) -> Geometry:
    """Read a T5 decoder: the head width is stated, the source may have any length."""
    cfg.skip("is_encoder_decoder", "is_decoder")
    hidden = cfg.count("d_model")
    width = cfg.count("d_kv")
    q_heads = cfg.count("num_heads")
    encoder_layers = cfg.layers("num_layers")
    layers = cfg.count("num_decoder_layers", most=10_000, otherwise=encoder_layers)
    cfg.skip("local_radius", "global_block_size", "encoder_attention_type", "n_positions")
    heads = Heads(q_heads=q_heads, kv_heads=q_heads, k=width, v=width)
    return _geometry(layers, heads, hidden=hidden, context=None, source=None)


@family(
    "bart", "blenderbot", "blenderbot-small", "m2m_100", "marian", "mbart", "mvp", "pegasus",
    "plbart", "whisper",
)  # fmt: skip
def bart(cfg: Fields) -> Geometry:
    """Read a BART or Whisper decoder; Whisper always encodes a source of one length."""
    cfg.skip("is_encoder_decoder", "is_decoder")
    hidden = cfg.count("d_model")
    q_heads = cfg.count("decoder_attention_heads")
    layers = cfg.layers("decoder_layers")
    width = head_width(cfg, hidden_size=hidden, q_heads=q_heads)
    cfg.skip("encoder_layers", "encoder_attention_heads", "num_hidden_layers")
    whisper = cfg.model_type == "whisper"
    source = cfg.tokens("max_source_positions") if whisper else None
    context = cfg.tokens("max_target_positions" if whisper else "max_position_embeddings")
    heads = Heads(q_heads=q_heads, kv_heads=q_heads, k=width, v=width)
    return _geometry(layers, heads, hidden=hidden, context=context, source=source)


@family("mllama_text_model")
def mllama(cfg: Fields) -> Geometry:
    """Read a Llama 3.2 Vision decoder: some layers attend to the image and to nothing else."""
    layers = cfg.layers()
    hidden = cfg.count("hidden_size")
    heads = read_heads(cfg, hidden_size=hidden)
    listed = cfg.counts("cross_attention_layers")
    if listed is None:
        raise cfg.missing("cross_attention_layers")
    crossing = set(listed)
    if len(crossing) != len(listed) or any(index >= layers for index in crossing):
        raise cfg.invalid(
            "cross_attention_layers",
            listed,
            f"must name layers below {layers}, each once",
            "correct the list",
        )
    cfg.note("the image's tokens depend on its size: cross attention needs them given")
    groups: list[LayerGroup] = [attention_layer(heads)] * (layers - len(crossing))
    groups += [_cross(heads, None)] * len(crossing)
    return Geometry(
        total_layers=layers,
        groups=groups,
        q_heads=heads.q_heads,
        hidden_size=hidden,
        max_context=cfg.tokens("max_position_embeddings"),
    )
