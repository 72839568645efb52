"""Break-even bandwidths of published measurements, and what eight shards change for GLM-5.3."""

from __future__ import annotations

import numpy as np
import pytest

import kvcost as kv
from kvcost.compute import PrefillCurve
from kvcost.facts import measurements, published
from kvcost.transfer import TransferPath

QWEN3_CODER_30B = 98_304
"""Bytes per token as the study prints them, 96 KiB; the model is not in the catalogue."""


def recompute(study, quantity):
    rows = measurements(study=study, tier="recompute", quantity=quantity)
    return {row.tokens: row.value for row in rows if row.tokens}


def needed(tokens, seconds, kv_bytes_per_token):
    return kv.breakeven.break_even_bandwidth_without_overhead(
        tokens=tokens, kv_bytes_per_token=kv_bytes_per_token, recompute_seconds=seconds
    )


def test_qwen3_coder_on_h20_falls_with_the_length():
    # attention makes a token of a long prompt dearer to compute, never to fetch
    found = recompute("agentic-kvc-h20", "ttft")
    rates = [needed(n, found[n], QWEN3_CODER_30B) for n in (1_024, 65_536)]
    assert [round(rate / 1e9, 2) for rate in rates] == [1.29, 0.42]
    # the store was measured at 5 to 7 GB/s, above both, and its hit took 0.97 s against 15.2 s
    rows = measurements(study="agentic-kvc-h20", tier="rdma-store", quantity="bandwidth")
    assert min(row.value for row in rows) > max(rates)
    (hit,) = measurements(study="agentic-kvc-h20", tier="rdma-store", quantity="ttft")
    assert hit.value < found[65_536]


def test_qwen3_8b_on_h800():
    found = recompute("mooncake-pd-qwen3-8b-h800", "ttft")
    lengths, times = np.array(sorted(found.items())).T
    size = kv.model.kv_size(kv.model.load("qwen3-8b"), kv_dtype="bf16").bytes_per_token
    # Mooncake's 4.50 GiB of 32,768 tokens
    assert size == 4.5 * 2**30 / 32_768
    slope = float(np.polyfit(lengths, times, 1)[0])
    assert needed(1, slope, size) == pytest.approx(6.9e9, rel=0.005)


def test_glm_5_2_on_h200():
    found = recompute("llm-d-p2p-glm-5.2-h200", "ttft")
    size = kv.model.kv_size(kv.model.load("glm-5.2"), kv_dtype="bf16").bytes_per_token
    # the guide prints about 93 KB per token
    assert size == pytest.approx(93e3, rel=0.005)
    rates = [needed(n, found[n], size) for n in sorted(found)]
    assert rates == sorted(rates, reverse=True)
    assert needed(65_111, found[65_111], size) == pytest.approx(0.69e9, rel=0.005)
    # the effective rate that llm-d reports wins by far where the overhead is spread over the prompt
    (rate,) = measurements(study="llm-d-p2p-glm-5.2-h200", quantity="bandwidth")
    assert rate.value == 4.5e9


def test_gpt_oss_on_h200_by_either_size():
    found = recompute("llm-d-p2p-gpt-oss-h200", "prefill_time")
    # 43 KB per token, from the guide's capacity figures, need about 1.6 GB/s
    assert needed(16_384, found[16_384], 43e3) == pytest.approx(1.65e9, rel=0.005)
    # the layers that grow weigh 36,864 bytes, so the figure depends on which size is meant
    size = kv.model.kv_size(kv.model.load("gpt-oss-120b"), kv_dtype="bf16").bytes_per_token
    assert size == 36_864
    assert needed(16_384, found[16_384], size) == pytest.approx(1.42e9, rel=0.005)


# GLM-5.3 on eight shards: 10.76 GB/s in place of 1.71


def eight_shards(tokens):
    rate = max(row.value for row in published("glm-5.3-remote-kv", quantity="bandwidth"))
    assert rate == 10.76e9
    return kv.breakeven.decide(
        tokens=tokens,
        kv_bytes_per_token=48_408,
        fixed_bytes_per_request=0,
        prefill=PrefillCurve.from_points({16_000: 0.31}),
        path=TransferPath(overhead_seconds=0.33, store_bandwidth=rate),
        loading="async",
    )


def test_eight_shards_meet_the_measured_median_and_still_lose():
    decision = eight_shards(16_000)
    medians = {
        row.condition: row.value
        for row in published("glm-5.3-remote-kv", quantity="ttft", statistic="p50")
    }
    measured = medians["replay; instances=8; asynchronous; client fixes"]
    assert decision.hit_seconds == pytest.approx(measured, rel=0.01)
    assert decision.verdict == "recompute"
    assert decision.verdict_gpu_seconds == "fetch"
    assert decision.break_even_bandwidth is None
    assert decision.break_even_overhead == pytest.approx(0.31 - 16_000 * 48_408 / 10.76e9)


def test_eight_shards_win_from_22_184_tokens():
    decision = eight_shards(16_000)
    assert decision.break_even_tokens == pytest.approx(22_183.5, abs=1)
    assert eight_shards(30_000).verdict == "fetch"
