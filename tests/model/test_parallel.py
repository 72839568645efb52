"""What ranks keep."""

from __future__ import annotations

import pytest

from kvcost.errors import InvalidValueError
from kvcost.model.parallel import Ranks, stage_layers
from kvcost.model.size import kv_size
from tests.model import specs


def on_rank(spec, **options):
    size = kv_size(spec, **options)
    return size.per_rank, size.copies


def test_heads_are_split_and_never_below_one():
    # Qwen3-235B-A22B has 4 KV heads: 48,128 bytes a rank at TP 4 and at TP 8, where a node holds
    # 385,024 (vLLM issue 21348; the Mooncake table moves 385 KB a token).
    assert on_rank(specs.QWEN3_235B, tp=4) == (48128, 1)
    assert on_rank(specs.QWEN3_235B, tp=8) == (48128, 2)
    assert on_rank(specs.QWEN3_235B, tp=8)[0] * 8 == 385024
    assert on_rank(specs.QWEN3_235B, tp=2) == (96256, 1)
    assert on_rank(specs.LLAMA_70B) == (327680, 1)


def test_every_rank_keeps_the_latent():
    # vLLM PR 26877: 8 times at TP 8.
    assert on_rank(specs.DEEPSEEK_V3, tp=8) == (70272, 8)
    assert on_rank(specs.GLM_52, kv_dtype="fp8", tp=4) == (47700, 4)
    assert on_rank(specs.V4_FLASH, kv_dtype="fp8", tp=8) == (3461, 8)


def test_index_is_kept_by_every_rank_beside_split_heads():
    per_rank, copies = on_rank(specs.MINIMAX_M3, tp=4)
    assert per_rank == 122880 / 4 + 14592
    assert copies == per_rank * 4 / 137472


@pytest.mark.parametrize("tp", [3, 4, 6, 8, 16, 32])
def test_heads_that_do_not_divide_are_refused(tp):
    with pytest.raises(InvalidValueError) as caught:
        kv_size(specs.PHI_4, tp=tp)
    assert (caught.value.field, caught.value.value) == ("tp", tp)
    assert "10 KV heads of phi-4" in caught.value.bound
    assert "1, 2, 5, 10" in caught.value.remedy


def test_or_padded_where_an_engine_does():
    one_head = 204800 // 10
    assert on_rank(specs.PHI_4, tp=4, uneven_heads="pad") == (3 * one_head, 1.2)
    assert on_rank(specs.PHI_4, tp=8, uneven_heads="pad") == (2 * one_head, 1.6)
    assert on_rank(specs.PHI_4, tp=5) == (2 * one_head, 1)
    assert on_rank(specs.PHI_4, tp=20) == (one_head, 2)


def test_decode_context_parallel_ranks_split_the_tokens():
    assert on_rank(specs.DEEPSEEK_V3, tp=8, dcp=8) == (70272 / 8, 1)
    assert on_rank(specs.DEEPSEEK_V3, tp=8, dcp=2) == (70272 / 2, 4)
    assert on_rank(specs.QWEN3_235B, tp=8, dcp=2) == (24064, 1)
    # More ranks than keep the same head cannot split its tokens.
    with pytest.raises(InvalidValueError) as caught:
        kv_size(specs.QWEN3_235B, tp=8, dcp=4)
    assert caught.value.field == "dcp"
    with pytest.raises(InvalidValueError):
        kv_size(specs.LLAMA_70B, tp=4, dcp=2)
    with pytest.raises(InvalidValueError):
        kv_size(specs.DEEPSEEK_V3, tp=8, dcp=3)


def test_data_parallel_attention_keeps_one_copy():
    assert on_rank(specs.DEEPSEEK_V3, tp=8, dp_attention=8) == (70272, 1)
    assert on_rank(specs.DEEPSEEK_V3, tp=8, dp_attention=4) == (70272, 2)
    assert on_rank(specs.QWEN3_235B, tp=8, dp_attention=2) == (48128, 1)
    with pytest.raises(InvalidValueError, match="must divide the 8"):
        kv_size(specs.DEEPSEEK_V3, tp=8, dp_attention=3)


def test_the_largest_pipeline_stage_decides():
    assert on_rank(specs.LLAMA_70B, pp=4) == (327680 / 4, 1)
    assert on_rank(specs.LLAMA_70B, pp=4, tp=8) == (327680 / 32, 1)
    uneven = kv_size(specs.LLAMA_70B, pp=2, pp_layers=(30, 50))
    assert (uneven.per_rank, uneven.method) == (50 * 4096, "exact")
    # 94 layers on 4 stages: 23, 24, 24, 23
    assert on_rank(specs.QWEN3_235B, pp=4)[0] == 24 * 2048
    # The MTP layer stands on the last stage: 30 + 1 latents against 31 before it.
    assert on_rank(specs.DEEPSEEK_V3, pp=2, mtp=True)[0] == 31 * 1152
    hybrid = kv_size(specs.GPT_OSS_120B, pp=4)
    assert (hybrid.per_rank, hybrid.method) == (5 * 2048, "bound")
    for layers in ((40, 41), (80,), (-1, 81), [40, 40]):
        with pytest.raises(InvalidValueError) as caught:
            kv_size(specs.LLAMA_70B, pp=2, pp_layers=layers)
        assert caught.value.field == "pp_layers"


@pytest.mark.parametrize(
    ("total_layers", "stages"),
    [
        # What vLLM's get_pp_indices gives, as write-ups of it print it.
        (61, (31, 30)),
        (61, (15, 15, 16, 15)),
        (22, (5, 6, 6, 5)),
        (7, (2, 3, 2)),
        (43, (4, 4, 4, 4, 4, 4, 5, 5, 5, 4)),
    ],
)
def test_stages_as_vllm_splits_them(total_layers, stages):
    assert stage_layers(total_layers=total_layers, stages=len(stages)) == stages


def test_stages_need_layers():
    assert stage_layers(total_layers=3, stages=1) == (3,)
    with pytest.raises(InvalidValueError, match="at most the 61 layers"):
        kv_size(specs.DEEPSEEK_V3, pp=62)


def test_where_nothing_grows_copies_are_the_windows():
    assert on_rank(specs.MISTRAL_7B, tp=16) == (0, 2)
    assert on_rank(specs.MISTRAL_7B, tp=4, pp=2) == (0, 1)


def test_query_heads_that_do_not_divide_are_noted():
    assert any("40 query heads" in n for n in kv_size(specs.LLAMA_4_SCOUT, tp=16).notes)
    assert not any("query heads" in n for n in kv_size(specs.LLAMA_4_SCOUT, tp=8).notes)


def test_ranks_are_checked():
    with pytest.raises(InvalidValueError):
        Ranks(tp=10**9)
    with pytest.raises(InvalidValueError):
        Ranks(tp=True)
    assert Ranks(tp=8, dp_attention=2).attention_ranks == 4
