"""Isolated bursts with random arrivals against runs of a public simulator, and against limits.

The rows of single_burst_poisson.csv are runs of jwlaboratory/inference-sim (commit 547d2d5) on the
set-ups of jwlaboratory/bite-the-bullet (commit 26dd06a), whose model is in
`tests.routing.tables`; 2,000 runs a row, but five where copies wait for computed prefixes.
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
from kvcost.routing import even
from kvcost.routing.poisson import POLICIES, POLICIES_BY_ARRIVALS, burst_ttft
from tests.routing import tables
from tests.routing.tables import costs, errors, node


def burst(requests, span, replicas, costs=None, arrivals="poisson", **more):
    return tables.burst(requests, span, replicas, costs, arrivals=arrivals, **more)


answers = partial(tables.answers, "poisson")
chosen = partial(tables.chosen, "poisson")

GROUPS = {
    "random": {"policy": "random"},
    "round_robin": {"policy": "round_robin"},
    "least_load": {"policy": "least_load"},
    "cache_aware": {"policy": "cache_aware"},
    "replicate": {"policy": "replicate_on_burst", "visibility": "admission", "all_copies": False},
    "all copies": {"policy": "replicate_on_burst", "visibility": "admission", "all_copies": True},
}


@pytest.mark.parametrize(
    ("group", "bounds"),
    [
        ("random", (0.003, 0.006, 0.015)),
        ("round_robin", (0.002, 0.006, 0.011)),
        ("least_load", (0.003, 0.01, 0.03)),
        ("cache_aware", (0.004, 0.01, 0.06)),
        ("replicate", (0.005, 0.02, 0.08)),
        ("all copies", (0.007, 0.02, 0.05)),
    ],
)
def test_means_meet_the_table(group, bounds):
    pairs = chosen(**GROUPS[group])
    assert len(pairs) >= 18
    assert np.all(np.quantile(errors(pairs), (0.5, 0.9, 1.0)) < bounds)


def test_only_noise_parts_counted_arrivals_from_the_table():
    # the standard errors of 2,000 runs, where arrivals are counted exactly; all overloaded cells
    # share one noise, so the scores are not independent
    pairs = chosen("round_robin") + chosen("random")
    score = [
        (answer.mean - float(row["mean_ttft"])) / float(row["mean_ttft_se"])
        for row, answer in pairs
        if float(row["mean_ttft_se"]) > 1e-4 * answer.mean
    ]
    assert np.quantile(np.abs(score), 0.95) < 3.5


@pytest.mark.parametrize("group", GROUPS)
def test_percentiles_meet_the_table(group):
    pairs = chosen(**GROUPS[group])
    for share in ("p50", "p95", "p99"):
        near = np.mean(errors(pairs, f"{share}_ttft", share) < 0.1)
        assert near >= 0.9
    if group in {"round_robin", "least_load"}:
        assert np.mean(errors(pairs, "p95_ttft", "p95") < 0.1) >= 0.95
    assert errors(pairs, "longest_ttft", "maximum").max() < 0.2


@pytest.mark.parametrize("group", GROUPS)
def test_cold_requests_meet_the_table(group):
    for row, answer in chosen(**GROUPS[group]):
        assert answer.cold_requests == pytest.approx(float(row["cold_requests"]), abs=0.03)


def test_every_trip_is_found():
    for row, answer in chosen("cache_aware"):
        assert answer.trip_share == pytest.approx(float(row["share_tripped"]), abs=0.02)


def test_copies_of_computed_prefixes_meet_the_noisy_table():
    pairs = chosen("replicate_on_burst", visibility="computed")
    off = errors(pairs)
    noise = np.array([float(row["mean_ttft_se"]) for row, _ in pairs])
    noise /= [answer.mean for _, answer in pairs]
    assert np.median(off) < 0.03
    assert np.quantile(off, 0.9) < 0.1
    assert np.mean(off < 3 * noise + 0.02) > 0.85
    # five runs with the same arrivals: their mean is off everywhere by the same noise


def test_parts_add_up():
    for _, answer in answers():
        parts = answer.split
        assert parts.total == pytest.approx(answer.mean, rel=1e-12)
        for part in (parts.own_head, parts.suffix, parts.copy, parts.decode, parts.own_prefill):
            assert part >= -1e-9
        assert parts.other_cold == 0
        assert answer.p50 <= answer.p95 <= answer.p99 <= answer.maximum * (1 + 1e-12)
        assert answer.mean <= answer.maximum * (1 + 1e-12)
        assert answer.error.kind == "approximation"


# limits from outside


@pytest.mark.parametrize(("service", "span"), [(0.05, 4.0), (0.05, 2.0), (0.2, 1.0)])
@pytest.mark.parametrize("replicas", [1, 2])
def test_warm_burst_is_spitzers(service, span, replicas):
    # equal services without steps: waits of k gaps, sum over n <= k of E[(n s - G_n)+] / n, where
    # G_n is a sum of n R exponential gaps
    requests = 40
    gap = span / (requests - 1)

    def rise(n):
        shape, y = n * replicas, n * service / gap
        law = math.exp(-y) * np.cumprod([1.0, *(y / k for k in range(1, shape + 1))])
        above = 1 - law[:shape].sum()  # at least `shape` events in n services
        return n * service * above - shape * gap * (above - law[shape])

    waits = np.cumsum([0.0, *(rise(n) / n for n in range(1, requests))])
    expected = service + waits[np.arange(requests) // replicas].mean()
    case = burst(requests, span, replicas, node(cold=service, hit=service))
    assert burst_ttft("round_robin", case).mean == pytest.approx(expected, rel=3e-4)
    if replicas == 1:
        assert burst_ttft("cache_aware", case).mean == pytest.approx(expected, rel=3e-4)
        assert burst_ttft("random", case).mean == pytest.approx(expected, rel=3e-4)


def test_short_bursts_wait_behind_the_head():
    # all come before the head is computed: waits c - t + (n - 1) s with mean t of n gaps
    requests, span = 30, 0.5
    case = burst(requests, span, 1, node(cold=20.0), arrivals="uniform")
    n = np.arange(1, requests)
    # n-th of B - 1 uniform times: n W / B
    waits = 20.0 - n * span / requests + (n - 1) * 0.05
    mean = (20.0 + (waits + 0.05).sum()) / requests
    for policy in ("cache_aware", "round_robin", "random", "least_load"):
        assert burst_ttft(policy, case).mean == pytest.approx(mean, rel=1e-5)
    waits = 20.0 - n * span / (requests - 1) + (n - 1) * 0.05
    mean = (20.0 + (waits + 0.05).sum()) / requests
    answer = burst_ttft("cache_aware", replace(case, arrivals="poisson"))
    assert answer.mean == pytest.approx(mean, rel=1e-6)
    assert answer.split.own_head * requests == pytest.approx(
        (20.0 - n * span / (requests - 1)).sum(), rel=1e-6
    )


@pytest.mark.parametrize("arrivals", ["poisson", "uniform"])
@pytest.mark.parametrize("policy", POLICIES)
def test_sparse_requests_do_not_wait(policy, arrivals):
    requests, replicas = 12, 4
    answer = burst_ttft(policy, burst(requests, 1e7, replicas, arrivals=arrivals))
    cold = {
        "round_robin": replicas,
        "random": replicas * (1 - (1 - 1 / replicas) ** requests),
        "least_load": replicas * (1 - (1 - 1 / replicas) ** requests),
    }.get(policy, 1)
    assert answer.cold_requests == pytest.approx(cold, rel=1e-4)
    assert answer.mean == pytest.approx((cold + (requests - cold) * 0.05) / requests, rel=1e-4)


@pytest.mark.parametrize("arrivals", ["poisson", "uniform"])
@pytest.mark.parametrize("policy", POLICIES)
def test_few_requests(policy, arrivals):
    case = burst(1, 10.0, 4, costs("70b_h100x4", 8192), arrivals)
    one = burst_ttft(policy, case)
    assert one.mean == one.p50 == one.p99 == one.maximum == case.node.cold
    assert burst_ttft(policy, replace(case, requests=9, span=0.0)) == even.burst_ttft(
        policy, replace(case, requests=9, span=0.0, arrivals="even")
    )
    for requests in (2, 3, 5):
        for replicas in (1, 2, 8):
            case = burst(requests, 1.0, replicas, arrivals=arrivals)
            answer = burst_ttft(policy, case)
            assert 0.05 < answer.mean <= 1.1
            assert answer.split.total == pytest.approx(answer.mean, rel=1e-12)


@pytest.mark.parametrize("arrivals", ["poisson", "uniform"])
def test_all_policies_agree_on_one_replica(arrivals):
    case = burst(50, 3.0, 1, costs("qwen3_8b_h100x4", 32768), arrivals)
    means = [burst_ttft(policy, case).mean for policy in POLICIES]
    assert means == pytest.approx([means[0]] * len(means), rel=1e-9)


def test_uniform_arrivals_end_on_time():
    # the arrivals of an overloaded burst: uniform ones have the mean of even ones and less spread
    case = burst(300, 2.0, 2, costs("70b_h100x4", 8192))
    for policy in ("round_robin", "random", "least_load"):
        mean = burst_ttft(policy, replace(case, arrivals="uniform")).mean
        assert mean == pytest.approx(burst_ttft(policy, case).mean, rel=0.02)


def test_the_fallback_spreads_a_burst():
    case = burst(80, 0.1, 2)
    stays = burst_ttft("cache_aware", case, threshold_abs=1000)
    assert (stays.trip_share, stays.cold_requests) == (0, 1)
    spread = burst_ttft("cache_aware", case)
    assert spread.trip_share == pytest.approx(1, abs=1e-6)
    assert spread.cold_requests == pytest.approx(2, abs=1e-6)
    # 65 further requests within the head: a Poisson number; later the queue only falls
    case = burst(200, 60.0, 2, node(cold=15.0, hit=1e-6))
    mean = 15.0 * 199 / 60.0
    law = np.exp(-mean) * np.cumprod([1.0, *(mean / k for k in range(1, 65))])
    share = burst_ttft("cache_aware", case).trip_share
    assert share == pytest.approx(1 - law.sum(), abs=0.01)


def test_replication_waits_for_repeats_within_the_window():
    case = burst(20, 38.0, 4, node(cold=5.0))
    aware = burst_ttft("cache_aware", case)
    seldom = burst_ttft("replicate_on_burst", case, window=1e-9)
    assert seldom.mean == pytest.approx(aware.mean, rel=1e-6)
    assert burst_ttft("replicate_on_burst", case, window=2.0).mean < aware.mean
    one = burst_ttft("replicate_on_burst", case, window=2.0, copies=1)
    assert one.mean == pytest.approx(aware.mean, rel=1e-9)
    later = burst_ttft("replicate_on_burst", case, repeats=4, window=20.0)
    assert later.mean > burst_ttft("replicate_on_burst", case, window=20.0).mean
    assert len(later.warnings) == 1


def test_copies_of_computed_prefixes_gain_little():
    case = burst(500, 60.0, 4, costs("70b_h100x4", 65536))
    aware, copied, late = (
        burst_ttft("cache_aware", case).mean,
        burst_ttft("replicate_on_burst", case).mean,
        burst_ttft("replicate_on_burst", case, visibility="computed").mean,
    )
    assert copied < 0.25 * aware
    assert 0.95 * aware < late < aware


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"requests": 0}, "requests"),
        ({"replicas": 2.5}, "replicas"),
        ({"span": -1.0}, "span"),
        ({"span": math.nan}, "span"),
        ({"arrivals": "even"}, "arrivals"),
        ({"spacing": "wide"}, "spacing"),
        ({"node": node(cold=0.0)}, "cold"),
        ({"node": node(hit=2.0)}, "hit"),
        ({"node": node(slots=0)}, "slots"),
        ({"node": node(copy=math.inf)}, "copy"),
        ({"node": node(output_tokens=2)}, "output_tokens"),
    ],
)
def test_bad_cases_are_refused(change, field):
    with pytest.raises(InvalidValueError) as caught:
        burst_ttft("replicate_on_burst", replace(burst(10, 1.0, 2), **change))
    assert caught.value.field == field


@pytest.mark.parametrize(
    "change", [{"copies": 0}, {"window": -1.0}, {"threshold_rel": -1.0}, {"visibility": "later"}]
)
def test_bad_numbers_of_policies_are_refused(change):
    with pytest.raises(InvalidValueError) as caught:
        burst_ttft("cache_aware", burst(10, 1.0, 2), **change)
    assert caught.value.field in change


def test_unknown_policies_are_refused():
    with pytest.raises(UnknownNameError, match="round_robin"):
        burst_ttft("round_robbin", burst(10, 1.0, 2))
    assert set(POLICIES_BY_ARRIVALS) == {"poisson", "uniform"}


def test_plain_python_gives_the_same():
    code = (
        "from kvcost.routing.cases import Burst, NodeCosts\n"
        "from kvcost.routing.poisson import POLICIES, burst_ttft\n"
        "node = NodeCosts(cold=0.1, hit=0.02, copy=0.01, slots=4, step_fixed=0.01, "
        "step_each=0.001)\n"
        "case = Burst(requests=12, span=1.0, arrivals='poisson', replicas=3, node=node)\n"
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
