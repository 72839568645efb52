"""What holds of every model's sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kvcost.errors import InvalidValueError
from kvcost.facts import Provenance
from kvcost.model.size import kv_bytes_per_token, kv_size
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

layers = st.integers(1, 128)
blocks = st.integers(1, 16).map(lambda n: 32 * n)


def _attention(layers, kv_heads, k, v, window):
    kind = None if window is None else "sliding"
    return AttentionLayers(
        layers=layers,
        kv_heads=kv_heads,
        head_dim_k=k,
        head_dim_v=v,
        window=window,
        window_kind=kind,
    )


groups = st.one_of(
    st.builds(
        _attention,
        layers,
        st.integers(1, 64),
        blocks,
        blocks,
        st.none() | st.integers(1, 100_000),
    ),
    st.builds(LatentLayers, layers=layers, kv_lora_rank=blocks, rope_dim=blocks),
    st.builds(
        IndexLayers,
        layers=layers,
        head_dim=blocks,
        tokens_per_entry=st.integers(1, 16),
        storage=st.sampled_from(["fp8_record", "bf16"]),
    ),
    st.builds(
        CompressedLayers,
        layers=layers,
        entry_dim=st.just(512),
        rope_dim=st.just(64),
        ratio=st.integers(1, 256),
    ),
    st.builds(
        WindowedLatentLayers,
        layers=layers,
        entry_dim=st.just(512),
        rope_dim=st.just(64),
        window=st.integers(1, 1000),
    ),
    st.builds(
        RecurrentLayers,
        layers=layers,
        state_elements=st.integers(0, 10**7),
        conv_elements=st.integers(0, 10**6),
    ),
    st.builds(
        CrossAttentionLayers,
        layers=layers,
        kv_heads=st.integers(1, 32),
        head_dim_k=blocks,
        head_dim_v=blocks,
        source_tokens=st.integers(0, 5000),
    ),
)
models = st.builds(
    lambda groups, mtp: ModelSpec(
        name="drawn",
        architecture="drawn",
        groups=tuple(groups),
        mtp_groups=tuple(mtp),
        total_layers=128,
        provenance=Provenance.ASSUMED,
    ),
    st.lists(groups, min_size=1, max_size=5),
    st.lists(groups, max_size=2),
)
dtypes = st.sampled_from(["fp32", "bf16", "fp16", "fp8", "int8", "nvfp4", "mxfp4"])
lengths = st.integers(0, 10**6)


@given(models, dtypes, lengths, lengths)
def test_longer_requests_keep_no_less(spec, dtype, one, other):
    size = kv_size(spec, kv_dtype=dtype)
    short, long = sorted((one, other))
    assert size.at(short) <= size.at(long)


@given(models, dtypes, lengths)
def test_a_request_keeps_at_most_its_growth_and_its_fixed_part(spec, dtype, tokens):
    size = kv_size(spec, kv_dtype=dtype, tokens=tokens)
    full = size.bytes_per_token * tokens + size.fixed_bytes_per_request
    assert size.bytes_at_tokens <= full or math.isclose(size.bytes_at_tokens, full)
    longest = max((part.window for part in size.parts if part.window), default=0)
    if tokens >= longest:
        assert math.isclose(size.bytes_at_tokens, full)


@given(models, dtypes, st.lists(lengths, min_size=1, max_size=5))
def test_arrays_are_loops(spec, dtype, tokens):
    size = kv_size(spec, kv_dtype=dtype)
    at = [kv_size(spec, kv_dtype=dtype, tokens=n).bytes_at_tokens for n in tokens]
    np.testing.assert_allclose(size.at(np.array(tokens)), at, rtol=1e-15)


@given(models, dtypes)
def test_sizes_are_the_sums_of_their_parts(spec, dtype):
    size = kv_size(spec, kv_dtype=dtype, mtp=True)
    parts = [kv_size(_alone(spec, group), kv_dtype=dtype) for group in spec.groups]
    parts += [kv_size(_alone(spec, group), kv_dtype=dtype) for group in spec.mtp_groups]
    assert math.isclose(size.bytes_per_token, sum(p.bytes_per_token for p in parts))
    assert math.isclose(size.fixed_bytes_per_request, sum(p.fixed_bytes_per_request for p in parts))
    assert kv_size(spec, kv_dtype=dtype).bytes_per_token <= size.bytes_per_token
    assert kv_bytes_per_token(spec, kv_dtype=dtype, mtp=True) == size.bytes_per_token


def _alone(spec, group):
    return ModelSpec(
        name="alone",
        architecture="drawn",
        groups=(group,),
        total_layers=spec.total_layers,
        provenance=spec.provenance,
    )


@given(models, st.integers(0, 6).map(lambda n: 2**n), st.sampled_from(["refuse", "pad"]))
def test_ranks_hold_at_least_one_copy(spec, tp, uneven):
    if uneven == "refuse":
        assume(all(_fits(group, tp) for group in spec.groups))
    size = kv_size(spec, tp=tp, uneven_heads=uneven)
    assert size.copies >= 1 - 1e-12
    assert size.per_rank <= size.bytes_per_token
    if size.bytes_per_token:
        assert math.isclose(size.copies, size.per_rank * tp / size.bytes_per_token)
        assert size.per_rank > 0


def _fits(group, tp):
    heads = getattr(group, "kv_heads", 1)
    return heads % tp == 0 or tp % heads == 0


@given(models, st.integers(2, 64))
def test_heads_are_refused_exactly_where_they_do_not_fit(spec, tp):
    if all(_fits(group, tp) for group in spec.groups):
        kv_size(spec, tp=tp)
    else:
        with pytest.raises(InvalidValueError, match="does not divide"):
            kv_size(spec, tp=tp)


@given(models, st.integers(1, 16))
def test_the_largest_stage_is_no_smaller_than_the_mean(spec, pp):
    size = kv_size(spec, pp=pp)
    assert size.per_rank >= size.bytes_per_token / pp * (1 - 1e-12)
    assert size.per_rank <= size.bytes_per_token * (1 + 1e-12)


@given(models)
def test_vllm_reserves_no_less_than_it_stores(spec):
    assume(not any(isinstance(group, LatentLayers) for group in spec.groups))
    size = kv_size(spec, layout="vllm")
    if size.reserved_bytes_per_token is not None:
        assert size.reserved_bytes_per_token >= size.bytes_per_token * (1 - 1e-12)


@given(models, st.integers(1, 10**6), st.integers(1, 1024))
def test_chunks_round_down_and_blocks_up(spec, tokens, step):
    exact = kv_size(spec, tokens=tokens).bytes_at_tokens
    assert kv_size(spec, tokens=tokens, chunk_tokens=step).bytes_at_tokens <= exact
    assert kv_size(spec, tokens=tokens, block_tokens=step).bytes_at_tokens >= exact
