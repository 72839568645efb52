"""Closed forms of a fetch against published figures and against counting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcost import facts
from kvcost.transfer import (
    bandwidth,
    fetched_tokens,
    gained_tokens,
    keys,
    layerwise_seconds,
    moved_bytes,
    pipelined_seconds_per_byte,
    scaling_exponent,
    seconds_per_byte,
    shard_efficiency,
    transfer_seconds,
    usable_hit_tokens,
)

FREE = {
    "lookup_seconds": 0, "overhead_seconds": 0, "keys": 0, "per_key_seconds": 0, "descriptors": 0,
    "per_descriptor_seconds": 0,
}  # fmt: skip


def test_partly_local_chunks_move_whole():
    # LMCache issue 2263: 288 tokens on the replica, 512 in the store
    prompt = {"tokens": 600, "hit_tokens": 512, "local_tokens": 288, "chunk_tokens": 256}
    assert fetched_tokens(**prompt) == 256
    assert gained_tokens(**prompt) == 224


def test_last_token_is_computed():
    # LMCache pull request 1740: "LMCache hit tokens: 10010, need to load: 10009"
    assert usable_hit_tokens(tokens=10_010, hit_tokens=10_010, chunk_tokens=1) == 10_009
    # LMCache stores whole chunks: of 300 tokens 256
    assert usable_hit_tokens(tokens=1000, hit_tokens=300, chunk_tokens=256) == 256
    assert usable_hit_tokens(tokens=0, hit_tokens=0, chunk_tokens=256) == 0


@given(
    tokens=st.integers(1, 5000),
    hit=st.integers(0, 6000),
    local=st.integers(0, 5000),
    chunk=st.integers(1, 600),
)
def test_hits_are_what_counting_gives(tokens, hit, local, chunk):
    usable = max(k for k in range(0, tokens, chunk) if k <= hit)
    chunks = [k for k in range(0, usable, chunk) if k + chunk > local]
    prompt = {
        "tokens": tokens, "hit_tokens": hit, "local_tokens": local, "chunk_tokens": chunk
    }  # fmt: skip
    assert usable_hit_tokens(tokens=tokens, hit_tokens=hit, chunk_tokens=chunk) == usable
    assert gained_tokens(**prompt) == max(usable - local, 0)
    assert fetched_tokens(**prompt) == len(chunks) * chunk
    assert gained_tokens(**prompt) <= fetched_tokens(**prompt) < gained_tokens(**prompt) + chunk


def test_keys_of_a_prompt():
    # LMCache pull request 2790: 65,024 tokens in chunks of 256, two and three reads a chunk
    rows = facts.measurements(study="lmcache-valkey-p4de", quantity="reads_per_request")
    reads = {row.tier: row.value for row in rows}
    for tier, per_chunk in [("valkey", 2), ("redis-cluster", 3)]:
        asked = keys(fetched_tokens=65_024, chunk_tokens=256, keys_per_chunk=per_chunk)
        assert asked == reads[tier]
    assert keys(fetched_tokens=257, chunk_tokens=256, keys_per_chunk=1) == 2
    assert keys(fetched_tokens=0, chunk_tokens=256, keys_per_chunk=1) == 0


def test_bytes_and_time_of_a_logged_retrieval():
    # LMCache pull request 1740: 10,010 tokens of Qwen3-8B, 1.3747 "gb", 33.4281 ms, 41.1230 GB/s;
    # the figures are GiB
    size = moved_bytes(
        fetched_tokens=10_010, kv_bytes_per_token=147_456, kv_copies=1, fixed_bytes=0
    )
    assert round(size / 2**30, 4) == 1.3747
    time = transfer_seconds(**FREE, moved_bytes=size, seconds_per_byte=1 / (41.1230 * 2**30))
    assert time == pytest.approx(33.4281e-3, rel=1e-4)


def test_copies_are_moved():
    # Mooncake on H20: Qwen3-235B (4 KV heads) at TP8 moves 385 KB a token, 2 x 192.5 KB
    per_token = 94 * 4 * 2 * 128 * 2
    moved = moved_bytes(
        fetched_tokens=1, kv_bytes_per_token=per_token, kv_copies=2, fixed_bytes=0
    )  # fmt: skip
    assert per_token == pytest.approx(192.5e3, rel=1e-3)
    assert moved == pytest.approx(385e3, rel=1e-3)


def test_glm_5_3_hit():
    # the study measured 0.88 s: an 11% residual that no parameter is fitted to
    size = moved_bytes(
        fetched_tokens=16_000, kv_bytes_per_token=79 * 576 + 22 * 132, kv_copies=1, fixed_bytes=0
    )
    time = transfer_seconds(
        **{**FREE, "overhead_seconds": 0.33}, moved_bytes=size, seconds_per_byte=1 / 1.71e9
    )
    assert round(time, 4) == 0.7829
    (measured,) = facts.published("glm-5.3-remote-kv", quantity="load_time")
    assert 1 - time / measured.value == pytest.approx(0.11, abs=0.005)


def test_a_piece_of_memory_takes_forty_microseconds():
    # ai-dynamo/nixl issue 176: 1 GB in about 15,000 segments, 0.6 s in the call that posts them
    pieces = {**FREE, "descriptors": 15_000, "per_descriptor_seconds": 40e-6}
    assert transfer_seconds(**pieces, moved_bytes=0, seconds_per_byte=0) == pytest.approx(0.6)


def test_biting_the_bullet_transfers():
    rates = {
        "bite-the-bullet-hbm": 13.4e12, "bite-the-bullet-ram": 220e9,
        "bite-the-bullet-rdma": 200e9, "bite-the-bullet-nvme": 7e9,
    }  # fmt: skip
    published = {
        "bite-the-bullet-hbm": 2919.196118238119, "bite-the-bullet-ram": 47.927100448685536,
        "bite-the-bullet-rdma": 43.57009131698685, "bite-the-bullet-nvme": 1.52495319609454,
    }  # fmt: skip
    eight_thousand = {
        "bite-the-bullet-hbm": 0.00019562985074626865,
        "bite-the-bullet-ram": 0.011915636363636365,
        "bite-the-bullet-rdma": 0.0131072,
        "bite-the-bullet-nvme": 0.37449142857142857,
    }
    slope = 2 * 70.6e9 / (4 * 989e12 * 0.5)

    def time(tokens, rate):
        size = moved_bytes(
            fetched_tokens=tokens, kv_bytes_per_token=327_680, kv_copies=1, fixed_bytes=0
        )
        return transfer_seconds(**FREE, moved_bytes=size, seconds_per_byte=1 / rate)

    for tier, rate in rates.items():
        assert slope / time(1, rate) == pytest.approx(published[tier], rel=1e-14)
        assert time(8000, rate) == pytest.approx(eight_thousand[tier], rel=1e-14)
    for row in facts.published("bite-the-bullet", quantity="transfer_time"):
        tier = row.condition.removeprefix("tier=")
        assert time(row.tokens, rates[tier]) == pytest.approx(row.value, rel=1e-14)
    # the study prints 2.5 GiB for 8,000 tokens: a rounded figure
    size = moved_bytes(
        fetched_tokens=8000, kv_bytes_per_token=327_680, kv_copies=1, fixed_bytes=0
    )  # fmt: skip
    assert round(size / 2**30, 2) == 2.44


@pytest.mark.parametrize(
    ("shape", "rate", "published"),
    [
        # jwlaboratory/inference-sim: copying 65,536 tokens over the node's RDMA
        ((80, 8, 128, 2), 4 * 50e9, 0.107374), ((36, 8, 128, 2), 4 * 50e9, 0.048318),
        ((78, 1, 288, 0.5), 8 * 50e9, 0.003681), ((120, 8, 128, 1), 4 * 100e9, 0.040265),
    ],
)  # fmt: skip
def test_simulator_copies(shape, rate, published):
    layers, heads, width, element = shape
    size = moved_bytes(
        fetched_tokens=65_536, kv_bytes_per_token=layers * heads * 2 * width * element,
        kv_copies=1, fixed_bytes=0,
    )  # fmt: skip
    time = transfer_seconds(**FREE, moved_bytes=size, seconds_per_byte=1 / rate)
    assert round(time, 6) == published


WIDE = {
    "client_bandwidth": math.inf, "ranks": 1, "rank_balance": 1, "link_bandwidth": math.inf,
    "store_bandwidth": math.inf, "shards": 1, "shard_efficiency": 1, "active_engines": 1,
}  # fmt: skip


def test_shards_of_valkey():
    # GLM-5.3 study: 1.71 GB/s from one instance, 10.76 GB/s from eight, "6.3 times"
    share = 6.3 / 8
    eight = {**WIDE, "store_bandwidth": 1.71e9, "shards": 8, "shard_efficiency": share}
    assert bandwidth(**eight) == pytest.approx(10.76e9, rel=2e-3)
    exponent = scaling_exponent(measured_shards=8, measured_speedup=6.3)
    assert shard_efficiency(shards=8, scaling_exponent=exponent) == pytest.approx(share)
    assert shard_efficiency(shards=1, scaling_exponent=exponent) == 1
    assert math.isnan(scaling_exponent(measured_shards=1, measured_speedup=1))


def test_slowest_rank_decides():
    # eight ranks of one engine at 0.89 to 0.98 GB/s each, 7.5 GB/s together: the slowest needs
    # the time of 8 x 0.89 GB/s
    mean = 7.5e9 / 8
    ranks = {**WIDE, "client_bandwidth": mean, "ranks": 8}
    assert bandwidth(**ranks) == 7.5e9
    spread = bandwidth(**{**ranks, "rank_balance": 0.89e9 / mean})
    assert spread == pytest.approx(8 * 0.89e9)


def test_engines_share_the_store():
    # L. Kleinrock 1967: processor sharing gives each of N jobs a rate of 1/N
    one = {**WIDE, "store_bandwidth": 10e9, "client_bandwidth": 3e9}
    assert bandwidth(**one) == 3e9
    assert bandwidth(**{**one, "active_engines": 5}) == 2e9


def test_compression():
    # CacheGen's published example: 25,000 tokens over 5 Gb/s in 1.45 s. At 131,072 bytes a token
    # (8B models with 8 KV heads) that is 3.6 times smaller, inside the paper's 3.5 to 4.3
    size, rate = 25_000 * 131_072, 5e9 / 8
    free = {"encode_rate": math.inf, "decode_rate": math.inf}
    times = [
        size * seconds_per_byte(bandwidth=rate, compression_ratio=ratio, **free)
        for ratio in (4.3, 3.5)
    ]
    assert times[0] < 1.45 < times[1]
    plain = seconds_per_byte(bandwidth=rate, compression_ratio=1, **free)
    assert plain == 1 / rate


@given(
    rate=st.floats(1e8, 1e12),
    ratio=st.floats(1, 8),
    encode=st.floats(1e9, 1e12),
    decode=st.floats(1e9, 1e12),
)
def test_pipelining_helps_by_at_most_three(rate, ratio, encode, decode):
    way = {
        "bandwidth": rate, "compression_ratio": ratio, "encode_rate": encode, "decode_rate": decode
    }  # fmt: skip
    serial, piped = seconds_per_byte(**way), pipelined_seconds_per_byte(**way)
    assert piped <= serial <= 3 * piped * (1 + 1e-12)
    # pieces through three stages: a simulation of many of them tends to the closed form
    ends = np.zeros(3)
    stages = (1 / encode, 1 / (ratio * rate), 1 / decode)
    pieces = 2000
    for _ in range(pieces):
        done = 0.0
        for stage, time in enumerate(stages):
            done = ends[stage] = max(done, ends[stage]) + time / pieces
    assert piped <= ends[2] * (1 + 1e-9)
    assert ends[2] == pytest.approx(piped, rel=3 / pieces)


@given(
    load=st.floats(0, 10), compute=st.floats(0, 10), layers=st.integers(1, 100)
)  # fmt: skip
def test_overlap_is_a_flow_shop(load, compute, layers):
    loaded = computed = 0.0
    for _ in range(layers):
        loaded += load / layers
        computed = max(loaded, computed) + compute / layers
    closed = layerwise_seconds(load_seconds=load, suffix_seconds=compute, layers=layers)
    assert closed == pytest.approx(computed, abs=1e-9)
    assert max(load, compute) <= closed <= load + compute + 1e-12


def test_overlap_of_equal_parts_is_gpipes_bubble():
    # GPipe (arXiv 1811.06965): (K - 1) / (M + K - 1) of the time is idle; two stages, 80 layers
    done = layerwise_seconds(load_seconds=1.0, suffix_seconds=1.0, layers=80)
    assert 1 - 1 / done == pytest.approx(1 / (80 + 2 - 1))
