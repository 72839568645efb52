"""Records, pages and pools of engines."""

from __future__ import annotations

import math

import pytest

from kvcost.errors import MissingFactError
from kvcost.model.pool import equal_page_pool
from kvcost.model.size import kv_size
from kvcost.model.storage import storage_of
from tests.model import specs


def sizes(spec, **options):
    size = kv_size(spec, **options)
    return size.bytes_per_token, size.reserved_bytes_per_token


def test_logical_sets_aside_what_it_stores():
    for spec in (specs.LLAMA_70B, specs.GPT_OSS_120B, specs.V4_FLASH, specs.QWEN36_27B):
        stored, reserved = sizes(spec)
        assert stored == reserved


@pytest.mark.parametrize(
    ("spec", "mtp", "total"),
    [
        (specs.DEEPSEEK_V32, False, 48068),  # 61 x (656 + 132)
        (specs.GLM_5, False, 61464),  # 78 x (656 + 132)
        (specs.GLM_52, False, 53940),  # 78 x 656 + 21 x 132
        (specs.GLM_52, True, 54728),  # 79 x 656 + 22 x 132
        (specs.GLM_5, True, 62252),  # 79 x 656 + 79 x 132: 158 caches, LMCache #3339
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_sparse_latents_in_vllm_take_656_byte_records(spec, mtp, total):
    assert sizes(spec, kv_dtype="fp8", layout="vllm", mtp=mtp) == (total, total)


def test_dense_latents_and_plain_dtypes_take_no_record():
    assert sizes(specs.DEEPSEEK_V3, kv_dtype="fp8", layout="vllm") == (35136, 35136)
    assert sizes(specs.DEEPSEEK_V32, layout="vllm") == (78324, 78324)


def test_nvfp4_latents():
    # vLLM: 256 + 32 + 64 = 352 bytes; SGLang: all 576 elements at 4 bits, one scale per 16.
    assert sizes(specs.DEEPSEEK_V3, kv_dtype="nvfp4", layout="vllm")[0] == 61 * 352
    assert sizes(specs.DEEPSEEK_V3, kv_dtype="nvfp4", layout="sglang")[0] == 61 * 576 * 0.5625


def test_sglang_keeps_fp8_latents_raw():
    assert sizes(specs.GLM_52, kv_dtype="fp8", layout="sglang") == (47700, 47700)
    assert sizes(specs.GLM_52, kv_dtype="fp8", layout="sglang", mtp=True) == (48408, 48408)


@pytest.mark.parametrize(
    ("spec", "kv", "index"),
    [(specs.V4_FLASH, 3206.25, 708.75), (specs.V4_PRO, 4596.75, 1012.5)],
    ids=["V4-Flash", "V4-Pro"],
)
@pytest.mark.parametrize("kv_dtype", ["bf16", "fp8"])
def test_v4_pages_in_vllm(spec, kv, index, kv_dtype):
    # 584 bytes an entry, blocks of 256 tokens, pages rounded up to multiples of 576 bytes.
    stored, reserved = sizes(spec, kv_dtype=kv_dtype, layout="vllm")
    assert reserved == kv + index
    assert stored < reserved
    notes = " ".join(kv_size(spec, kv_dtype=kv_dtype, layout="vllm").notes)
    assert ("whatever the KV dtype" in notes) == (kv_dtype == "bf16")


@pytest.mark.parametrize(
    ("spec", "reserved"),
    [
        (specs.GPT_OSS_120B, 73728),  # the pool line of vLLM counts 36 layers of 2,048 bytes
        (specs.GEMMA_3_27B, 7 * 10 * 8192),  # 10 full; 52 windowed in 6 groups, 8 layers padding
        (specs.LLAMA_4_SCOUT, 196608),  # 4 groups of 12; also what it takes without the hybrid pool
        (specs.MISTRAL_7B, 131072),
        (specs.GEMMA_4_26B, 6 * 5 * 8192),  # full pages hold 32 tokens, windowed ones 16
        (specs.KIMI_K3, 4 * 24 * 1152),  # 69 states in 3 groups, 3 layers padding
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_vllm_deals_equal_pages_to_all_groups(spec, reserved):
    assert sizes(spec, layout="vllm") == (kv_size(spec).bytes_per_token, reserved)


def test_vllm_pads_up_where_kinds_are_nearly_equal():
    # vLLM's own example: gpt-oss-20b with a draft layer, 12 windowed and 13 full, gets 13 and 13.
    spec = specs.spec("drafted", specs.heads(13, 8, 64), specs.heads(12, 8, 64, window=128))
    storage = storage_of(spec, kv_dtype_name="bf16", index_dtype_name=None, layout="vllm")
    pool = equal_page_pool(spec.groups, storage)
    assert (pool.layer_groups, pool.group_layers, pool.padding_layers) == (2, 13, 1)


def test_capacity_lines_of_vllm_issue_40691():
    """vLLM 0.19 logged 290,864 tokens and 33.04 requests of 32,768 for Qwen3.5-27B.

    One number of blocks gives both lines, with the block that makes a page of attention as large
    as the state, and 4 groups of layers.
    """
    spec = specs.QWEN36_27B  # the same shape
    storage = storage_of(spec, kv_dtype_name="bf16", index_dtype_name=None, layout="vllm")
    pool = equal_page_pool(spec.groups, storage)
    assert (pool.layer_groups, pool.group_layers) == (4, 16)
    state = kv_size(spec).fixed_bytes_per_request / 48
    block = 16 * math.ceil(state / (65536 / 16) / 16)
    per_request = math.ceil(32768 / block) + 3
    blocks = round(33.04 * per_request)
    assert blocks // pool.layer_groups * block == 290864
    assert round(blocks / per_request, 2) == 33.04


def test_what_no_fact_says_is_not_given():
    for spec, layout in (
        (specs.GPT_OSS_120B, "sglang"),  # pools sized by flags
        (specs.QWEN36_27B, "sglang"),
        (specs.GLM_53_FLASH, "vllm"),  # an index beside states
    ):
        size = kv_size(spec, layout=layout)
        assert size.reserved_bytes_per_token is None
        assert any("reserved bytes are not stated" in note for note in size.notes)
    odd = specs.spec("odd", specs.heads(4, 3, 64), specs.heads(4, 4, 64, window=64))
    assert kv_size(odd, layout="vllm").reserved_bytes_per_token is None


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (specs.GLM_53_FLASH, {"kv_dtype": "fp8", "layout": "vllm"}),  # no rotary part
        (specs.V4_FLASH, {"kv_dtype": "nvfp4", "layout": "vllm"}),
        (specs.V4_FLASH, {"kv_dtype": "fp8", "layout": "sglang"}),
        (specs.LLAMA_70B, {"kv_dtype": "mxfp4", "layout": "vllm"}),
        (specs.LLAMA_70B, {"kv_dtype": "int8_per_token_head", "layout": "sglang"}),
        (specs.DEEPSEEK_V3, {"kv_dtype": "mxfp4", "layout": "sglang"}),
        (specs.DEEPSEEK_V3, {"kv_dtype": "int8", "layout": "vllm"}),
    ],
    ids=lambda value: getattr(value, "name", value) if not isinstance(value, dict) else None,
)
def test_records_that_no_fact_describes_raise(spec, options):
    with pytest.raises(MissingFactError) as caught:
        kv_size(spec, **options)
    assert options["layout"] in caught.value.subject
    assert "layout logical" in caught.value.remedy
