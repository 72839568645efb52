"""Decisions: times, break-even points, verdicts and words."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kvcost as kv
from kvcost.breakeven import decide
from kvcost.compute import PrefillCurve
from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.facts import Provenance, published
from kvcost.hardware import tiers
from kvcost.transfer import TransferPath

GLM = {
    "tokens": 16_000,
    "kv_bytes_per_token": 48_408,
    "fixed_bytes_per_request": 0,
    "prefill": PrefillCurve.from_points({16_000: 0.31}),
    "path": TransferPath(overhead_seconds=0.33, store_bandwidth="1.71 GB/s"),
    "loading": "async",
}
KEYS = {
    "kv_bytes_per_token", "recompute_seconds", "hit_seconds", "break_even_bandwidth",
    "break_even_bandwidth_without_overhead", "break_even_tokens", "fetch_ranges",
    "break_even_tokens_infinite_bandwidth", "margin", "verdict", "verdict_gpu_seconds",
}  # fmt: skip


def at(rate, **changes):
    return decide(
        **GLM | {"path": dataclasses.replace(GLM["path"], store_bandwidth=rate)} | changes
    )


def test_glm_5_3():
    decision = decide(**GLM)
    assert decision.recompute_seconds == pytest.approx(0.31)
    assert round(decision.hit_seconds, 2) == 0.78
    assert decision.verdict == "recompute"
    assert decision.margin == pytest.approx((0.31 - decision.hit_seconds) / 0.31)
    assert decision.break_even_bandwidth is None
    assert decision.break_even_bandwidth_without_overhead == pytest.approx(2.4985e9, rel=1e-5)
    assert decision.break_even_tokens is None
    assert decision.fetch_ranges == ()
    assert round(decision.break_even_tokens_infinite_bandwidth) == 17_032
    assert decision.fetch_wins == "never"
    assert decision.provenance is Provenance.ASSUMED
    assert decision.sentence == (
        "At 16,000 tokens no bandwidth wins, since the 0.33 s overhead alone exceeds the 0.31 s "
        "recompute: fetching needs prompts over 17,032 tokens at any bandwidth (at 1.71 GB/s it "
        "never wins), or an overhead below 0.31 s and more than 2.5 GB/s."
    )


def test_json_keys_and_no_number_that_is_not_finite():
    plain = decide(**GLM).as_dict()
    assert set(plain) >= KEYS
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["fetch_ranges"] == []
    assert plain["break_even_tokens"] is None
    far = at("10 GB/s", tokens=64_000).as_dict()
    assert far["fetch_ranges"] == [[pytest.approx(22_705, abs=0.5), None]]
    assert far["provenance"] == "assumed"
    # a curve that takes no time at a short length has no margin
    free = PrefillCurve(constant=-1, per_token=1e-4, per_token_squared=0, floor=0)
    assert decide(**GLM | {"prefill": free, "tokens": 1}).as_dict()["margin"] is None


def test_two_verdicts():
    # one instance loads longer than the recompute takes: it loses a request's time either way,
    # and keeps the GPU only if the engine waits for it
    assert decide(**GLM).verdict_gpu_seconds == "fetch"
    assert decide(**GLM).hit_gpu_seconds == 0
    waiting = decide(**GLM | {"loading": "sync"})
    assert waiting.verdict_gpu_seconds == "recompute"
    assert waiting.hit_gpu_seconds == waiting.hit_seconds
    assert "GPU time: 0.31 s of recompute against 0.783 s of a hit that stops" in waiting.notes[0]
    # in the study's replay of 450 prompts, waiting left the GPU 7% busy
    assert published("glm-5.3-remote-kv", quantity="gpu_utilization")[0].value == 0.07
    part = decide(**GLM | {"hit_tokens": 12_000})
    assert part.hit_gpu_seconds == pytest.approx(4_000 * 19.375e-6)


def test_tie_within_one_percent():
    path = TransferPath(store_bandwidth=48_408 * 16_000 / 0.31)
    assert decide(**GLM | {"path": path}).verdict == "tie"
    for share, verdict in ((1.0101, "tie"), (1.02, "fetch"), (0.9905, "tie"), (0.98, "recompute")):
        scaled = TransferPath(store_bandwidth=path.bandwidth * share)
        assert decide(**GLM | {"path": scaled}).verdict == verdict
    assert kv.breakeven.verdict_of(recompute_seconds=1.0, hit_seconds=0.99) == "tie"
    assert kv.breakeven.verdict_of(recompute_seconds=1.0, hit_seconds=0.9899) == "fetch"
    assert "within 1%" in decide(**GLM | {"path": path}).sentence


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"rate": "10 GB/s", "tokens": 64_000},
            "At 64,000 tokens fetching is faster (0.64 s against 1.24 s), and stays so above "
            "3.4 GB/s, now 10 GB/s, and while the overhead, now 0.33 s, is below 0.93 s; at "
            "10 GB/s "
            "it wins from 22,706 tokens.",
        ),
        (
            {"rate": "5 GB/s", "tokens": 20_000},
            "At 20,000 tokens computing anew is faster (0.524 s against 0.388 s): fetching needs "
            "more than 16.8 GB/s instead of 5 GB/s, or an overhead below 0.194 s instead of "
            "0.33 s; at 5 GB/s it wins from 34,044 tokens.",
        ),
        (
            {"rate": "10 GB/s"},
            "At 16,000 tokens no bandwidth wins, since the 0.33 s overhead alone exceeds the "
            "0.31 s recompute: fetching needs prompts over 17,032 tokens at any bandwidth (at "
            "10 GB/s it wins from 22,706 tokens), or an overhead below 0.233 s at 10 GB/s.",
        ),
        (
            {"rate": "10 GB/s", "tokens": 100, "hit_tokens": 0},
            "At 100 tokens nothing is fetched, since too little is stored: a longer hit would "
            "change it.",
        ),
    ],
)
def test_sentences(changes, sentence):
    changes = dict(changes)
    assert at(changes.pop("rate"), **changes).sentence == sentence


def test_a_constant_prefill_never_reaches_the_overhead():
    flat = PrefillCurve(constant=0.1, per_token=0, per_token_squared=0, floor=0)
    decision = decide(**GLM | {"prefill": flat})
    assert decision.break_even_tokens_infinite_bandwidth is None
    assert "no prompt is long enough" in decision.sentence


def between(low, high):
    return st.floats(low, high)


def maybe(low, high):
    return st.just(0.0) | between(low, high)


prefills = st.builds(
    PrefillCurve,
    constant=maybe(1e-6, 0.2),
    per_token=between(1e-6, 1e-4),
    per_token_squared=maybe(1e-11, 1e-9),
    floor=maybe(1e-6, 0.1),
)
ways = st.builds(
    TransferPath,
    lookup_seconds=maybe(1e-6, 0.01),
    overhead_seconds=maybe(1e-6, 0.4),
    store_bandwidth=between(1e8, 1e11),
    copies=st.sampled_from([1.0, 8.0]),
    chunk_tokens=st.sampled_from([None, 16, 256]),
    compression_ratio=st.sampled_from([1.0, 3.0]),
    decode_rate=st.sampled_from([None, 2e9]),
    pipelined=st.booleans(),
)
prompts = st.fixed_dictionaries(
    {
        "tokens": st.integers(300, 100_000),
        "kv_bytes_per_token": between(1e3, 4e5),
        "fixed_bytes_per_request": maybe(1e3, 1e8),
        "recompute_last_token": st.booleans(),
    }
)


@given(prompts, prefills, ways)
def test_at_the_break_even_bandwidth_both_take_as_long(prompt, prefill, path):
    decision = decide(**prompt, prefill=prefill, path=path, loading="async")
    needed = decision.break_even_bandwidth
    if needed is None:
        widest = dataclasses.replace(path, store_bandwidth=9e14)
        never = decide(**prompt, prefill=prefill, path=widest, loading="async")
        assert never.hit_seconds >= never.recompute_seconds * (1 - 1e-9)
        return
    assume(1 < needed < 1e14)
    there = dataclasses.replace(path, store_bandwidth=needed)
    found = decide(**prompt, prefill=prefill, path=there, loading="async")
    assert found.hit_seconds == pytest.approx(found.recompute_seconds, rel=1e-6)
    assert found.verdict == "tie"


@given(prompts, prefills, ways)
def test_at_the_break_even_overhead_both_take_as_long(prompt, prefill, path):
    decision = decide(**prompt, prefill=prefill, path=path, loading="sync")
    limit = decision.break_even_overhead
    if limit is None:
        free = dataclasses.replace(path, lookup_seconds=0, overhead_seconds=0)
        assert decide(**prompt, prefill=prefill, path=free, loading="sync").margin <= 1e-9
        return
    there = dataclasses.replace(path, lookup_seconds=0, overhead_seconds=limit)
    found = decide(**prompt, prefill=prefill, path=there, loading="sync")
    assert found.hit_seconds == pytest.approx(found.recompute_seconds, rel=1e-6)
    assert found.hit_gpu_seconds == pytest.approx(found.hit_seconds)


@given(prompts, prefills, ways)
def test_parts_add_up_and_closed_forms_agree(prompt, prefill, path):
    decision = decide(**prompt, prefill=prefill, path=path, loading="async")
    assert decision.sentence.endswith(".")
    json.dumps(decision.as_dict(), allow_nan=False)
    if path.chunk_tokens is None and not prompt["recompute_last_token"]:
        assert decision.suffix_seconds == 0
        wins = any(a < prompt["tokens"] < (b or math.inf) for a, b in decision.fetch_ranges)
        if abs(decision.margin) > 1e-9:
            assert wins == (decision.margin > 0)
        least = decision.break_even_tokens_infinite_bandwidth
        if decision.break_even_bandwidth is not None and least is not None and not path.decode_rate:
            assert prompt["tokens"] >= least


def test_chunks_and_the_last_token_are_off_unless_asked_for():
    off = decide(**GLM)
    assert (off.fetched_tokens, off.suffix_seconds) == (16_000, 0)
    assert not any("stored whole" in note for note in off.notes)
    last = decide(**GLM | {"recompute_last_token": True})
    assert (last.fetched_tokens, last.suffix_seconds) == (15_999, pytest.approx(19.375e-6))
    chunked = dataclasses.replace(GLM["path"], chunk_tokens=256)
    both = decide(**GLM | {"path": chunked, "recompute_last_token": True})
    assert both.fetched_tokens == 15_872
    assert any("stored whole" in note for note in both.notes)
    assert "whole chunks of 256 tokens" in both.method


def test_provenance_is_the_weakest():
    measured = dataclasses.replace(GLM["path"], provenance=Provenance.MEASURED)
    stated = GLM | {"path": measured, "kv_provenance": Provenance.DATA_SHEET}
    assert decide(**stated).provenance is Provenance.DATA_SHEET
    stated["kv_provenance"] = Provenance.MEASURED
    assert decide(**stated).provenance is Provenance.MEASURED


def test_states_that_do_not_grow():
    # a recurrent model: 50 MB whatever the length
    state = {"kv_bytes_per_token": 0, "fixed_bytes_per_request": 50e6}
    decision = at("1 GB/s", **state, tokens=64_000)
    assert decision.hit_seconds == pytest.approx(0.38)
    assert decision.verdict == "fetch"
    assert round(decision.break_even_tokens) == round(0.38 / 19.375e-6)
    assert any("do not grow" in note for note in decision.notes)


def test_notes_name_what_is_left_out():
    notes = " ".join(decide(**GLM | {"tokens": 64_000}).notes)
    assert "outside the lengths" in notes
    assert "waiting in queues" in notes


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tokens": 0}, "tokens"),
        ({"tokens": -5}, "tokens"),
        ({"tokens": math.nan}, "tokens"),
        ({"tokens": True}, "tokens"),
        ({"kv_bytes_per_token": -1}, "kv_bytes_per_token"),
        ({"kv_bytes_per_token": math.inf}, "kv_bytes_per_token"),
        ({"kv_bytes_per_token": 0}, "kv_bytes_per_token"),
        ({"fixed_bytes_per_request": -1}, "fixed_bytes"),
        ({"hit_tokens": -1}, "hit_tokens"),
        ({"loading": "both"}, "loading"),
        ({"recompute_last_token": 1}, "recompute_last_token"),
    ],
)
def test_bad_input_is_named(changes, field):
    with pytest.raises(InvalidValueError, match=field):
        decide(**GLM | changes)


def test_loading_must_be_said():
    with pytest.raises(TypeError, match="loading"):
        decide(**{name: value for name, value in GLM.items() if name != "loading"})


# Several tiers


def test_best_tier_or_recompute():
    paths = {"near": TransferPath(overhead_seconds=0.001, store_bandwidth=50e9),
             "far": GLM["path"]}  # fmt: skip
    size = {"kv_bytes_per_token": 48_408, "fixed_bytes_per_request": 0}
    rows = kv.breakeven.tier_ladder([10, "16k"], paths, GLM["prefill"], **size)
    assert kv.breakeven.best_of_tiers(rows) == {10: kv.breakeven.RECOMPUTE, 16_000: "near"}
    assert [row.verdict for row in rows] == ["recompute", "recompute", "fetch", "recompute"]
    far = rows[-1].as_dict()
    assert far["hit_seconds"] == decide(**GLM).hit_seconds
    assert far["margin"] == decide(**GLM).margin


def test_a_tier_without_an_overhead_is_not_guessed():
    (tier,) = tiers("object-store")
    with pytest.raises(MissingFactError, match="fixed time"):
        kv.breakeven.tier_path(tier)
    path = kv.breakeven.tier_path(tier, overhead_seconds="50 ms")
    assert (path.fixed_seconds(), path.provenance) == (0.05, Provenance.ASSUMED)


@pytest.mark.parametrize(("lengths", "paths"), [([], {"far": GLM["path"]}), ([1], {})])
def test_an_empty_ladder_is_refused(lengths, paths):
    with pytest.raises(InvalidValueError, match="must not be empty"):
        kv.breakeven.tier_ladder(
            lengths, paths, GLM["prefill"], kv_bytes_per_token=1, fixed_bytes_per_request=0
        )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"path": "5 GB/s"}, r"TransferPath\(store_bandwidth"),
        ({"prefill": {16_000: 0.31}}, "must be a PrefillCurve"),
    ],
)
def test_cost_models_of_the_wrong_type_are_refused(changes, said):
    given = {
        "prefill": PrefillCurve.from_points({16_000: 0.31}),
        "path": TransferPath(store_bandwidth="1.71 GB/s"),
    }
    with pytest.raises(InvalidValueError, match=said):
        decide(
            tokens=16_000,
            kv_bytes_per_token=48_408,
            fixed_bytes_per_request=0,
            loading="async",
            **{**given, **changes},
        )


def test_what_is_not_fetched_wins_nowhere():
    decision = decide(
        tokens=16_000,
        kv_bytes_per_token=48_408,
        fixed_bytes_per_request=0,
        prefill=PrefillCurve.from_points({16_000: 0.31}),
        path=TransferPath(store_bandwidth="50 GB/s", chunk_tokens=100_000),
        loading="async",
    )
    assert decision.fetch_wins.startswith("nowhere near")
