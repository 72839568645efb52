"""Isolated even bursts against runs of a public simulator, and against limits known from outside.

The rows of single_burst_even.csv are runs of jwlaboratory/inference-sim (commit 547d2d5) on the
set-ups of jwlaboratory/bite-the-bullet (commit 26dd06a), whose model is in
`tests.routing.tables`.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from kvcost.errors import InvalidValueError, UnknownNameError
from kvcost.routing.even import POLICIES, burst_ttft
from tests.routing import tables
from tests.routing.tables import costs, errors, node

burst = partial(tables.burst, arrivals="even")
answers = partial(tables.answers, "even")
chosen = partial(tables.chosen, "even")

GROUPS = {
    "round_robin": {"policy": "round_robin"},
    "least_load": {"policy": "least_load"},
    "cache_aware": {"policy": "cache_aware"},
    "replicate": {"policy": "replicate_on_burst", "visibility": "admission", "all_copies": False},
    "all copies": {"policy": "replicate_on_burst", "visibility": "admission", "all_copies": True},
    "computed": {"policy": "replicate_on_burst", "visibility": "computed"},
    "random": {"policy": "random"},
}


def test_costs_are_those_of_the_study():
    published = {  # cold, hit, copy, slots, step alone, step at K
        "70b_h100x4": (4.696578, 0.018275, 0.107374, 8, 0.015183, 0.029260),
        "qwen3_8b_h100x4": (0.544830, 0.002120, 0.048318, 31, 0.002433, 0.029582),
        "glm52_h100x8": (1.330475, 0.005177, 0.003681, 181, 0.001002, 0.013410),
        "dense1t_b300x4": (29.240889, 0.113778, 0.040265, 9, 0.039694, 0.044747),
    }
    for setup, row in published.items():
        made = costs(setup, 65536)
        shown = (made.cold, made.hit, made.copy, made.slots, made.step(1), made.step(made.slots))
        assert shown == pytest.approx(row, abs=6e-7)


@pytest.mark.parametrize("group", GROUPS)
def test_means_meet_the_table(group):
    pairs = chosen(**GROUPS[group])
    assert len(pairs) >= 17
    median, ninety, worst = np.quantile(errors(pairs), (0.5, 0.9, 1.0))
    bounds = (0.003, 0.005, 0.02) if group == "random" else (1e-5, 0.003, 0.006)
    assert median < bounds[0]
    assert ninety < bounds[1]
    assert worst < bounds[2]


@pytest.mark.parametrize("group", GROUPS)
def test_percentiles_meet_the_table(group):
    pairs = chosen(**GROUPS[group])
    for share in ("p50", "p95", "p99"):
        off = errors(pairs, f"{share}_ttft", share)
        assert np.mean(off < 0.1) >= 0.97
    assert np.mean(errors(pairs, "p95_ttft", "p95") < 0.1) == 1
    assert errors(pairs, "longest_ttft", "maximum").max() < 0.01


@pytest.mark.parametrize("group", GROUPS)
def test_cold_requests_meet_the_table(group):
    for row, answer in chosen(**GROUPS[group]):
        assert answer.cold_requests == pytest.approx(float(row["cold_requests"]), abs=0.03)


def test_exact_answers_equal_what_is_not_random():
    exact = [
        (row, answer)
        for row, answer in answers()
        if answer.error.kind == "exact"
        and float(row["mean_ttft_se"]) < 1e-12
        and row["runs"] != "5"  # five runs do not show that nothing is random
    ]
    assert len(exact) > 150
    assert errors(exact).max() < 2e-6  # rare cold requests that the runs have not seen


def test_every_trip_is_found():
    shares = [(float(row["share_tripped"]), a.trip_share) for row, a in chosen("cache_aware")]
    assert sum(share > 0 for share, _ in shares) == 13
    for share, found in shares:
        assert found == pytest.approx(share, abs=1e-9)


def test_copies_of_computed_prefixes_gain_little():
    case = burst(500, 60.0, 4, costs("70b_h100x4", 65536))
    aware = burst_ttft("cache_aware", case).mean
    eager = burst_ttft("replicate_on_burst", case).mean
    causal = burst_ttft("replicate_on_burst", case, visibility="computed").mean
    assert (aware, causal, eager) == pytest.approx((0.2444, 0.2396, 0.0368), abs=1e-4)


def test_parts_add_up():
    for _, answer in answers():
        parts = answer.split
        assert parts.total == pytest.approx(answer.mean, rel=1e-12)
        for part in (parts.own_head, parts.suffix, parts.copy, parts.decode, parts.own_prefill):
            assert part >= -1e-12
        assert parts.other_cold == 0
        assert answer.p50 <= answer.p95 <= answer.p99
        assert answer.mean <= answer.maximum * (1 + 1e-12)


# limits from outside


@pytest.mark.parametrize(
    ("policy", "requests", "span"),
    [
        ("round_robin", 10, 0.0),
        ("round_robin", 23, 1.0),
        ("round_robin", 40, 3.0),
        ("round_robin", 40, 7.0),
        ("least_load", 10, 0.0),
        ("least_load", 43, 0.0),
    ],
)
def test_equal_services_wait_as_even_arrivals_at_several_servers(policy, requests, span):
    # w_k = floor(k/c) (s - c d)+ for d = W/B
    case = burst(requests, span, 4, node(cold=0.5, hit=0.5), spacing="exclusive")
    waits = np.arange(requests) // 4 * max(0.5 - 4 * span / requests, 0.0)
    answer = burst_ttft(policy, case)
    assert answer.mean == pytest.approx(0.5 + waits.mean(), rel=1e-9)
    assert answer.maximum == pytest.approx(0.5 + waits.max(), rel=1e-9)


def test_cold_then_warm_servers_take_slots_in_order():
    # slots {i d + S0 + n s1}, sorted; every server stays busy
    requests, replicas, gap, cold, warm = 60, 3, 0.01, 1.0, 0.2
    slots = [
        i * gap + n
        for i in range(replicas)
        for n in (0.0, *(cold + k * warm for k in range(requests)))
    ]
    waits = np.sort(slots)[:requests] - gap * np.arange(requests)
    case = burst(requests, gap * (requests - 1), replicas, node(cold=cold, hit=warm))
    mean = np.maximum(waits, 0).mean() + (replicas * cold + (requests - replicas) * warm) / requests
    assert burst_ttft("round_robin", case).mean == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("policy", POLICIES)
def test_one_replica_serves_a_batch_one_after_another(policy):
    answer = burst_ttft(policy, burst(60, 0.0, 1))
    assert answer.mean == pytest.approx(1.0 + 0.05 * 59 / 2, rel=1e-9)
    assert answer.maximum == pytest.approx(1.0 + 0.05 * 59, rel=1e-9)
    single = node(slots=1, step_fixed=0.01, step_each=0.02)
    answer = burst_ttft(policy, burst(60, 0.0, 1, single))
    assert answer.mean == pytest.approx(1.0 + (0.05 + 0.03) * 59 / 2, rel=1e-9)
    assert answer.split.decode == pytest.approx(0.03 * 59 / 2, rel=1e-9)


def test_hits_queue_behind_their_own_head():
    # s + [Tp + sum of max(0, w0 - i (a - x))]/B with x = s where decoding takes no time
    cold, hit, gap = 3.0, 0.02, 0.1
    case = burst(50, gap * 49, 4, node(cold=cold, hit=hit))
    queue = sum(max(0.0, cold - hit - i * (gap - hit)) for i in range(1, 50))
    mean = hit + (cold - hit + queue) / 50
    assert burst_ttft("cache_aware", case).mean == pytest.approx(mean, rel=1e-9)
    # copies are there for the request after the first ceil((g + copy)/g) - 1 hits
    held = math.ceil((gap + 0.25) / gap) - 1
    queue = sum(max(0.0, cold - hit - i * (gap - hit)) for i in range(1, held + 1))
    answer = burst_ttft("replicate_on_burst", replace(case, node=replace(case.node, copy=0.25)))
    assert answer.mean == pytest.approx(hit + (cold - hit + queue) / 50, rel=1e-9)


def test_batch_of_random_choices():
    # all at once, no decoding: n requests of a replica take c + (0 + ... + n - 1) h each
    requests, replicas = 30, 3
    law = [
        math.comb(requests, n) * (1 / replicas) ** n * (1 - 1 / replicas) ** (requests - n)
        for n in range(requests + 1)
    ]
    total = sum(p * (n * 1.0 + 0.05 * n * (n - 1) / 2) for n, p in enumerate(law))
    answer = burst_ttft("random", burst(requests, 0.0, replicas))
    assert answer.mean == pytest.approx(replicas * total / requests, rel=1e-9)


@pytest.mark.parametrize("policy", ["random", "least_load"])
def test_rare_requests_find_idle_replicas_at_random(policy):
    requests, replicas = 12, 4
    answer = burst_ttft(policy, burst(requests, 100.0, replicas))
    cold = replicas * (1 - (1 - 1 / replicas) ** requests)
    assert answer.cold_requests == pytest.approx(cold, rel=1e-9)
    assert answer.mean == pytest.approx((cold + (requests - cold) * 0.05) / requests, rel=1e-9)


@pytest.mark.parametrize("policy", POLICIES)
def test_few_requests(policy):
    one = burst_ttft(policy, burst(1, 10.0, 4, costs("glm52_h100x8", 8192)))
    assert one.mean == one.p50 == one.p99 == one.maximum == costs("glm52_h100x8", 8192).cold
    two = burst_ttft(policy, burst(2, 0.0, 8))
    assert 1.0 <= two.mean <= 1.025
    slow = burst_ttft(policy, burst(20, 1.0, 2, node(cold=1e6)))
    assert math.isfinite(slow.mean)


def test_all_policies_agree_on_one_replica():
    case = burst(50, 3.0, 1, costs("qwen3_8b_h100x4", 32768))
    answers = [burst_ttft(policy, case) for policy in POLICIES]
    for answer in answers:
        assert answer.mean == pytest.approx(answers[0].mean, rel=1e-9)
        assert answer.error.kind == "exact"


def test_replication_waits_for_repeats_within_the_window():
    case = burst(20, 38.0, 4, node(cold=5.0))
    aware = burst_ttft("cache_aware", case)
    assert burst_ttft("replicate_on_burst", case).mean == pytest.approx(aware.mean, rel=1e-12)
    assert burst_ttft("replicate_on_burst", case, window=2.0).mean < aware.mean
    assert burst_ttft("replicate_on_burst", case, window=2.0, copies=1).mean == pytest.approx(
        aware.mean, rel=1e-12
    )


def test_the_fallback_spreads_a_burst():
    case = burst(80, 0.0, 2)
    stays = burst_ttft("cache_aware", case, threshold_abs=1000)
    assert (stays.trip_share, stays.cold_requests) == (0, 1)
    spread = burst_ttft("cache_aware", case)
    assert (spread.trip_share, spread.cold_requests) == (1, 2)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"requests": 0}, "requests"),
        ({"replicas": 2.5}, "replicas"),
        ({"span": -1.0}, "span"),
        ({"span": math.nan}, "span"),
        ({"arrivals": "poisson"}, "arrivals"),
        ({"spacing": "wide"}, "spacing"),
        ({"node": node(cold=0.0)}, "cold"),
        ({"node": node(hit=2.0)}, "hit"),
        ({"node": node(slots=0)}, "slots"),
        ({"node": node(step_fixed=-1.0)}, "step_fixed"),
        ({"node": node(step_each=math.inf)}, "step_each"),
        ({"node": node(copy=math.inf)}, "copy"),
        ({"node": node(output_tokens=2)}, "output_tokens"),
    ],
)
def test_bad_cases_are_refused(change, field):
    with pytest.raises(InvalidValueError) as caught:
        burst_ttft("replicate_on_burst", replace(burst(10, 1.0, 2), **change))
    assert caught.value.field == field


@pytest.mark.parametrize(
    "change",
    [
        {"copies": 0},
        {"repeats": 0},
        {"window": -1.0},
        {"threshold_abs": math.nan},
        {"threshold_rel": -1.0},
        {"visibility": "later"},
    ],
)
def test_bad_numbers_of_policies_are_refused(change):
    with pytest.raises(InvalidValueError) as caught:
        burst_ttft("cache_aware", burst(10, 1.0, 2), **change)
    assert caught.value.field in change


def test_unknown_policies_are_refused():
    with pytest.raises(UnknownNameError, match="round_robin"):
        burst_ttft("round_robbin", burst(10, 1.0, 2))


def test_plain_python_gives_the_same():
    code = (
        "from kvcost.routing.cases import Burst, NodeCosts\n"
        "from kvcost.routing.even import POLICIES, burst_ttft\n"
        "node = NodeCosts(cold=0.5, hit=0.02, copy=0.03, slots=4, step_fixed=0.01, "
        "step_each=0.001)\n"
        "case = Burst(requests=60, span=1.0, arrivals='even', replicas=3, node=node)\n"
        "print([burst_ttft(p, case).mean for p in POLICIES])\n"
    )
    space: dict[str, object] = {}
    exec(code.rsplit("print", 1)[0], space)
    compiled = [burst_ttft(policy, space["case"]).mean for policy in POLICIES]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=True, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    plain = [float(number) for number in done.stdout.strip().strip("[]").split(",")]
    assert plain == pytest.approx(compiled, rel=1e-9)
