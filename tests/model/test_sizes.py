"""Sizes of known models, from specs written by hand."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kvcost.errors import InvalidValueError, MissingFactError, UnknownNameError
from kvcost.facts import Provenance
from kvcost.model.size import kv_bytes_per_token, kv_size
from kvcost.model.spec import CrossAttentionLayers
from tests.model import specs

# Growing bytes per token with bf16 KV and the index as engines store it, with an FP8 cache, and
# with bf16 KV and index. From engines' logs and calculators named in the catalogue.
GROWING = [
    (specs.LLAMA_70B, 327680, 163840, 327680),
    (specs.QWEN3_235B, 192512, 96256, 192512),
    (specs.DEEPSEEK_V3, 70272, 35136, 70272),
    (specs.DEEPSEEK_V32, 78324, 43188, 85888),
    (specs.GLM_5, 100152, 55224, 109824),
    (specs.GLM_52, 92628, 47700, 95232),
    (specs.GLM_53_FLASH, 11627, 5995, 11968),
    (specs.V4_FLASH, 6229, 3461, 6880),
    (specs.V4_PRO, 8918, 4954, 9848),
    (specs.MINIMAX_M3, 137472, 76032, 137472),
    (specs.GPT_OSS_120B, 36864, 18432, 36864),
    (specs.GEMMA_3_27B, 81920, 40960, 81920),
    (specs.GEMMA_4_26B, 20480, 10240, 20480),
    (specs.LLAMA_4_SCOUT, 49152, 24576, 49152),
    (specs.MIMO_V2_FLASH, 23040, 11520, 23040),
    (specs.MISTRAL_7B, 0, 0, 0),
    (specs.QWEN36_27B, 65536, 32768, 65536),
    (specs.NEMOTRON_H, 40960, 20480, 40960),
    (specs.KIMI_K3, 27648, 13824, 27648),
]


@pytest.mark.parametrize(
    ("spec", "bf16", "fp8", "all_bf16"), GROWING, ids=[row[0].name for row in GROWING]
)
def test_growing_bytes(spec, bf16, fp8, all_bf16):
    assert kv_bytes_per_token(spec) == kv_size(spec).bytes_per_token == bf16
    assert kv_bytes_per_token(spec, kv_dtype="fp8") == fp8
    assert kv_bytes_per_token(spec, index_dtype="bf16") == all_bf16


FIXED = [
    (specs.LLAMA_70B, 0),
    (specs.LLAMA_4_SCOUT, 1207959552),
    (specs.MISTRAL_7B, 536870912),
    (specs.GEMMA_3_27B, 436207616),
    (specs.GEMMA_4_26B, 209715200),
    (specs.GPT_OSS_120B, 4718592),
    (specs.MIMO_V2_FLASH, 25559040),
    (specs.V4_FLASH, 5636096),
    (specs.V4_PRO, 7995392),
    (specs.QWEN36_27B, 37748736 * 4 + 1474560 * 2),
    (specs.NEMOTRON_H, 226492416 * 4 + 3317760 * 2),
    (specs.KIMI_K3, 108527616 * 4 + 7630848 * 2),
    (specs.GLM_53_FLASH, 35651584 * 4 + 2506752 * 2),
    (specs.WHISPER, 245760000),
]


@pytest.mark.parametrize(("spec", "fixed"), FIXED, ids=[row[0].name for row in FIXED])
def test_fixed_bytes(spec, fixed):
    assert kv_size(spec).fixed_bytes_per_request == fixed


def test_mean_over_131072_tokens():
    # Sliding and chunked layers at their window: 58,368 and 22,080 bytes a token.
    tokens = 131072
    for spec, mean in ((specs.LLAMA_4_SCOUT, 58368), (specs.GEMMA_4_26B, 22080)):
        assert kv_size(spec, tokens=tokens).bytes_at_tokens / tokens == mean
    # Gemma 3 at 131,072 tokens: 10.00 GiB of global and 0.41 GiB of local layers.
    assert kv_size(specs.GEMMA_3_27B, tokens=tokens).bytes_at_tokens == 10.40625 * 2**30


def test_windows_fill_up_first():
    size = kv_size(specs.MISTRAL_7B)
    np.testing.assert_array_equal(
        size.at(np.array([0, 1, 4096, 100_000])), [0, 131072, 536870912, 536870912]
    )
    assert kv_size(specs.MISTRAL_7B, tokens=100).bytes_at_tokens == 100 * 131072
    assert size.bytes_at_tokens is None


def test_llama_cpp_log_of_qwen36():
    # The log has 16,384 MiB of KV for 262,144 cells and 598.5 MiB of state for 4 slots, in fp32.
    size = kv_size(
        specs.QWEN36_27B, kv_dtype="fp16", state_dtype="fp32", conv_dtype="fp32", tokens=262144
    )
    assert size.bytes_per_token * 262144 == 16384 * 2**20
    assert size.fixed_bytes_per_request * 4 == 598.5 * 2**20
    assert size.bytes_at_tokens == 16384 * 2**20 + 149.625 * 2**20
    assert size.provenance is Provenance.MEASURED


def test_glm_5_with_and_without_mtp():
    # 79 x 576 + 22 x 132: the MTP layer has a latent and an indexer of its own.
    assert kv_bytes_per_token(specs.GLM_52, kv_dtype="fp8", mtp=True) == 48408
    # Calculators disagree by MTP: 12 x 512 + 12 x 33 for GLM-5.3-Flash counts it.
    assert kv_bytes_per_token(specs.GLM_53_FLASH, kv_dtype="fp8", mtp=True) == 6540
    # vLLM PR and LMCache logs of builds that keep an index on each of 78 layers.
    without = kv_size(specs.GLM_52, kv_dtype="fp8", index_on_every_layer=True)
    assert without.bytes_per_token == 55224
    whole = kv_size(specs.GLM_52, kv_dtype="fp8", index_on_every_layer=True, mtp=True)
    assert whole.bytes_per_token == 55932
    assert kv_size(specs.GLM_52, index_on_every_layer=True).bytes_per_token == 100152


def test_mtp_is_said():
    said = kv_size(specs.GLM_52).notes
    assert "MTP layers are not counted (1)" in said
    assert "MTP layers are counted (1)" in kv_size(specs.GLM_52, mtp=True).notes
    assert not any("MTP" in note for note in kv_size(specs.LLAMA_70B).notes)
    asked = kv_size(specs.LLAMA_70B, mtp=True)
    assert asked.bytes_per_token == 327680
    assert any("no MTP layers" in note for note in asked.notes)


def test_index_is_kept_apart_from_the_kv_dtype():
    parts = {part.kind: part for part in kv_size(specs.DEEPSEEK_V32).parts}
    assert (parts["latent"].bytes_per_token, parts["index"].bytes_per_token) == (70272, 8052)
    fp8 = {part.kind: part for part in kv_size(specs.DEEPSEEK_V32, kv_dtype="fp8").parts}
    assert fp8["index"] == parts["index"]
    # 57 layers x 128 x 2 bytes whatever the KV dtype; the record only when asked for.
    m3 = {part.kind: part for part in kv_size(specs.MINIMAX_M3, kv_dtype="fp8").parts}
    assert m3["index"].bytes_per_token == 14592
    assert kv_bytes_per_token(specs.MINIMAX_M3, index_dtype="fp8") == 122880 + 57 * 132


def test_scales_of_heads_and_blocks():
    # Llama-3.3-70B: 80 layers x 8 heads x 256 elements, and 8 bytes a head.
    plain = 80 * 8 * 256
    assert kv_bytes_per_token(specs.LLAMA_70B, kv_dtype="int8_per_token_head") == plain + 80 * 8 * 8
    assert kv_bytes_per_token(specs.LLAMA_70B, kv_dtype="nvfp4") == plain * 0.5625
    assert kv_bytes_per_token(specs.LLAMA_70B, kv_dtype="mxfp4") == plain * 0.53125
    size = kv_size(specs.LLAMA_70B, kv_dtype="int4", group_size=64, group_scale_bytes=4)
    assert size.bytes_per_token == plain * (0.5 + 4 / 64)
    with pytest.raises(MissingFactError):
        kv_bytes_per_token(specs.DEEPSEEK_V3, kv_dtype="int8_per_token_head")
    with pytest.raises(MissingFactError):
        kv_size(specs.LLAMA_70B, kv_dtype="int4")


def test_widths_that_do_not_fill_a_block():
    odd = specs.spec("odd", specs.heads(2, 2, 80))
    assert kv_bytes_per_token(odd, kv_dtype="nvfp4") == 2 * 2 * 160 * 0.5625
    with pytest.raises(InvalidValueError, match="multiple of 32 elements, not 80"):
        kv_bytes_per_token(odd, kv_dtype="mxfp4")


def test_cross_attention():
    size = kv_size(specs.WHISPER, kv_dtype="fp16", tokens=448)
    assert size.bytes_per_token == 163840
    assert size.fixed_bytes_per_request == 1500 * 163840
    assert size.bytes_at_tokens == (448 + 1500) * 163840
    assert kv_size(specs.WHISPER, source_tokens=750).fixed_bytes_per_request == 750 * 163840
    open_ended = specs.spec(
        "t5",
        specs.heads(2, 2, 64),
        CrossAttentionLayers(
            layers=2, kv_heads=2, head_dim_k=64, head_dim_v=64, source_tokens=None
        ),
    )
    with pytest.raises(MissingFactError, match="encoder tokens of t5"):
        kv_size(open_ended)
    assert kv_bytes_per_token(open_ended) == 1024
    assert kv_size(open_ended, source_tokens=10).fixed_bytes_per_request == 10240


def test_rounding_to_blocks_and_chunks():
    exact = kv_size(specs.LLAMA_70B, tokens=300)
    blocks = kv_size(specs.LLAMA_70B, tokens=300, block_tokens=16)
    chunks = kv_size(specs.LLAMA_70B, tokens=300, chunk_tokens=256)
    # LMCache keeps 256 of 300 tokens: a last chunk that is not full is not stored.
    assert [size.bytes_at_tokens // 327680 for size in (exact, blocks, chunks)] == [300, 304, 256]
    assert any("300 tokens are counted as 256" in note for note in chunks.notes)
    with pytest.raises(InvalidValueError, match="cannot go with block_tokens"):
        kv_size(specs.LLAMA_70B, tokens=300, block_tokens=16, chunk_tokens=256)


def test_whole_bytes_are_ints():
    size = kv_size(specs.LLAMA_70B, tokens=7)
    assert type(size.bytes_per_token) is type(size.bytes_at_tokens) is int
    assert kv_size(specs.V4_FLASH, layout="vllm").bytes_per_token == 3850.25


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("tokens", -1),
        ("tokens", 1.5),
        ("tokens", True),
        ("tokens", 10**15),
        ("block_tokens", 0),
        ("chunk_tokens", "256"),
        ("source_tokens", -1),
        ("tp", 0),
        ("dp_attention", 0),
        ("dcp", 2.0),
        ("pp", -2),
        ("uneven_heads", "guess"),
        ("layout", "trtllm"),
        ("layout", None),
        ("mtp", "yes"),
        ("kv_dtype", None),
        ("kv_dtype", ["fp8"]),
        ("index_dtype", {}),
        ("layout", ["vllm"]),
        ("index_on_every_layer", True),
    ],
)
def test_options_are_checked(field, bad):
    with pytest.raises(InvalidValueError) as caught:
        kv_size(specs.WHISPER, **{field: bad})
    assert caught.value.field == field


def test_unknown_dtypes():
    for field in ("kv_dtype", "index_dtype", "state_dtype", "conv_dtype"):
        with pytest.raises(UnknownNameError):
            kv_size(specs.LLAMA_70B, **{field: "fp7"})


def test_long_prompts_are_noted():
    short = specs.spec("short", specs.heads(1, 1, 64), max_context=4096)
    assert any("exceed" in note for note in kv_size(short, tokens=5000).notes)
    assert not any("exceed" in note for note in kv_size(short, tokens=4096).notes)


def test_numbers_need_no_heavy_library():
    code = (
        "import sys, tests.model.specs as s\n"
        "from kvcost.model.size import kv_size\n"
        "kv_size(s.V4_FLASH, tokens=9)\n"
        "print([m for m in ('sympy', 'pandas', 'altair', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
