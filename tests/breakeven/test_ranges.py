"""Ranges and roots against every whole length, and closed forms against numeric roots."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq

import kvcost as kv
from kvcost.breakeven.ranges import whole_ranges, winning_ranges
from kvcost.compute import PrefillCurve
from kvcost.errors import InvalidValueError
from kvcost.formula import get
from kvcost.transfer import TransferPath

LENGTHS = np.arange(1, 20_001, dtype=float)


def between(low, high):
    return st.floats(low, high)


def maybe(low, high):
    return st.just(0.0) | between(low, high)


curves = st.builds(
    lambda slopes, **rest: PrefillCurve(per_token=slopes[0], per_token_squared=slopes[1], **rest),
    slopes=st.tuples(between(1e-6, 1e-4), maybe(1e-10, 1e-8))
    | st.tuples(st.just(0.0), between(1e-10, 1e-8)),
    constant=between(-0.05, 0.3),
    floor=maybe(0.001, 0.3),
)
paths = st.builds(
    TransferPath,
    lookup_seconds=maybe(1e-6, 0.01),
    overhead_seconds=maybe(1e-6, 0.4),
    store_bandwidth=between(1e8, 1e11),
    copies=st.sampled_from([1.0, 8.0]),
)
sizes = st.fixed_dictionaries(
    {
        "kv_bytes_per_token": between(1e3, 4e5),
        "fixed_bytes_per_request": maybe(1e3, 1e8),
    }
)


def inside(ranges, lengths):
    wins = np.zeros(len(lengths), dtype=bool)
    for start, end in ranges:
        wins |= (lengths > start) & (lengths < (math.inf if end is None else end))
    return wins


def clear(recompute, hit):
    """Leave out lengths where rounding decides."""
    return np.abs(recompute - hit) > 1e-9 * np.maximum(recompute, hit)


@given(curves, paths, sizes)
def test_ranges_are_the_winning_lengths(prefill, path, size):
    ranges = kv.breakeven.fetch_ranges(prefill, path, **size)
    recompute = prefill.seconds(LENGTHS)
    hit = path.seconds(
        LENGTHS,
        kv_bytes_per_token=size["kv_bytes_per_token"],
        fixed_bytes=size["fixed_bytes_per_request"],
    )
    sure = clear(recompute, hit)
    np.testing.assert_array_equal(inside(ranges, LENGTHS)[sure], (hit < recompute)[sure])
    assert list(ranges) == sorted(ranges, key=lambda each: each[0])
    assert all(start >= 0 and (end is None or start < end) for start, end in ranges)
    assert all(end is not None for _, end in ranges[:-1])


@given(curves, paths, sizes)
def test_formula_and_ranges_agree(prefill, path, size):
    first = kv.breakeven.first_winning_tokens(kv.breakeven.fetch_ranges(prefill, path, **size))
    formula = kv.breakeven.break_even_tokens(
        prefill_constant=prefill.constant,
        prefill_per_token=prefill.per_token,
        prefill_per_token_squared=prefill.per_token_squared,
        prefill_floor=prefill.floor,
        overhead_seconds=path.fixed_seconds(fixed_bytes=size["fixed_bytes_per_request"]),
        kv_bytes_per_token=size["kv_bytes_per_token"],
        bandwidth=path.effective_bandwidth(kv_bytes_per_token=size["kv_bytes_per_token"]),
    )
    if first is None:
        assert math.isnan(formula) or formula < 1
    elif first == 0:
        assert formula < 1
    elif formula >= 1:
        assert formula == pytest.approx(first, rel=1e-9)


COSTS = {
    "prefill_constant": 0.02,
    "prefill_per_token": 20e-6,
    "prefill_per_token_squared": 0.3e-9,
    "prefill_floor": 0.03,
    "overhead_seconds": 0.3,
    "kv_bytes_per_token": 50_000,
    "bandwidth": 2e9,
}


def without(*names):
    return {name: value for name, value in COSTS.items() if name not in names}


@given(between(1e8, 1e11), between(0.05, 2), maybe(1e-11, 1e-8))
def test_length_is_a_numeric_root(bandwidth, overhead, bend):
    costs = COSTS | {
        "bandwidth": bandwidth,
        "overhead_seconds": overhead,
        "prefill_per_token_squared": bend,
    }
    closed = kv.breakeven.break_even_tokens(**costs)

    def gain(n):
        prefill = 0.02 + 20e-6 * n + bend * n**2
        return prefill - overhead - n * 50_000 / bandwidth

    if math.isnan(closed):
        assert gain(1e12) < 0
    else:
        assume(closed < 1e11)
        assert closed == pytest.approx(brentq(gain, 0, 1e12, rtol=1e-14), rel=1e-8)


@pytest.mark.parametrize("name", ["overhead_seconds", "bandwidth", "kv_bytes_per_token"])
def test_inverse_of_the_length(name):
    length = kv.breakeven.break_even_tokens(**COSTS)
    roots = get("break_even_tokens").inverse(name)(result=length, **without(name))
    assert roots[-1] == pytest.approx(COSTS[name], rel=1e-9)


@pytest.mark.parametrize(
    ("formula", "name", "point"),
    [
        (
            "break_even_bandwidth", "overhead_seconds",
            {"tokens": 40_000, "kv_bytes_per_token": 48_408, "recompute_seconds": 0.775,
             "overhead_seconds": 0.33},
        ),
        (
            "break_even_overhead", "bandwidth",
            {"tokens": 16_000, "kv_bytes_per_token": 48_408, "recompute_seconds": 0.31,
             "bandwidth": 10.76e9},
        ),
        (
            "break_even_bandwidth_without_overhead", "kv_bytes_per_token",
            {"tokens": 16_000, "kv_bytes_per_token": 48_408, "recompute_seconds": 0.31},
        ),
        (
            "implied_kv_bytes_per_token", "bandwidth",
            {"tokens": 16_000, "load_seconds": 0.31, "bandwidth": 2.53e9},
        ),
        (
            "floor_window_tokens", "overhead_seconds",
            {"prefill_floor": 0.05, "overhead_seconds": 0.03, "kv_bytes_per_token": 1e5,
             "bandwidth": 1e9},
        ),
        ("margin", "hit_seconds", {"recompute_seconds": 12.0, "hit_seconds": 7.6}),
    ],
)  # fmt: skip
def test_inverses(formula, name, point):
    made = get(formula)
    others = {key: value for key, value in point.items() if key != name}
    assert made.inverse(name)(result=made(**point), **others) == (
        pytest.approx(point[name], rel=1e-9),
    )


def test_bandwidth_and_overhead_invert_each_other():
    point = {"tokens": 40_000, "kv_bytes_per_token": 48_408, "recompute_seconds": 0.775}
    rate = kv.breakeven.break_even_bandwidth(**point, overhead_seconds=0.33)
    assert kv.breakeven.break_even_overhead(**point, bandwidth=rate) == pytest.approx(0.33)


def test_formulas_broadcast():
    grid = kv.breakeven.break_even_tokens(
        **without("bandwidth", "overhead_seconds"),
        bandwidth=np.array([[1e9], [1e10]]),
        overhead_seconds=np.array([0.01, 0.1, 1.0]),
    )
    assert grid.shape == (2, 3)
    assert (grid[:, 0] == 0).all()
    assert grid[1, 2] == kv.breakeven.break_even_tokens(
        **without("bandwidth", "overhead_seconds"), bandwidth=1e10, overhead_seconds=1.0
    )


def test_quadratic_roots_without_cancellation():
    # a tiny bend must not lose the root of the line
    line = kv.breakeven.crossing_high_tokens(
        **without("prefill_floor", "prefill_per_token_squared", "bandwidth"),
        prefill_per_token_squared=0.0,
        bandwidth=1e10,
    )
    bent = kv.breakeven.crossing_high_tokens(
        **without("prefill_floor", "prefill_per_token_squared", "bandwidth"),
        prefill_per_token_squared=1e-24,
        bandwidth=1e10,
    )
    assert bent == pytest.approx(line, rel=1e-12)


WORDS = {
    "never": {"fetch_seconds_per_token": 1e-3, "fixed_seconds": 0.5, "per_token_squared": 0},
    "always": {"fetch_seconds_per_token": 1e-6, "fixed_seconds": 0.01},
    "from 28,001 tokens": {"fetch_seconds_per_token": 1e-5, "fixed_seconds": 1.064},
    "up to 999 tokens": {
        "fetch_seconds_per_token": 1e-4, "fixed_seconds": 0.02, "constant": 0.1,
        "per_token_squared": 0,
    },
    "up to 200 tokens and from 90,222 tokens": {
        "fetch_seconds_per_token": 1e-4, "fixed_seconds": 0.03, "constant": 0.01, "floor": 0.05,
        "per_token": 1e-5,
    },
}  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_words(words):
    curve = {"constant": 0.0, "per_token": 2e-5, "per_token_squared": 1e-9, "floor": 0.0}
    if words == "always":
        curve["constant"] = 0.02
    ranges = winning_ranges(**(curve | WORDS[words]))
    assert kv.breakeven.describe_ranges(ranges) == words


def test_words_of_windows():
    assert kv.breakeven.describe_ranges(((300.0, 5_000.0),)) == (
        "only between 301 tokens and 4,999 tokens"
    )


def test_a_range_without_a_whole_length_is_none():
    assert whole_ranges(((0.0, 0.9),)) == ()
    assert whole_ranges(((0.0, 1.5),)) == ((0.0, 1.5),)
    assert whole_ranges(((0.4, None),)) == ((0.0, None),)
    assert whole_ranges(((7.0, 8.0), (8.0, 9.5))) == ((8.0, 9.5),)


# Parts of a prompt, chunks, the last token


@given(curves, paths, sizes, st.integers(2, 20_000))
def test_partial_hits_are_the_winning_parts(prefill, path, size, tokens):
    ranges = kv.breakeven.partial_hit_ranges(prefill, path, tokens=tokens, **size)
    stored = np.arange(1, tokens, dtype=float)
    hit = path.seconds(
        stored,
        kv_bytes_per_token=size["kv_bytes_per_token"],
        fixed_bytes=size["fixed_bytes_per_request"],
    ) + prefill.seconds(tokens - stored, cached_tokens=stored)
    recompute = prefill.seconds(tokens)
    assume(recompute > 0)
    sure = clear(recompute, hit)
    np.testing.assert_array_equal(inside(ranges, stored)[sure], (hit < recompute)[sure])


def test_partial_hit_formula_is_the_range():
    prefill = PrefillCurve(constant=0.03, per_token=2e-5, per_token_squared=3e-10, floor=0.0)
    path = TransferPath(overhead_seconds=0.2, store_bandwidth=5e9)
    ((start, end),) = kv.breakeven.partial_hit_ranges(
        prefill, path, tokens=50_000, kv_bytes_per_token=50_000, fixed_bytes_per_request=0
    )
    formula = kv.breakeven.partial_hit_tokens(
        tokens=50_000, prefill_per_token=2e-5, prefill_per_token_squared=3e-10,
        overhead_seconds=0.2, kv_bytes_per_token=50_000, bandwidth=5e9,
    )  # fmt: skip
    assert start == pytest.approx(formula, rel=1e-9)
    assert end == 50_000


@given(curves, paths, sizes, st.sampled_from([1, 16, 256]), st.booleans())
def test_rounded_ranges_are_the_winning_lengths(prefill, path, size, chunk, last):
    whole = TransferPath(
        overhead_seconds=path.overhead_seconds,
        store_bandwidth=path.store_bandwidth,
        chunk_tokens=chunk,
    )
    longest = 3_000
    found = kv.breakeven.rounded_fetch_ranges(
        prefill, whole, **size, recompute_last_token=last, longest_tokens=longest
    )
    wins = np.zeros(longest + 1, dtype=bool)
    for first, end in found:
        wins[first : (longest if end is None else end) + 1] = True
    for tokens in (*range(1, longest, 97), 256, 257, 512, longest):
        stored = (tokens - last) // chunk * chunk
        if not stored:
            assert not wins[tokens]
            continue
        hit = whole.seconds(
            stored,
            kv_bytes_per_token=size["kv_bytes_per_token"],
            fixed_bytes=size["fixed_bytes_per_request"],
        ) + prefill.seconds(tokens - stored, cached_tokens=stored)
        recompute = prefill.seconds(tokens)
        if clear(recompute, hit):
            assert wins[tokens] == (hit < recompute), tokens


def test_rounding_off_is_the_closed_form():
    prefill = PrefillCurve.from_points({16_000: 0.31})
    path = TransferPath(overhead_seconds=0.33, store_bandwidth=10e9)
    size = {"kv_bytes_per_token": 48_408, "fixed_bytes_per_request": 0}
    exact = kv.breakeven.fetch_ranges(prefill, path, **size)
    whole = kv.breakeven.rounded_fetch_ranges(
        prefill, path, **size, recompute_last_token=False, longest_tokens=300_000
    )
    assert whole == ((math.floor(exact[0][0]) + 1, None),)


@pytest.mark.parametrize("longest", [0, -1, 2**26, 1.5, True, "1k"])
def test_longest_length_is_checked(longest):
    with pytest.raises(InvalidValueError, match="longest_tokens"):
        kv.breakeven.rounded_fetch_ranges(
            PrefillCurve.from_points({16_000: 0.31}),
            TransferPath(store_bandwidth=1e9),
            kv_bytes_per_token=1,
            fixed_bytes_per_request=0,
            recompute_last_token=True,
            longest_tokens=longest,
        )
