"""Each closed form of the model layer against a number from outside the project."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kvcost.formula import Formula
from kvcost.model import formulas as f

GQA = {"head_dim_k": 128, "head_dim_v": 128, "element_bytes": 2, "head_scale_bytes": 0}

OUTSIDE = [
    # "327,680 bytes per token" for Llama-3.3-70B in fp16: Biting the Bullet
    ("attention_bytes_per_token", {"layers": 80, "kv_heads": 8, **GQA}, 327680),
    # "70,272 B/token" for DeepSeek-V3: LMCache PR 694, unsloth PR 4757
    (
        "latent_bytes_per_token",
        {"layers": 61, "kv_lora_rank": 512, "rope_dim": 64, "element_bytes": 2},
        70272,
    ),
    # ik_llama.cpp PR 2093: 672 MiB of f16 index for 131,072 tokens of GLM-5.2
    (
        "entry_bytes_per_token",
        {"layers": 21, "entry_dim": 128, "element_bytes": 2, "tokens_per_entry": 1},
        672 * 2**20 / 131072,
    ),
    # llama.cpp (ggml-common.h): a q4_0 block is 18 bytes for 32 elements
    (
        "scaled_element_bytes",
        {"value_bytes": 0.5, "scale_bytes": 2, "quant_block": 32},
        18 / 32,
    ),
    # vLLM: 656 bytes a token for fp8_ds_mla
    (
        "record_bytes",
        {
            "quantized_dim": 512,
            "value_bytes": 1,
            "quant_block": 128,
            "scale_bytes": 4,
            "plain_dim": 64,
            "plain_element_bytes": 2,
            "pad_bytes": 0,
        },
        656,
    ),
    # LMCache issue 3339: index blocks of [4372, 64, 132] bytes, so 132 a token and layer
    (
        "record_bytes_per_token",
        {"layers": 1, "record_bytes": 132, "tokens_per_entry": 1},
        132,
    ),
    # Figures for DeepSeek-V4-Flash in vLLM: 708.75 bytes of index a token
    (
        "page_bytes_per_token",
        {
            "layers": 21,
            "record_bytes": 132,
            "tokens_per_entry": 4,
            "block_tokens": 256,
            "page_bytes": 576,
        },
        708.75,
    ),
    # vLLM's pool line for gpt-oss-120b
    (
        "pool_bytes_per_token",
        {"layer_groups": 2, "group_layers": 18, "layer_bytes_per_token": 2048},
        73728,
    ),
    # Gemma 3 27B: 52 local layers, 0.41 GiB (416 MiB) at 1,024 tokens
    (
        "window_bytes",
        {"window_bytes_per_token": 52 * 8192, "window": 1024, "tokens": 131072},
        416 * 2**20,
    ),
    # llama.cpp log of Qwen3.6-27B: 598.5 MiB of state for 4 slots, all in fp32
    (
        "state_bytes",
        {
            "layers": 48,
            "state_elements": 786432,
            "state_element_bytes": 4,
            "conv_elements": 30720,
            "conv_element_bytes": 4,
        },
        598.5 * 2**20 / 4,
    ),
    # whisper.cpp logs "kv cross size = 17.58 MB" (of 2**20 bytes) for base.en, 1,500 positions, and
    # in later releases 18.87 MB (of 10**6) for base, whose positions are padded to 1,536
    (
        "cross_attention_bytes",
        {
            "layers": 6,
            "kv_heads": 8,
            "head_dim_k": 64,
            "head_dim_v": 64,
            "element_bytes": 2,
            "head_scale_bytes": 0,
            "source_tokens": 1500,
        },
        pytest.approx(17.58 * 2**20, abs=0.005 * 2**20),
    ),
    (
        "cross_attention_bytes",
        {
            "layers": 6,
            "kv_heads": 8,
            "head_dim_k": 64,
            "head_dim_v": 64,
            "element_bytes": 2,
            "head_scale_bytes": 0,
            "source_tokens": 1536,
        },
        pytest.approx(18.87e6, abs=0.005e6),
    ),
    # Jamba-1.5-Large: 9 GB of KV at 256K tokens, arXiv 2408.12570
    (
        "cache_bytes",
        {"kv_bytes_per_token": 36864, "tokens": 262144, "window_bytes": 0, "state_bytes": 0},
        9 * 2**30,
    ),
    # vLLM gives max(1, 8 // 8) and max(1, 4 // 8)
    ("heads_on_rank", {"kv_heads": 8, "tensor_ranks": 8}, 1),
    ("heads_on_rank", {"kv_heads": 4, "tensor_ranks": 8}, 1),
    # vLLM issue 21348: 48,128 bytes a token and rank for Qwen3-235B-A22B at TP 4
    (
        "attention_bytes_on_rank",
        {"layers": 94, "kv_heads": 4, **GQA, "tensor_ranks": 4, "context_ranks": 1},
        48128,
    ),
    # vLLM PR 26877: 8 copies of an MLA latent at TP 8
    (
        "kv_copies",
        {"rank_bytes_per_token": 70272, "ranks": 8, "kv_bytes_per_token": 70272},
        8,
    ),
    # 168 blocks of 1,568 tokens for 262,144: mitchross/talos-argocd-proxmox PR 1995, on vLLM
    (
        "block_rounded_tokens",
        {"tokens": 262144, "block_tokens": 1568},
        168 * 1568,
    ),
    # LMCache: a prompt of 300 tokens stores 256
    ("chunk_rounded_tokens", {"tokens": 300, "chunk_tokens": 256}, 256),
]


@pytest.mark.parametrize(("name", "inputs", "outside"), OUTSIDE, ids=lambda v: str(v)[:30])
def test_outside_numbers(name, inputs, outside):
    assert getattr(f, name)(**inputs) == outside


def test_every_formula_has_one():
    known = {name for name in f.__all__ if isinstance(getattr(f, name), Formula)}
    assert known == set(f.__all__) == {name for name, _, _ in OUTSIDE}


def test_whole_blocks_snap_within_the_stated_tolerance():
    assert f.block_rounded_tokens(tokens=32, block_tokens=16) == 32
    assert f.block_rounded_tokens(tokens=33, block_tokens=16) == 48
    assert f.chunk_rounded_tokens(tokens=255, chunk_tokens=256) == 0
    assert f.chunk_rounded_tokens(tokens=512, chunk_tokens=256) == 512


def test_outside_the_domain_there_is_no_number():
    assert math.isnan(f.kv_copies(rank_bytes_per_token=0, ranks=8, kv_bytes_per_token=0))


def test_arrays_broadcast():
    tokens = np.array([[0], [100], [5000]])
    held = f.window_bytes(window_bytes_per_token=2.0, window=np.array([128, 4096]), tokens=tokens)
    np.testing.assert_array_equal(held, [[0, 0], [200, 200], [256, 8192]])
