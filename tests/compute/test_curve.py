"""Prefill curves from measured points and from hardware."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from kvcost import facts
from kvcost.compute import PrefillCurve, attention_work
from kvcost.errors import InvalidValueError, MissingFactError, UnitError
from kvcost.facts import Provenance
from kvcost.hardware.accelerator import Accelerator
from kvcost.hardware.links import Efficiency
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

GPT_OSS = ("llm-d-p2p-gpt-oss-h200", "prefill_time")
GLM_5_2 = ("llm-d-p2p-glm-5.2-h200", "ttft")
QWEN3_8B = ("mooncake-pd-qwen3-8b-h800", "ttft")


def measured(study, quantity):
    rows = facts.measurements(study=study, quantity=quantity, tier="recompute")
    return [(row.tokens, row.value) for row in rows]


@pytest.mark.parametrize(
    ("source", "count", "expected"),
    [
        # least-squares fits to these times made elsewhere: ms, us, ns, largest error in percent
        (GPT_OSS, 5, (28.0, 19.5, 0.294, 2)),
        (GLM_5_2, 7, (-19, 126, 0.140, 1)),
        (QWEN3_8B, 9, (44.8, 20.1, 0.043, 8)),
    ],
)
def test_fits_to_measured_prefill(source, count, expected):
    milliseconds, microseconds, nanoseconds, percent = expected
    points = measured(*source)
    assert len(points) == count
    curve = PrefillCurve.from_points(points, weighting="unweighted")
    assert curve.constant * 1e3 == pytest.approx(milliseconds, abs=0.5)
    assert curve.per_token * 1e6 == pytest.approx(microseconds, abs=0.5)
    assert curve.per_token_squared * 1e9 == pytest.approx(nanoseconds, abs=6e-4)
    assert round(curve.largest_residual * 100) == percent
    assert curve.provenance is Provenance.MEASURED
    assert "unweighted" in curve.method
    assert (curve.constant < 0) == any("negative" in note for note in curve.notes)


def test_weighting_moves_the_fit():
    points = measured(*GLM_5_2)
    unweighted = PrefillCurve.from_points(points, weighting="unweighted")
    relative = PrefillCurve.from_points(points, weighting="relative")
    assert relative.largest_residual < unweighted.largest_residual
    assert relative.seconds(8070) < unweighted.seconds(8070)
    assert "relative" in relative.method


def test_a_straight_line_misses_gpt_oss_by_all_of_its_time():
    # a line through the same points is off by 106% at 2,048 tokens; the parabola by 2%
    points = measured(*GPT_OSS)
    tokens, seconds = map(np.array, zip(*points, strict=True))
    slope, constant = np.polyfit(tokens, seconds, 1)
    error = (constant + slope * 2048) / 0.0706 - 1
    assert abs(error) == pytest.approx(1.06, abs=0.005)
    assert PrefillCurve.from_points(points).largest_residual < 0.02


def test_one_and_two_lengths():
    one = PrefillCurve.from_points({16_000: 0.31})
    assert (one.constant, one.per_token, one.per_token_squared) == (0, 19.375e-6, 0)
    assert one.method == "one length: proportional"
    assert one.notes
    two = PrefillCurve.from_points([("8k", "0.2 s"), (16_000, "400ms")])
    assert two.per_token == pytest.approx(25e-6)
    assert two.constant == pytest.approx(0, abs=1e-12)
    assert two.method == "two lengths: straight line"
    # 8B on A100 through the two-key cluster connector: the two cold times give 146 ms, 201 us
    rows = facts.measurements(study="lmcache-valkey-p4de", quantity="ttft", tier="recompute")
    cold = [(row.tokens, row.value) for row in rows if "redis-cluster" in row.condition]
    line = PrefillCurve.from_points(cold)
    assert line.constant * 1e3 == pytest.approx(146, abs=0.5)
    assert line.per_token * 1e6 == pytest.approx(201, abs=0.5)


def test_repeats_all_count():
    points = [(1000, 0.1), (1000, 0.3), (2000, 0.4)]
    curve = PrefillCurve.from_points(points)
    assert curve.seconds(1000) == pytest.approx(0.2)
    assert curve.method.startswith("two lengths")
    assert curve.residuals == pytest.approx((1.0, -1 / 3, 0.0), abs=1e-9)
    assert PrefillCurve.from_points([(1000, 0.1), (1000, 0.3)]).seconds(500) == pytest.approx(0.1)


def test_falling_times_are_reported():
    curve = PrefillCurve.from_points({1000: 0.3, 2000: 0.2})
    assert curve.per_token == 0
    assert curve.constant == pytest.approx(0.25)
    assert any("falls from 1,000 to 2,000" in note for note in curve.notes)
    bent = PrefillCurve.from_points({1000: 0.1, 2000: 0.19, 4000: 0.3, 8000: 0.4})
    assert bent.per_token_squared == 0
    assert any("bend is held at zero" in note for note in bent.notes)


@given(
    constant=st.floats(-0.05, 0.2),
    slope=st.floats(1e-6, 1e-3),
    bend=st.floats(0, 1e-9),
    lengths=st.lists(st.integers(256, 200_000), min_size=4, max_size=8, unique=True),
    relative=st.booleans(),
)
def test_exact_points_give_their_curve_back(constant, slope, bend, lengths, relative):
    assume(max(lengths) > 4 * min(lengths))
    assume(constant + slope * min(lengths) > 1e-4)
    points = {n: constant + slope * n + bend * n**2 for n in lengths}
    weighting = "relative" if relative else "unweighted"
    curve = PrefillCurve.from_points(points, weighting=weighting)
    for n, t in points.items():
        assert curve.seconds(n) == pytest.approx(t, rel=1e-6)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 60), st.floats(0.01, 5)), min_size=3, max_size=7))
def test_bounded_fit_is_scipys(pairs):
    points = [(1000 * n, t) for n, t in pairs]
    assume(len({n for n, _ in points}) >= 3)
    curve = PrefillCurve.from_points(points)
    x, t = np.array(points).T
    matrix = np.stack([np.ones_like(x), x / 6e4, (x / 6e4) ** 2], axis=1)
    best = lsq_linear(matrix, t, bounds=([-np.inf, 0, 0], np.inf), tol=1e-14)
    ours = curve.constant + curve.per_token * x + curve.per_token_squared * x**2
    assert np.sum((ours - t) ** 2) <= 2 * best.cost + 1e-9


@pytest.mark.parametrize(
    "points",
    [
        {}, [], [(1000,)], [(1, 2, 3)], 5, {0: 0.1}, {-5: 0.1}, {1000: 0}, {1000: -1},
        {1000: math.nan}, {math.inf: 1.0}, {1000: math.inf}, {1000.5: 1.0}, {1000: True},
        {1000: 1e9},
    ],
)  # fmt: skip
def test_bad_points(points):
    with pytest.raises(InvalidValueError):
        PrefillCurve.from_points(points)


def test_bare_text_is_refused():
    with pytest.raises(UnitError):
        PrefillCurve.from_points({1000: "0.31"})
    with pytest.raises(InvalidValueError, match="weighting"):
        PrefillCurve.from_points({1000: 0.31}, weighting="log")


@pytest.mark.parametrize(
    "change",
    [
        {"constant": math.nan}, {"per_token": -1e-6}, {"per_token_squared": math.inf},
        {"floor": -1}, {"floor": True}, {"per_token": "1 us"}, {"constant": 1e9},
        {"per_token": 0.0},
    ],
)  # fmt: skip
def test_bad_curves(change):
    good = {"constant": 0.0, "per_token": 1e-5, "per_token_squared": 0.0, "floor": 0.0}
    PrefillCurve(**good)
    with pytest.raises(InvalidValueError):
        PrefillCurve(**{**good, **change})


def test_floor():
    curve = PrefillCurve.from_points({16_000: 0.31}, floor="30 ms")
    assert curve.seconds(100) == 0.03
    assert curve.seconds(np.array([0, 100, 16_000])) == pytest.approx([0, 0.03, 0.31])


# From hardware

H100 = Accelerator(
    name="h100-sxm",
    label="H100",
    peak_flops={"bf16": 989e12, "fp8": 1979e12},
    hbm_bytes=80e9,
    hbm_bandwidth=3.35e12,
    provenance=Provenance.DATA_SHEET,
)
NODE = {"accelerator": H100, "accelerators": 4, "mfu": 0.5, "compute_dtype": "bf16"}


def model(*groups, **given):
    fields = {
        "name": "model",
        "architecture": "test",
        "total_layers": 80,
        "q_heads": 64,
        "active_parameters": 70.6e9,
        "provenance": Provenance.DATA_SHEET,
    }
    return ModelSpec(groups=groups, **{**fields, **given})


FULL = AttentionLayers(layers=80, kv_heads=8, head_dim_k=128, head_dim_v=128)


def test_dense_model_from_hardware():
    curve = PrefillCurve.from_hardware(model(FULL), **NODE)
    assert curve.per_token == pytest.approx(71.38523761375126e-6, rel=1e-15)
    # 2 x 80 layers x 64 heads x (128 + 128) over half the square, at 1,978 TFLOP/s
    assert curve.per_token_squared == pytest.approx(80 * 64 * 256 / 1.978e15)
    assert curve.provenance is Provenance.ASSUMED
    assert "50% of the bf16 peak" in curve.method
    measured_share = Efficiency(
        name="m", ratio=0.5, of="peak", provenance=Provenance.MEASURED
    )  # fmt: skip
    known = PrefillCurve.from_hardware(model(FULL), **{**NODE, "mfu": measured_share})
    assert known.provenance is Provenance.DATA_SHEET
    assert known.per_token == curve.per_token
    fast = PrefillCurve.from_hardware(model(FULL), **{**NODE, "compute_dtype": "fp8"})
    assert fast.per_token == pytest.approx(curve.per_token * 989 / 1979)


def test_windowed_layers_grow_by_token():
    sliding = AttentionLayers(
        layers=40, kv_heads=8, head_dim_k=64, head_dim_v=64, window=128, window_kind="sliding"
    )
    work = attention_work(model(sliding))
    assert work.per_token_squared == 0
    assert work.per_token == 2 * 40 * 64 * 128 * 128
    chunked = AttentionLayers(
        layers=40, kv_heads=8, head_dim_k=64, head_dim_v=64, window=128, window_kind="chunked",
        q_heads=32,
    )  # fmt: skip
    assert attention_work(model(chunked)).per_token == work.per_token / 4
    assert any("upper bound" in note for note in work.notes)


def test_latent_layers():
    latent = LatentLayers(layers=61, kv_lora_rank=512, rope_dim=64)
    absorbed = attention_work(model(latent, q_heads=128))
    assert absorbed.per_token_squared == 61 * 128 * (576 + 512)
    assert any("absorbed" in note for note in absorbed.notes)
    expanded = attention_work(model(latent, q_heads=128), latent_head_dims=(192, 128))
    assert expanded.per_token_squared == 61 * 128 * 320
    assert not expanded.notes


def test_sparse_latent_layers():
    spec = model(
        LatentLayers(layers=78, kv_lora_rank=512, rope_dim=64), IndexLayers(layers=21, head_dim=128)
    )
    dense = attention_work(spec)
    assert any("counted as dense" in note for note in dense.notes)
    sparse = attention_work(spec, sparse_top_k=2048, index_heads=32)
    assert sparse.per_token == 2 * 78 * 64 * (576 + 512) * 2048
    assert sparse.per_token_squared == 21 * 32 * 128
    with pytest.raises(MissingFactError, match="index heads"):
        attention_work(spec, sparse_top_k=2048)
    with pytest.raises(InvalidValueError, match="sparse_top_k"):
        attention_work(model(FULL), sparse_top_k=2048, index_heads=32)


def test_other_layers():
    compressed = attention_work(
        model(
            CompressedLayers(layers=30, entry_dim=512, rope_dim=64, ratio=4),
            WindowedLatentLayers(layers=60, entry_dim=512, rope_dim=64, window=128),
            RecurrentLayers(layers=10, state_elements=1000, conv_elements=10),
        )
    )
    assert compressed.per_token_squared == 30 * 64 * 1024 / 4
    assert compressed.per_token == 2 * 60 * 64 * 1024 * 128
    assert any("recurrent" in note for note in compressed.notes)
    cross = CrossAttentionLayers(
        layers=32, kv_heads=20, head_dim_k=64, head_dim_v=64, source_tokens=1500
    )
    assert attention_work(model(cross)).per_token == 2 * 32 * 64 * 128 * 1500
    shared = attention_work(model(FULL, shared_layers=5))
    assert any("5 layers" in note for note in shared.notes)
    keys_only = AttentionLayers(layers=1, kv_heads=1, head_dim_k=64, head_dim_v=0)
    assert attention_work(model(keys_only)).per_token_squared == 64 * 128


@pytest.mark.parametrize(
    ("spec", "change", "words"),
    [
        (model(FULL, active_parameters=None), {}, "active parameters"),
        (model(FULL, q_heads=None), {}, "query heads"),
        (model(FULL), {"compute_dtype": "int8"}, "int8 peak"),
        (
            model(
                CrossAttentionLayers(
                    layers=1, kv_heads=1, head_dim_k=64, head_dim_v=64, source_tokens=None
                )
            ),
            {},
            "encoder tokens",
        ),
    ],
)
def test_missing_facts(spec, change, words):
    with pytest.raises(MissingFactError, match=words):
        PrefillCurve.from_hardware(spec, **{**NODE, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"mfu": 0}, {"mfu": 1.2}, {"mfu": True}, {"mfu": math.nan}, {"accelerators": 0},
        {"accelerators": 2.5}, {"compute_dtype": "fp64"}, {"latent_head_dims": (192,)},
        {"latent_head_dims": (192, -1)},
    ],
)  # fmt: skip
def test_bad_hardware(change):
    with pytest.raises(InvalidValueError):
        PrefillCurve.from_hardware(model(FULL), **{**NODE, **change})


def test_share_has_no_default():
    with pytest.raises(TypeError, match="mfu"):
        PrefillCurve.from_hardware(model(FULL), H100, accelerators=4, compute_dtype="bf16")


def test_a_bend_that_is_held_at_zero_is_a_line():
    curve = PrefillCurve.from_points({1000: 1.0, 2000: 2.0, 3000: 2.5})
    assert curve.method == "3 lengths: straight line by unweighted least squares"
    assert any("bend is held at zero" in note for note in curve.notes)
