"""Computing and loading at once, against every way to split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvcost as kv
from kvcost.compute import PrefillCurve
from kvcost.transfer import TransferPath


def between(low, high):
    return st.floats(low, high)


def maybe(low, high):
    return st.just(0.0) | between(low, high)


prefills = st.builds(
    PrefillCurve,
    constant=between(-0.02, 0.2),
    per_token=between(1e-6, 1e-4),
    per_token_squared=maybe(1e-11, 1e-8),
    floor=maybe(1e-6, 0.2),
)
paths = st.builds(
    TransferPath,
    overhead_seconds=maybe(1e-6, 0.5),
    store_bandwidth=between(1e8, 1e11),
)


@given(prefills, paths, st.integers(1, 5_000), between(1e3, 4e5))
def test_no_split_is_faster(prefill, path, tokens, size):
    split = kv.breakeven.two_ended_split(
        prefill, path, tokens=tokens, kv_bytes_per_token=size, fixed_bytes_per_request=0
    )
    computed = np.arange(0, tokens + 1, dtype=float)
    computing = prefill.seconds(computed)
    loading = path.seconds(tokens - computed, kv_bytes_per_token=size)
    loading[-1] = 0.0  # nothing is loaded, so nothing is asked for
    best = float(np.maximum(computing, loading).min())
    step = float(path.seconds_per_token(kv_bytes_per_token=size))
    assert split.seconds <= best * (1 + 1e-9)
    # a split between two whole tokens saves at most the time that one of them loads
    assert split.seconds >= best - step - 1e-12
    assert split.computed_tokens + split.loaded_tokens == tokens
    assert 0 <= split.computed_tokens <= tokens
    assert split.speedup >= 1 - 1e-9


def test_even_rates_add_up():
    # rates of 1/20 and 1/30 of the prompt a second: both together take 12 s
    assert kv.breakeven.ideal_split_seconds(recompute_seconds=20, hit_seconds=30) == pytest.approx(
        12
    )
    split = kv.breakeven.two_ended_split(
        PrefillCurve(constant=0, per_token=20e-3, per_token_squared=0, floor=0),
        TransferPath(store_bandwidth=1e6),
        tokens=1_000,
        kv_bytes_per_token=30e3,
        fixed_bytes_per_request=0,
    )
    assert split.seconds == pytest.approx(12)
    assert split.computed_tokens == pytest.approx(600)
    assert split.speedup == pytest.approx(20 / 12)


def test_glm_5_3_split():
    split = kv.breakeven.two_ended_split(
        PrefillCurve.from_points({16_000: 0.31}),
        TransferPath(overhead_seconds=0.33, store_bandwidth="1.71 GB/s"),
        tokens=16_000,
        kv_bytes_per_token=48_408,
        fixed_bytes_per_request=0,
    )
    # all is computed before the first byte arrives
    assert (split.computed_tokens, split.loaded_tokens) == (16_000, 0)
    assert split.seconds == split.recompute_seconds == pytest.approx(0.31)
    assert split.as_dict()["speedup"] == 1
