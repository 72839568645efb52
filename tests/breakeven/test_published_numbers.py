"""Break-even points against published studies and measurements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import kvcost as kv
from kvcost.breakeven.ranges import winning_ranges
from kvcost.compute import PrefillCurve
from kvcost.facts import measurements, published
from kvcost.hardware import tiers
from kvcost.transfer import TransferPath

GLM = 48_408
"""Bytes per token of GLM-5.3 with its MTP layer in fp8: 79 x 576 + 22 x 132."""
SLOPE = 0.31 / 16_000
PREFILL = PrefillCurve.from_points({16_000: 0.31})


def points(study, tier, quantity, condition=None):
    rows = measurements(study=study, tier=tier, quantity=quantity)
    chosen = [row for row in rows if condition is None or condition in row.condition]
    return {row.tokens: row.value for row in chosen if row.tokens}


def line(found, *, relative=False):
    lengths, times = np.array(sorted(found.items())).T
    slope, constant = np.polyfit(lengths, times, 1, w=1 / times if relative else None)
    return float(constant), float(slope)


def glm(bandwidth):
    return TransferPath(overhead_seconds=0.33, store_bandwidth=bandwidth)


# GLM-5.3 remote KV cache study


def test_glm_5_3_geometry_and_slope():
    spec = kv.model.load("glm-5.3")
    size = kv.model.kv_size(spec, kv_dtype="fp8", mtp=True)
    assert size.bytes_per_token == GLM == 79 * 576 + 22 * 132
    assert PREFILL.per_token == pytest.approx(19.375e-6, rel=1e-12)


def test_glm_5_3_implied_bytes():
    implied = kv.breakeven.implied_kv_bytes_per_token(
        tokens=16_000, load_seconds=0.31, bandwidth=2.53e9
    )
    assert round(implied) == 49_019


def test_glm_5_3_bandwidth_leaves_the_overhead_out():
    without = kv.breakeven.break_even_bandwidth_without_overhead(
        tokens=16_000, kv_bytes_per_token=GLM, recompute_seconds=0.31
    )
    assert without == pytest.approx(2.4985e9, rel=1e-5)
    assert round(without / 2.53e9 - 1, 3) == -0.012
    with_overhead = kv.breakeven.break_even_bandwidth(
        tokens=16_000, kv_bytes_per_token=GLM, recompute_seconds=0.31, overhead_seconds=0.33
    )
    assert math.isnan(with_overhead)


@pytest.mark.parametrize(
    ("bandwidth", "tokens"), [(5e9, "34.0"), (10e9, "22.7"), (25e9, "18.9"), (1.71e9, None)]
)
def test_glm_5_3_lengths(bandwidth, tokens):
    costs = {
        "prefill_per_token": SLOPE,
        "overhead_seconds": 0.33,
        "kv_bytes_per_token": GLM,
        "bandwidth": bandwidth,
    }
    found = [
        kv.breakeven.break_even_tokens_linear(**costs),
        kv.breakeven.break_even_tokens(
            **costs, prefill_constant=0, prefill_per_token_squared=0, prefill_floor=0
        ),
    ]
    ranges = kv.breakeven.fetch_ranges(
        PREFILL, glm(bandwidth), kv_bytes_per_token=GLM, fixed_bytes_per_request=0
    )
    if tokens is None:
        assert all(map(math.isnan, found))
        assert ranges == ()
        assert kv.breakeven.describe_ranges(ranges) == "never"
        return
    path = glm(bandwidth)
    root = brentq(
        lambda n: PREFILL.seconds(n) - path.seconds(n, kv_bytes_per_token=GLM), 1_000, 1e6
    )
    for each in (*found, root, ranges[0][0]):
        assert f"{each / 1000:.1f}" == tokens
        assert each == pytest.approx(root, rel=1e-9)
    assert ranges[0][1] is None


def test_glm_5_3_infinite_bandwidth():
    least = kv.breakeven.break_even_tokens_infinite_bandwidth(
        prefill_constant=0,
        prefill_per_token=SLOPE,
        prefill_per_token_squared=0,
        prefill_floor=0,
        overhead_seconds=0.33,
    )
    assert round(least) == 17_032
    # the study prints 17,000
    assert round(least, -3) == published("glm-5.3-remote-kv", quantity="break_even_tokens")[0].value
    # what a stored part must save is the same, whatever the prompt's length
    stored = kv.breakeven.partial_hit_tokens(
        tokens=200_000,
        prefill_per_token=SLOPE,
        prefill_per_token_squared=0,
        overhead_seconds=0.33,
        kv_bytes_per_token=GLM,
        bandwidth=1e18,
    )
    assert round(stored) == 17_032


def test_glm_5_3_comparisons_are_data():
    found = {c.quantity: c for c in kv.breakeven.glm_5_3_remote_kv(kv_bytes_per_token=GLM)}
    assert [round(c.relative_difference, 3) for c in found.values()] == [
        -0.012, -0.012, 0.002, -0.11,
    ]  # fmt: skip
    hit = found["hit time"]
    assert (round(hit.computed, 2), hit.published) == (0.78, 0.88)
    assert "11% of what was measured" in hit.remark
    assert "not fitted away" in hit.sentence
    assert "no bandwidth wins" in found["break-even bandwidth"].sentence
    assert round(found["KV bytes per token"].published) == 49_019
    assert hit.as_dict()["unit"] == "s"


# Biting the Bullet


def bullet():
    size = kv.model.kv_size(kv.model.load("llama-3.3-70b"), kv_dtype="fp16")
    per_token = kv.compute.prefill_per_token(
        active_parameters=70.6e9, accelerators=4, peak_flops=989e12, mfu=0.5
    )
    curve = PrefillCurve(constant=0, per_token=per_token, per_token_squared=0, floor=0)
    paths = {tier.name: kv.breakeven.tier_path(tier) for tier in tiers("bite-the-bullet")}
    return size.bytes_per_token, curve, paths


def test_biting_the_bullet_to_the_last_digit():
    size, curve, paths = bullet()
    assert curve.per_token == pytest.approx(71.38523761375126e-6, rel=1e-14)
    found = kv.breakeven.biting_the_bullet(kv_bytes_per_token=size, prefill=curve, paths=paths)
    kinds = [c.quantity.split(",")[0] for c in found]
    assert kinds.count("prefill over transfer") == 4
    assert kinds.count("transfer time") == 4 * kinds.count("prefill time") == 24
    for comparison in found:
        assert comparison.computed == pytest.approx(comparison.published, rel=1e-12), comparison


def test_biting_the_bullet_ladder():
    size, curve, paths = bullet()
    rows = kv.breakeven.tier_ladder(
        [500, "8k"], paths, curve, kv_bytes_per_token=size, fixed_bytes_per_request=0
    )
    assert [row.tokens for row in rows] == [500.0] * 4 + [8000.0] * 4
    digits = (3, 4, 4, 5) * 2
    ratios = [round(row.ratio, number) for row, number in zip(rows, digits, strict=True)]
    assert ratios == [2919.196, 47.9271, 43.5701, 1.52495] * 2
    assert {row.verdict for row in rows} == {"fetch"}
    assert set(kv.breakeven.best_of_tiers(rows).values()) == {"bite-the-bullet-hbm"}


# Quadratic prefill


def crossing(prefill, load):
    constant, slope = load
    return kv.breakeven.break_even_tokens(
        prefill_constant=prefill.constant,
        prefill_per_token=prefill.per_token,
        prefill_per_token_squared=prefill.per_token_squared,
        prefill_floor=prefill.floor,
        overhead_seconds=constant,
        kv_bytes_per_token=slope,
        bandwidth=1,
    )


def test_glm_5_2_on_32_h200():
    study = "llm-d-p2p-glm-5.2-h200"
    computing, loading = points(study, "recompute", "ttft"), points(study, "peer-ram-rdma", "ttft")
    assert len(computing) == len(loading) == 7
    unweighted = crossing(PrefillCurve.from_points(computing), line(loading))
    relative = crossing(
        PrefillCurve.from_points(computing, weighting="relative"), line(loading, relative=True)
    )
    assert (round(unweighted, -2), round(relative, -2)) == (14_600, 14_200)
    # nearly all of the shift comes from the scattered load, hardly any from the prefill
    mixed = crossing(PrefillCurve.from_points(computing, weighting="relative"), line(loading))
    assert abs(mixed - unweighted) < 50
    assert abs(relative - mixed) > 400
    (constant, slope), (overhead, moving) = line(computing), line(loading)
    assert round((overhead - constant) / (slope - moving), -2) == 15_000
    tie = measurements(study=study, quantity="break_even_tokens")[0].value
    assert tie == 13_648
    assert unweighted / tie == pytest.approx(1.07, abs=0.005)
    assert relative / tie == pytest.approx(1.04, abs=0.005)


def test_gpt_oss_wins_at_every_length():
    study = "llm-d-p2p-gpt-oss-h200"
    computing = points(study, "recompute", "prefill_time")
    loading = points(study, "peer-ram-rdma", "load_time")
    curve = PrefillCurve.from_points(computing)
    overhead, moving = line(loading)
    path = TransferPath(overhead_seconds=overhead, store_bandwidth=1e9)
    ranges = kv.breakeven.fetch_ranges(
        curve, path, kv_bytes_per_token=moving * 1e9, fixed_bytes_per_request=0
    )
    assert kv.breakeven.describe_ranges(ranges) == "always"
    assert all(loading[n] < computing[n] for n in computing)
    assert crossing(curve, (overhead, moving)) == 0
    # a straight line through the same points finds a crossing that does not exist
    constant, slope = line(computing)
    false = winning_ranges(
        constant=constant, per_token=slope, per_token_squared=0, floor=0,
        fixed_seconds=overhead, fetch_seconds_per_token=moving,
    )  # fmt: skip
    assert round(false[0][0], -2) == 4_300
    assert (constant + slope * 2_048) / computing[2_048] - 1 == pytest.approx(-1.06, abs=0.005)


def test_llm_d_cost_model():
    # gpt-oss-120b on B200: 19 us and 3.9 us a token, 15 ms; 500 ms more at a busy destination
    study = "llm-d-cost-model-gpt-oss-b200"
    said = {
        row.condition: row.value for row in measurements(study=study, quantity="break_even_tokens")
    }
    costs = {"prefill_per_token": 19e-6, "kv_bytes_per_token": 3.9e-6, "bandwidth": 1}
    idle = kv.breakeven.break_even_tokens_linear(**costs, overhead_seconds=0.015)
    busy = kv.breakeven.break_even_tokens_linear(**costs, overhead_seconds=0.515)
    assert round(idle, -2) == said["idle"] == 1_000
    assert round(busy, -3) == said["destination busy"] == 34_000


# Valkey and Redis


def test_8b_on_a100_from_redis_cluster_never_wins():
    study, run = "lmcache-valkey-p4de", "run=redis-cluster"
    computing = points(study, "recompute", "ttft", run)
    loading = points(study, "redis-cluster", "ttft")
    (constant, slope), (overhead, moving) = line(computing), line(loading)
    assert (round(constant, 3), round(slope, 6)) == (0.146, 201e-6)
    assert (round(overhead, 3), round(moving, 6)) == (-0.122, 242e-6)
    assert math.isnan(
        kv.breakeven.break_even_tokens_linear(
            prefill_per_token=slope, overhead_seconds=0, kv_bytes_per_token=moving, bandwidth=1
        )
    )
    # the two intercepts let fetching win below the shortest length that was measured, never in it
    ((start, end),) = winning_ranges(
        constant=constant, per_token=slope, per_token_squared=0, floor=0,
        fixed_seconds=overhead, fetch_seconds_per_token=moving,
    )  # fmt: skip
    assert start == 0
    assert end < min(computing)
    assert [round(computing[n] / loading[n], 1) for n in (8_192, 65_024)] == [1.0, 0.8]


@pytest.mark.parametrize(
    ("tier", "run", "rate", "needed", "verdict"),
    [
        ("redis-cluster", "run=redis-cluster", 0.54e9, 0.65e9, "recompute"),
        ("valkey", "run=valkey-32-workers", 3.5e9, 0.70e9, "fetch"),
    ],
)
def test_rule_classifies_valkey_and_redis(tier, run, rate, needed, verdict):
    study = "lmcache-valkey-p4de"
    computing, loading = points(study, "recompute", "ttft", run), points(study, tier, "ttft")
    size = kv.model.kv_size(kv.model.load("llama-3.1-8b"), kv_dtype="bf16").bytes_per_token
    (_, slope), (_, moving) = line(computing), line(loading)
    assert size / moving == pytest.approx(rate, rel=0.015)
    threshold = kv.breakeven.break_even_bandwidth_without_overhead(
        tokens=1, kv_bytes_per_token=size, recompute_seconds=slope
    )
    assert threshold == pytest.approx(needed, rel=0.01)
    assert ("fetch" if size / moving > threshold else "recompute") == verdict
    for length in computing:
        measured = kv.breakeven.verdict_of(
            recompute_seconds=computing[length], hit_seconds=loading[length]
        )
        assert measured == verdict


def test_local_redis_hit_that_loses():
    # LMCache issue 914: Qwen2.5-32B
    rows = {row.tier: row.value for row in measurements(study="lmcache-redis-qwen32b")}
    times = {"recompute_seconds": rows["recompute"], "hit_seconds": rows["redis"]}
    assert kv.breakeven.verdict_of(**times) == "recompute"
    assert kv.breakeven.margin(**times) == pytest.approx(-1.64, abs=0.005)


def test_l40s_point_of_llm_d_kv_cache_issue_559():
    # "64K" prompt, recompute about 12 s, hit 7.6 s at 1.25 GB/s: -37%
    tokens = 65_536
    size = kv.breakeven.implied_kv_bytes_per_token(
        tokens=tokens, load_seconds=7.6, bandwidth=1.25e9
    )
    decision = kv.breakeven.decide(
        tokens=tokens,
        kv_bytes_per_token=size,
        fixed_bytes_per_request=0,
        prefill=PrefillCurve.from_points({tokens: 12.0}),
        path=TransferPath(store_bandwidth=1.25e9),
        loading="async",
    )
    assert decision.hit_seconds == pytest.approx(7.6)
    assert round(decision.margin, 2) == 0.37
    assert decision.verdict == "fetch"
    assert decision.break_even_bandwidth == pytest.approx(0.79e9, rel=3e-3)
    assert decision.break_even_overhead == pytest.approx(4.4)
    # the implied size is within 2% of Qwen3-8B's
    qwen = kv.model.kv_size(kv.model.load("qwen3-8b"), kv_dtype="bf16").bytes_per_token
    assert size == pytest.approx(qwen, rel=0.02)


# Break-even bandwidth: bytes of a token over the time to compute one


@pytest.mark.parametrize(
    ("study", "quantity", "tokens", "size", "expected"),
    [
        # the size that the source states, about 93 KB
        ("llm-d-p2p-glm-5.2-h200", "ttft", 65_111, 93_000, "0.69"),
        ("agentic-kvc-h20", "ttft", 1_024, 98_304, "1.29"),
        ("agentic-kvc-h20", "ttft", 65_536, 98_304, "0.42"),
        # 43 KB follow from the guide's capacity; "about 1.6" in the source
        ("llm-d-p2p-gpt-oss-h200", "prefill_time", 16_384, 43_000, "1.65"),
    ],
)
def test_break_even_bandwidth_at_a_measured_length(study, quantity, tokens, size, expected):
    needed = kv.breakeven.break_even_bandwidth_without_overhead(
        tokens=tokens,
        kv_bytes_per_token=size,
        recompute_seconds=points(study, "recompute", quantity)[tokens],
    )
    assert f"{needed / 1e9:.2f}" == expected


def test_break_even_bandwidth_of_qwen3_8b_on_h800():
    computing = points("mooncake-pd-qwen3-8b-h800", "recompute", "ttft")
    size = kv.model.kv_size(kv.model.load("qwen3-8b"), kv_dtype="bf16").bytes_per_token
    needed = kv.breakeven.break_even_bandwidth_without_overhead(
        tokens=1, kv_bytes_per_token=size, recompute_seconds=line(computing)[1]
    )
    assert round(needed / 1e9, 1) == 6.9
    # the fetch takes 0.59 ms and 0.955 us a token: it always wins
    overhead, moving = line(points("mooncake-pd-qwen3-8b-h800", "gpu-rdma", "transfer_time"))
    assert (round(overhead, 5), round(moving, 9)) == (0.00059, 0.955e-6)
    curve = PrefillCurve.from_points(computing)
    assert crossing(curve, (overhead, moving)) == 0
