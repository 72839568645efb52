"""Transfer paths and hits."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcost.compute import PrefillCurve
from kvcost.errors import InvalidValueError, MissingFactError, UnitError
from kvcost.facts import Provenance
from kvcost.transfer import TransferPath, hit_time

GLM = {"kv_bytes_per_token": 48_408}
PREFILL = PrefillCurve.from_points({16_000: 0.31})
VALKEY = TransferPath(overhead_seconds=0.33, store_bandwidth="1.71 GB/s")


def test_glm_5_3():
    assert round(VALKEY.seconds(16_000, **GLM), 4) == 0.7829
    assert VALKEY.bandwidth == 1.71e9
    assert VALKEY.limits == ("store",)
    assert VALKEY.fixed_seconds() == 0.33
    eight = dataclasses.replace(VALKEY, shards=8, shard_efficiency="78.75%")
    assert eight.bandwidth == pytest.approx(10.76e9, rel=2e-3)


def test_left_out_names_what_is_not_charged():
    assert VALKEY.left_out == (
        "lookup", "limit of the client", "limit of the link", "other engines at the store",
        "rounding to chunks", "cost per key", "cost per descriptor", "waiting in queues",
    )  # fmt: skip
    full = TransferPath(
        lookup_seconds=0.001, overhead_seconds=0.1, client_bandwidth=2e9, link_bandwidth=25e9,
        store_bandwidth=5e9, shards=4, shard_efficiency=0.9, active_engines=3, ranks=8,
        rank_balance=0.95, copies=8, chunk_tokens=256, keys_per_chunk=2, per_key_seconds=50e-6,
        descriptors_per_token=1.5, per_descriptor_seconds=1e-6, compression_ratio=3,
        encode_rate=50e9, decode_rate=20e9,
    )  # fmt: skip
    assert full.left_out == ("waiting in queues",)
    coded = TransferPath(link_bandwidth=1e9, compression_ratio=2)
    assert {"encoding", "decoding"} <= set(coded.left_out)
    ranks = TransferPath(client_bandwidth=1e9, ranks=8)
    assert "spread between ranks" in ranks.left_out


def test_every_term_is_in_the_time():
    full = TransferPath(
        lookup_seconds="2 ms", overhead_seconds=0.1, client_bandwidth=2e9, link_bandwidth=25e9,
        store_bandwidth=5e9, shards=4, shard_efficiency=0.9, active_engines=3, ranks=8,
        rank_balance=0.95, copies=8, chunk_tokens=256, keys_per_chunk=2, per_key_seconds=50e-6,
        descriptors_per_token=1.5, per_descriptor_seconds=1e-6, compression_ratio=3,
        decode_rate=20e9,
    )  # fmt: skip
    assert full.bandwidth == min(2e9 * 8 * 0.95, 25e9, 5e9 * 4 * 0.9 / 3)
    per_byte = 1 / (3 * full.bandwidth) + 1 / 20e9
    by_hand = 0.102 + 4 * 2 * 50e-6 + 1.5 * 1000 * 1e-6 + (8 * 1000 * 576 + 5e6) * per_byte
    found = full.seconds(1000, kv_bytes_per_token=576, fixed_bytes=5e6)
    assert found == pytest.approx(by_hand)


def test_limits():
    path = TransferPath(client_bandwidth=1e9, link_bandwidth=8e9, store_bandwidth=8e9, ranks=8)
    assert path.limits == ("client", "link", "store")
    slow = TransferPath(
        link_bandwidth=8e9, compression_ratio=4, decode_rate=10e9, encode_rate=1e12, pipelined=True
    )
    assert slow.limits == ("decoder",)
    assert slow.seconds(1e6, kv_bytes_per_token=1e4) == pytest.approx(1.0)
    assert slow.effective_bandwidth(kv_bytes_per_token=1e4) == pytest.approx(10e9)


paths = st.builds(
    TransferPath,
    overhead_seconds=st.just(0.0) | st.floats(1e-6, 2),
    link_bandwidth=st.floats(1e8, 1e12),
    copies=st.floats(1, 8),
    chunk_tokens=st.none() | st.integers(1, 512),
    compression_ratio=st.floats(1, 4),
    decode_rate=st.none() | st.floats(1e9, 1e11),
    pipelined=st.booleans(),
)


@given(path=paths, tokens=st.integers(0, 10**6), size=st.floats(1e3, 1e6), fixed=st.floats(0, 1e9))
def test_time_is_affine_without_keys(path, tokens, size, fixed):
    direct = path.seconds(tokens, kv_bytes_per_token=size, fixed_bytes=fixed)
    affine = path.fixed_seconds(fixed_bytes=fixed) + tokens * path.seconds_per_token(
        kv_bytes_per_token=size
    )
    assert direct == pytest.approx(affine, rel=1e-12)
    rate = path.effective_bandwidth(kv_bytes_per_token=size)
    assert size / rate == pytest.approx(path.seconds_per_token(kv_bytes_per_token=size))


@given(chunks=st.integers(0, 1000), chunk=st.integers(1, 512), keys=st.integers(1, 8))
def test_affine_for_whole_chunks_with_keys(chunks, chunk, keys):
    path = TransferPath(
        link_bandwidth=1e9, chunk_tokens=chunk, keys_per_chunk=keys, per_key_seconds=1e-4
    )
    direct = path.seconds(chunks * chunk, **GLM)
    affine = path.fixed_seconds() + chunks * chunk * path.seconds_per_token(**GLM)
    assert direct == pytest.approx(affine, rel=1e-9)


@given(engines=st.integers(1, 64), ranks=st.integers(1, 16), shards=st.integers(2, 16))
def test_more_engines_never_help_and_more_shards_never_hurt(engines, ranks, shards):
    given_path = {
        "client_bandwidth": 1e9, "ranks": ranks, "store_bandwidth": 2e9, "shards": shards,
        "shard_efficiency": 1, "active_engines": engines,
    }  # fmt: skip
    path = TransferPath(**given_path)
    assert TransferPath(**{**given_path, "active_engines": engines + 1}).bandwidth <= path.bandwidth
    assert TransferPath(**{**given_path, "shards": shards + 1}).bandwidth >= path.bandwidth


def test_arrays():
    tokens = np.array([0, 1000, 16_000])
    times = VALKEY.seconds(tokens, **GLM)
    assert times == pytest.approx([VALKEY.seconds(int(n), **GLM) for n in tokens])
    grid = VALKEY.seconds(tokens, kv_bytes_per_token=np.array([[1000], [48_408]]))
    assert grid.shape == (2, 3)
    assert type(VALKEY.seconds(16_000, **GLM)) is float


@pytest.mark.parametrize(
    ("given_fields", "kind", "words"),
    [
        ({}, MissingFactError, "every bandwidth"),
        ({"overhead_seconds": 0.1}, MissingFactError, "link_bandwidth"),
        ({"store_bandwidth": 1e9, "shards": 8}, MissingFactError, "shard_efficiency"),
        (
            {"link_bandwidth": 1e9, "shards": 8, "shard_efficiency": 1},
            MissingFactError,
            "store_bandwidth",
        ),
        (
            {"store_bandwidth": 1e9, "shard_efficiency": 0.8},
            InvalidValueError,
            "must be 1 for one shard",
        ),
        ({"link_bandwidth": 1e9, "per_key_seconds": 1e-4}, MissingFactError, "chunk_tokens"),
        (
            {"link_bandwidth": 1e9, "per_descriptor_seconds": 1e-6},
            InvalidValueError,
            "descriptors_per_token",
        ),
        ({"link_bandwidth": "1.71"}, UnitError, "link_bandwidth"),
        ({"link_bandwidth": 0}, InvalidValueError, "link_bandwidth"),
        ({"link_bandwidth": -1e9}, InvalidValueError, "link_bandwidth"),
        ({"link_bandwidth": math.inf}, InvalidValueError, "link_bandwidth"),
        ({"link_bandwidth": math.nan}, InvalidValueError, "link_bandwidth"),
        ({"link_bandwidth": 1e30}, InvalidValueError, "link_bandwidth"),
        ({"link_bandwidth": 1e9, "overhead_seconds": -1}, InvalidValueError, "overhead_seconds"),
        ({"link_bandwidth": 1e9, "overhead_seconds": 1e7}, InvalidValueError, "overhead_seconds"),
        ({"link_bandwidth": 1e9, "ranks": 0}, InvalidValueError, "ranks"),
        ({"link_bandwidth": 1e9, "ranks": 1.5}, InvalidValueError, "ranks"),
        ({"link_bandwidth": 1e9, "rank_balance": 1.1}, InvalidValueError, "rank_balance"),
        ({"link_bandwidth": 1e9, "copies": 0.5}, InvalidValueError, "copies"),
        ({"link_bandwidth": 1e9, "copies": True}, InvalidValueError, "copies"),
        ({"link_bandwidth": 1e9, "compression_ratio": 0}, InvalidValueError, "compression_ratio"),
        ({"link_bandwidth": 1e9, "chunk_tokens": 0}, InvalidValueError, "chunk_tokens"),
        ({"link_bandwidth": 1e9, "pipelined": "yes"}, InvalidValueError, "pipelined"),
    ],
)
def test_bad_paths(given_fields, kind, words):
    with pytest.raises(kind, match=words):
        TransferPath(**given_fields)


@pytest.mark.parametrize("tokens", [-1, math.nan, math.inf, True, "16k", [1, -1], None])
def test_bad_tokens(tokens):
    with pytest.raises(InvalidValueError, match="tokens"):
        VALKEY.seconds(tokens, **GLM)


# Hits


def test_pure_hit_without_rounding_is_the_transfer():
    hit = hit_time(
        path=VALKEY, prefill=PREFILL, tokens=16_000, recompute_last_token=False, **GLM
    )  # fmt: skip
    assert hit.seconds == VALKEY.seconds(16_000, **GLM)
    assert (hit.suffix_tokens, hit.suffix_seconds, hit.fetched_tokens) == (0, 0, 16_000)
    real = hit_time(path=VALKEY, prefill=PREFILL, tokens=16_000, **GLM)
    assert real.suffix_tokens == 1
    assert real.suffix_seconds == pytest.approx(19.375e-6)
    assert "last token" in real.method
    assert real.provenance is Provenance.ASSUMED


def test_partly_local_hit():
    # LMCache issue 2263: 288 held, 512 in the store: 256 fetched for 224 gained
    path = dataclasses.replace(VALKEY, chunk_tokens=256)
    hit = hit_time(
        path=path, prefill=PREFILL, tokens=600, hit_tokens=512, local_tokens=288, **GLM
    )  # fmt: skip
    assert (hit.fetched_tokens, hit.gained_tokens, hit.suffix_tokens) == (256, 224, 88)
    assert hit.load_seconds == path.seconds(256, **GLM)
    assert hit.suffix_seconds == PREFILL.seconds(88, cached_tokens=512)


def test_nothing_gained_costs_the_lookup_alone():
    path = dataclasses.replace(VALKEY, chunk_tokens=256, lookup_seconds=0.002)
    for held, local in [(0, 0), (200, 0), (512, 512), (512, 590)]:
        hit = hit_time(
            path=path, prefill=PREFILL, tokens=600, hit_tokens=held, local_tokens=local,
            fixed_bytes=1e9, overlap_layers=10, **GLM,
        )  # fmt: skip
        assert (hit.load_seconds, hit.fetched_tokens) == (0.002, 0)
        computed = PREFILL.seconds(600 - local, cached_tokens=local)
        assert hit.seconds == pytest.approx(0.002 + computed)


def test_state_is_fetched_with_every_hit():
    plain = hit_time(path=VALKEY, prefill=PREFILL, tokens=16_000, **GLM)
    state = hit_time(path=VALKEY, prefill=PREFILL, tokens=16_000, fixed_bytes=1.71e9, **GLM)
    assert state.seconds - plain.seconds == pytest.approx(1.0)


def test_overlap():
    asked = {
        "path": VALKEY, "prefill": PREFILL, "tokens": 32_000, "hit_tokens": 16_000, **GLM
    }  # fmt: skip
    apart = hit_time(**asked)
    together = hit_time(**asked, overlap_layers=80)
    stream = apart.load_seconds - 0.33
    longer, shorter = max(stream, apart.suffix_seconds), min(stream, apart.suffix_seconds)
    assert together.seconds == pytest.approx(0.33 + longer + shorter / 80)
    assert hit_time(**asked, overlap_layers=1).seconds == pytest.approx(apart.seconds)


@given(
    tokens=st.integers(1, 50_000),
    hit=st.integers(0, 60_000),
    local=st.integers(0, 60_000),
    chunk=st.none() | st.integers(1, 512),
    layers=st.none() | st.integers(1, 100),
)
def test_hits_account_for_every_token(tokens, hit, local, chunk, layers):
    path = dataclasses.replace(VALKEY, chunk_tokens=chunk)
    found = hit_time(
        path=path, prefill=PREFILL, tokens=tokens, hit_tokens=hit, local_tokens=local,
        overlap_layers=layers, **GLM,
    )  # fmt: skip
    kept = min(local, tokens - 1)
    assert found.suffix_tokens + found.gained_tokens + kept == tokens
    assert found.suffix_tokens >= 1
    assert max(found.load_seconds, found.suffix_seconds) <= found.seconds * (1 + 1e-12)
    assert found.seconds <= (found.load_seconds + found.suffix_seconds) * (1 + 1e-12)


def test_hits_broadcast():
    tokens = np.array([1000, 16_000, 64_000])
    found = hit_time(path=VALKEY, prefill=PREFILL, tokens=tokens, hit_tokens=16_000, **GLM)
    alone = [
        hit_time(path=VALKEY, prefill=PREFILL, tokens=int(n), hit_tokens=16_000, **GLM).seconds
        for n in tokens
    ]
    assert found.seconds == pytest.approx(alone)


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": 0}, {"tokens": -5}, {"tokens": math.nan}, {"hit_tokens": -1},
        {"local_tokens": -1}, {"fixed_bytes": -1}, {"kv_bytes_per_token": -1},
        {"overlap_layers": 0}, {"recompute_last_token": 1},
    ],
)  # fmt: skip
def test_bad_hits(change):
    asked = {"path": VALKEY, "prefill": PREFILL, "tokens": 16_000, **GLM, **change}
    with pytest.raises(InvalidValueError):
        hit_time(**asked)
