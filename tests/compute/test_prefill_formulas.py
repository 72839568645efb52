"""Closed forms of prefill and decode against published figures and against counting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcost import facts
from kvcost.compute import (
    attention_flops,
    causal_pairs,
    chunked_pairs,
    compute_seconds,
    decode_step_seconds,
    latent_attention_flops,
    linear_prefill_flops,
    prefill_per_token,
    prefill_per_token_squared,
    prefill_seconds,
    windowed_pairs,
)

H100 = {"peak_flops": 989e12, "mfu": 0.5}
B300 = {"peak_flops": 2250e12, "mfu": 0.5}

# jwlaboratory/inference-sim, commit 547d2d5: prompts of 65,536 shared and 256 own tokens
SET_UPS = {
    # active parameters, bytes of a parameter, layers, heads, width, GPUs, GPU, HBM rate, expected
    "70b": (70.6e9, 2, 80, 8, 128, 4, H100, 3.35e12, (4.696578, 0.018275, 8, 0.015183, 0.029260)),
    "qwen3-8b": (8.19e9, 2, 36, 8, 128, 4, H100, 3.35e12,
                 (0.544830, 0.002120, 31, 0.002433, 0.029582)),
    "glm52": (40e9, 0.5, 78, 1, 288, 8, H100, 3.35e12,
              (1.330475, 0.005177, 181, 0.001002, 0.013410)),
    "dense1t": (1e12, 1, 120, 8, 128, 4, B300, 8e12,
                (29.240889, 0.113778, 9, 0.039694, 0.044747)),
}  # fmt: skip


@pytest.mark.parametrize("name", SET_UPS)
def test_simulator_constants(name):
    active, element, layers, heads, width, gpus, gpu, hbm, expected = SET_UPS[name]
    cold, suffix, batch, alone, together = expected

    def prefill(tokens):
        flops = linear_prefill_flops(active_parameters=active, new_tokens=tokens)
        return compute_seconds(flops=flops, accelerators=gpus, **gpu)

    def decode(requests):
        return decode_step_seconds(
            active_weight_bytes=active * element,
            batch_kv_bytes=requests * 65_792 * layers * heads * 2 * width * element,
            accelerators=gpus,
            hbm_bandwidth=hbm,
            hbm_efficiency=0.8,
        )

    assert round(prefill(65_792), 6) == cold
    assert round(prefill(256), 6) == suffix
    assert round(decode(1), 6) == alone
    assert round(decode(batch), 6) == together


def test_biting_the_bullet_prefill():
    slope = prefill_per_token(active_parameters=70.6e9, accelerators=4, **H100)
    study = "bite-the-bullet"
    assert slope == pytest.approx(71.38523761375126e-6, rel=1e-15)
    (published,) = facts.published(study, quantity="prefill_time_per_token")
    assert slope == pytest.approx(published.value, rel=1e-15)
    for row in facts.published(study, quantity="prefill_time"):
        assert slope * row.tokens == pytest.approx(row.value, rel=1e-14)
    assert slope * 8000 == pytest.approx(0.5710819009100101, rel=1e-14)


def test_glm_5_3_slope():
    seconds = prefill_seconds(
        prefill_floor=0, prefill_constant=0, prefill_per_token=19.375e-6,
        prefill_per_token_squared=0, new_tokens=16_000, cached_tokens=0,
    )  # fmt: skip
    (published,) = facts.published("glm-5.3-remote-kv", quantity="prefill_time")
    assert seconds == pytest.approx(published.value, rel=1e-14)


def test_attention_counts_as_flash_attention_does():
    # Dao-AILab/flash-attention, benchmarks: 4 x batch x length^2 x heads x width, halved if causal
    for length, heads, width in [(16_384, 16, 128), (2_048, 32, 64)]:
        published = 4 * length**2 * heads * width / 2
        counted = attention_flops(
            layers=1, q_heads=heads, head_dim_k=width, head_dim_v=width,
            pairs=causal_pairs(new_tokens=length, cached_tokens=0),
        )  # fmt: skip
        assert counted == published


def test_attention_counts_as_palm_does():
    # PaLM, arXiv 2204.02311, appendix B: 12 L H Q T a token for forward and backward over a full
    # square, a third of it forward; PaLM 540B has 118 layers, 48 heads of 256, length 2,048
    forward = 12 * 118 * 48 * 256 * 2048 / 3
    square = attention_flops(
        layers=118, q_heads=48, head_dim_k=256, head_dim_v=256, pairs=2048**2
    )  # fmt: skip
    assert square / 2048 == forward


def test_latent_attention_counts_as_flash_mla_does():
    # deepseek-ai/FlashMLA, tests: queries x length x heads x (576 + 512) x 2
    counted = latent_attention_flops(
        layers=1, q_heads=128, kv_lora_rank=512, rope_dim=64, pairs=4096
    )
    assert counted == 4096 * 128 * (576 + 512) * 2


def test_square_term_is_the_time_of_half_a_square():
    shape = {"layers": 80, "q_heads": 64, "head_dim_k": 128, "head_dim_v": 128}
    node = {"accelerators": 4, **H100}
    pairs = causal_pairs(new_tokens=8000, cached_tokens=0)
    by_flops = compute_seconds(flops=attention_flops(**shape, pairs=pairs), **node)
    assert prefill_per_token_squared(**shape, **node) * 8000**2 == pytest.approx(by_flops)


whole = st.integers(0, 400)


@given(new=st.integers(1, 300), cached=whole, window=st.integers(1, 300))
def test_pairs_are_what_counting_gives(new, cached, window):
    places = range(cached, cached + new)
    full = sum(place + 0.5 for place in places)
    assert causal_pairs(new_tokens=new, cached_tokens=cached) == full
    sliding = sum(min(place + 0.5, window) for place in places)
    assert windowed_pairs(new_tokens=new, cached_tokens=cached, window=window) == sliding
    chunked = sum(place % window + 0.5 for place in places)
    found = chunked_pairs(new_tokens=new, cached_tokens=cached, window=window)
    assert found == pytest.approx(chunked, abs=1e-6)


@given(first=st.integers(1, 100_000), second=st.integers(1, 100_000), window=st.integers(1, 9000))
def test_pairs_add_up_over_pieces(first, second, window):
    for law in (windowed_pairs, chunked_pairs):
        whole_prompt = law(new_tokens=first + second, cached_tokens=0, window=window)
        pieces = law(new_tokens=first, cached_tokens=0, window=window) + law(
            new_tokens=second, cached_tokens=first, window=window
        )
        assert pieces == pytest.approx(whole_prompt, rel=1e-12)


CURVE = {
    "prefill_floor": 0.05,
    "prefill_constant": 0.028,
    "prefill_per_token": 19.5e-6,
    "prefill_per_token_squared": 0.294e-9,
}


@given(first=st.integers(1, 200_000), second=st.integers(1, 200_000))
def test_prefill_of_a_suffix_is_the_difference(first, second):
    free = {**CURVE, "prefill_floor": 0}
    whole_prompt = prefill_seconds(**free, new_tokens=first + second, cached_tokens=0)
    head = prefill_seconds(**free, new_tokens=first, cached_tokens=0)
    tail = prefill_seconds(**free, new_tokens=second, cached_tokens=first)
    # two prefills pay the constant twice
    assert head + tail - 0.028 == pytest.approx(whole_prompt, rel=1e-12)


def test_prefill_edges():
    assert prefill_seconds(**CURVE, new_tokens=0, cached_tokens=9000) == 0
    assert prefill_seconds(**CURVE, new_tokens=1, cached_tokens=0) == 0.05
    assert math.isnan(prefill_seconds(**CURVE, new_tokens=-1, cached_tokens=0))
    assert math.isnan(prefill_seconds(**CURVE, new_tokens=math.nan, cached_tokens=0))
    negative = {**CURVE, "prefill_constant": -1.0, "prefill_floor": 0}
    assert prefill_seconds(**negative, new_tokens=10, cached_tokens=0) == 0
    grid = prefill_seconds(
        **CURVE, new_tokens=np.array([0, 1, 8192]), cached_tokens=np.array([[0], [4096]])
    )
    assert grid.shape == (2, 3)
    assert grid[1, 2] == prefill_seconds(**CURVE, new_tokens=8192, cached_tokens=4096)
