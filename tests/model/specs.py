"""Model specs written by hand from published configurations, to test sizes without the parser."""

from __future__ import annotations

from kvcost.facts import Provenance
from kvcost.model.spec import (
    AttentionLayers,
    CompressedLayers,
    CrossAttentionLayers,
    IndexLayers,
    LatentLayers,
    ModelSpec,
    RecurrentLayers,
    WindowedLatentLayers,
)


def spec(name, *groups, mtp=(), total_layers=None, **fields):
    fields.setdefault("provenance", Provenance.DATA_SHEET)
    return ModelSpec(
        name=name,
        architecture="by hand",
        groups=groups,
        mtp_groups=tuple(mtp),
        total_layers=total_layers or max(group.layers for group in groups),
        **fields,
    )


def heads(layers, kv_heads, k, v=None, *, window=None, kind="sliding"):
    return AttentionLayers(
        layers=layers,
        kv_heads=kv_heads,
        head_dim_k=k,
        head_dim_v=k if v is None else v,
        window=window,
        window_kind=None if window is None else kind,
    )


def latent(layers, rank=512, rope=64):
    return LatentLayers(layers=layers, kv_lora_rank=rank, rope_dim=rope)


def index(layers, **fields):
    return IndexLayers(layers=layers, head_dim=128, **fields)


def v4(layers, c4, c128):
    return (
        CompressedLayers(layers=c4, entry_dim=512, rope_dim=64, ratio=4),
        CompressedLayers(layers=c128, entry_dim=512, rope_dim=64, ratio=128),
        WindowedLatentLayers(layers=layers, entry_dim=512, rope_dim=64, window=128),
        index(c4, tokens_per_entry=4),
    )


LLAMA_70B = spec("Llama-3.3-70B", heads(80, 8, 128), q_heads=64)
QWEN3_235B = spec("Qwen3-235B-A22B", heads(94, 4, 128), q_heads=64)
PHI_4 = spec("phi-4", heads(40, 10, 128), q_heads=40)
DEEPSEEK_V3 = spec("DeepSeek-V3", latent(61), mtp=[latent(1)], q_heads=128)
DEEPSEEK_V32 = spec("DeepSeek-V3.2", latent(61), index(61), mtp=[latent(1), index(1)], q_heads=128)
GLM_5 = spec("GLM-5", latent(78), index(78), mtp=[latent(1), index(1)], q_heads=64)
GLM_52 = spec("GLM-5.2", latent(78), index(21), mtp=[latent(1), index(1)], q_heads=64)
GLM_53_FLASH = spec(
    "GLM-5.3-Flash",
    latent(11, rope=0),
    index(11, tokens_per_entry=4),
    RecurrentLayers(layers=34, state_elements=1048576, conv_elements=73728),
    mtp=[latent(1, rope=0), index(1, tokens_per_entry=4)],
    total_layers=45,
)
V4_FLASH = spec("DeepSeek-V4-Flash", *v4(43, 21, 20))
V4_PRO = spec("DeepSeek-V4-Pro", *v4(61, 30, 31))
MINIMAX_M3 = spec("MiniMax-M3", heads(60, 4, 128), index(57, storage="bf16"), q_heads=64)
GPT_OSS_120B = spec(
    "gpt-oss-120b", heads(18, 8, 64), heads(18, 8, 64, window=128), total_layers=36, q_heads=64
)
GEMMA_3_27B = spec(
    "gemma-3-27b", heads(10, 16, 128), heads(52, 16, 128, window=1024), total_layers=62
)
GEMMA_4_26B = spec(
    "gemma-4-26B-A4B", heads(5, 2, 512), heads(25, 8, 256, window=1024), total_layers=30
)
LLAMA_4_SCOUT = spec(
    "Llama-4-Scout",
    heads(12, 8, 128),
    heads(36, 8, 128, window=8192, kind="chunked"),
    total_layers=48,
    q_heads=40,
)
MIMO_V2_FLASH = spec(
    "MiMo-V2-Flash", heads(9, 4, 192, 128), heads(39, 8, 192, 128, window=128), total_layers=48
)
MISTRAL_7B = spec("Mistral-7B-v0.1", heads(32, 8, 128, window=4096))
QWEN36_27B = spec(
    "Qwen3.6-27B",
    heads(16, 4, 256),
    RecurrentLayers(layers=48, state_elements=786432, conv_elements=30720),
    total_layers=64,
    q_heads=24,
    provenance=Provenance.MEASURED,
)
NEMOTRON_H = spec(
    "Nemotron-H-56B",
    heads(10, 8, 128),
    RecurrentLayers(layers=54, state_elements=4194304, conv_elements=61440),
    total_layers=118,
)
KIMI_K3 = spec(
    "Kimi-K3",
    latent(24),
    RecurrentLayers(layers=69, state_elements=1572864, conv_elements=110592),
    total_layers=93,
)
WHISPER = spec(
    "whisper-large-v3",
    heads(32, 20, 64),
    CrossAttentionLayers(layers=32, kv_heads=20, head_dim_k=64, head_dim_v=64, source_tokens=1500),
)
