"""Design of replication: against the public study, against simulation, and in its limits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from kvcost.errors import InvalidValueError
from kvcost.queueing.burst.slots import cold_then_warm_waits, copy_waits
from kvcost.routing.cases import Burst, NodeCosts
from kvcost.routing.replication import (
    Replication,
    detection_time,
    ready_times,
    replicated_burst,
    staggered_waits,
)
from kvcost.routing.replication_design import (
    benefit_curve,
    best_copies,
    break_even_bandwidth,
    copy_cost,
    shortest_burst,
)
from kvcost.routing.replication_detection import poisson_detection
from kvcost.routing.replication_formulas import (
    chained_copies_seconds,
    copy_backlog_requests,
    following_copy_ready_time,
    tree_copies_seconds,
)
from kvcost.routing.replication_trigger import best_trigger

# 70b on 4 H100: 65,536 shared and 256 own tokens
LLAMA = NodeCosts(
    cold=4.696578, hit=0.018275, copy=0.107374, slots=8, step_fixed=0.013170, step_each=0.0020112
)
STUDY = Burst(requests=500, span=60.0, arrivals="even", replicas=4, node=LLAMA)
LIGHT = NodeCosts(cold=4.7, hit=0.2, copy=0.11, slots=10**6, step_fixed=0.0, step_each=0.0)
TIGHT = Burst(requests=100, span=5.0, arrivals="even", replicas=4, node=LIGHT)


def test_the_study_copies_before_the_prefix_exists():
    # jwlaboratory/bite-the-bullet 26dd06a: copies ready at 0.228 s, the prefill ends at 4.68 s
    eager = replicated_burst(STUDY, Replication(copies=3, visibility="admission"))
    causal = replicated_burst(STUDY, Replication(copies=3))
    assert eager.ready == pytest.approx((0.228,) * 3, abs=5e-4)
    assert causal.ready == pytest.approx((4.68 + 0.107,) * 3, abs=5e-3)


def test_the_study_gains_little_once_copies_are_causal():
    # mean TTFT of the same study: 0.0368 eager, 0.2396 causal, 0.2444 without copies
    rule = Replication(copies=3, rebalance=False)
    eager = replicated_burst(STUDY, replace(rule, visibility="admission"))
    assert eager.mean == pytest.approx(0.0368, rel=0.01)
    assert replicated_burst(STUDY, rule).mean == pytest.approx(0.2396, rel=0.01)
    assert replicated_burst(STUDY, replace(rule, copies=0)).mean == pytest.approx(0.2444, rel=0.01)


@pytest.mark.parametrize("gap", [0.0, 0.03, 0.2])
def test_equal_copies_are_the_sorted_slots(gap):
    ready = (5.0,) * 3
    ours = staggered_waits(requests=80, gap=gap, cold_seconds=4.7, warm_seconds=0.21, ready=ready)
    theirs, _ = copy_waits(
        servers=4,
        requests=80,
        gap=gap,
        cold_seconds=4.7,
        warm_seconds=0.21,
        available_seconds=5.0,
    )
    assert ours == pytest.approx(theirs)


def test_staggered_copies_are_the_sorted_slots_while_all_are_busy():
    ready = (3.0, 4.5, 6.0)
    later = np.arange(60) * 0.3
    slots = np.sort(np.concatenate([[0.0], 5.0 + later, *(time + later for time in ready)]))
    ours = staggered_waits(requests=60, gap=0.01, cold_seconds=5.0, warm_seconds=0.3, ready=ready)
    assert ours == pytest.approx(slots[:60] - 0.01 * np.arange(60))


def test_no_copy_is_one_replica():
    alone = replicated_burst(TIGHT, Replication(copies=0))
    waits, _ = cold_then_warm_waits(
        servers=1, requests=100, gap=5 / 99, cold_seconds=4.7, warm_seconds=0.2
    )
    assert alone.mean == pytest.approx((waits.sum() + 4.7 + 99 * 0.2) / 100)
    assert alone.ready == ()
    assert math.isnan(alone.drain)


def test_multicasts():
    def ready(multicast, **changes):
        rule = Replication(copies=7, multicast=multicast, layers=50, **changes)
        return ready_times(rule=rule, detection=0.5, source_ready=4.0, copy_seconds=0.4)

    assert ready("parallel") == pytest.approx([4.4] * 7)
    assert ready("serial") == pytest.approx([4 + 0.4 * i for i in range(1, 8)])
    assert ready("chain") == pytest.approx([4.4 + 0.008 * i for i in range(7)])
    assert ready("tree") == pytest.approx([4.4, 4.8, 4.8, 5.2, 5.2, 5.2, 5.2])
    assert ready("chain", pipelined=True) == pytest.approx([4.008 + 0.008 * i for i in range(7)])
    assert tree_copies_seconds(copy_seconds=0.4, prefix_copies=7) == pytest.approx(1.2)
    assert chained_copies_seconds(
        copy_seconds=0.4, prefix_copies=7, model_layers=50
    ) == pytest.approx(0.448)


@pytest.mark.parametrize("detection", [0.1, 2.0, 3.9, 6.0])
@pytest.mark.parametrize("copy", [0.1, 3.0, 9.0])
def test_following_copies_by_their_layers(detection, copy):
    layers, prefill = 40, 4.0
    free = detection
    for layer in range(1, layers + 1):
        free = max(free, layer * prefill / layers) + copy / layers
    found = following_copy_ready_time(
        detection_seconds=detection,
        source_ready_seconds=prefill,
        copy_seconds=copy,
        model_layers=layers,
    )
    # a copy that starts between two layers may wait for some of the rest: at most one layer's time
    assert found == pytest.approx(free, abs=prefill / layers)
    if copy in {3.0, 9.0} and detection in {0.1, 6.0}:
        assert found == pytest.approx(free)


def test_backlog_counts_what_waits():
    found = replicated_burst(TIGHT, Replication(copies=3))
    formula = copy_backlog_requests(
        burst_requests=100,
        arrival_gap=TIGHT.gap,
        cold_seconds=4.7,
        warm_seconds=0.2,
        copy_ready_seconds=found.ready[0],
    )
    assert found.waiting == formula


@pytest.mark.parametrize(
    ("repeats", "window"),
    [(2, 0.6), (3, 0.6), (4, 0.6), (2, 2.0), (3, 2.0), (4, 2.0), (6, 2.0), (3, 5.0), (6, 5.0)],
)
def test_detection_of_poisson_arrivals_against_simulation(repeats, window):
    rng = np.random.default_rng(7)
    times = []
    for _ in range(3000):
        arrivals = np.zeros(0)
        last = 0.0
        while True:
            more = last + np.cumsum(rng.exponential(1.0, 200))
            arrivals = np.concatenate([arrivals if arrivals.size else [0.0], more])
            last = arrivals[-1]
            close = arrivals[repeats - 1 :] - arrivals[: arrivals.size - repeats + 1] <= window
            if close.any():
                times.append(arrivals[repeats - 1 + int(np.argmax(close))])
                break
    found = poisson_detection(arrival_rate=1.0, repeats=repeats, detection_window=window)
    error = np.std(times) / math.sqrt(len(times))
    allowed = 3.3 * error + (0.02 * found.seconds if found.error.kind != "exact" else 0)
    assert abs(np.mean(times) - found.seconds) < allowed


def test_detection_in_its_limits():
    for repeats in range(1, 9):
        found = poisson_detection(arrival_rate=4.0, repeats=repeats, detection_window=100.0)
        assert found.seconds == pytest.approx((repeats - 1) / 4, rel=1e-6)
    # three within a window that is far shorter than a gap: 2 / (rate^3 Z^2)
    rare = poisson_detection(arrival_rate=1.0, repeats=3, detection_window=1e-3)
    assert rare.seconds == pytest.approx(2e6, rel=5e-3)
    even = replace(TIGHT, span=99.0)
    assert detection_time(even, Replication(copies=1, repeats=3, window=2.0)) == 2.0
    assert detection_time(even, Replication(copies=1, repeats=3, window=1.9)) == math.inf
    few = replace(TIGHT, requests=2)
    assert detection_time(few, Replication(copies=1, repeats=3)) == math.inf


def test_near_the_double_root_of_three_repeats():
    at = math.log(4)
    beside = [
        poisson_detection(arrival_rate=1.0, repeats=3, detection_window=at + d).seconds
        for d in (-1e-4, 0.0, 1e-4)
    ]
    assert beside[1] == pytest.approx((beside[0] + beside[2]) / 2, rel=1e-6)


def test_more_copies_save_less_each():
    curve = benefit_curve(TIGHT, Replication(copies=0))
    gains = np.diff([each.saved for each in curve])
    assert (gains > 0).all()
    assert (np.diff(gains) < 0).all()
    for price in 0.0, gains[2] * 1.01, gains[1] * 1.01, gains[0] * 1.01:
        best = best_copies(TIGHT, Replication(copies=0), cost_per_copy=price).best
        assert best.copies == sum(gains > price)


def test_shortest_burst_is_where_paying_begins():
    rule = Replication(copies=3)
    found = shortest_burst(TIGHT, rule, cost_per_copy=5.0)
    n = int(found.value)

    def net(requests):
        case = replace(TIGHT, requests=requests, span=TIGHT.gap * (requests - 1))
        return benefit_curve(case, rule, cost_per_copy=5.0)[3].net

    assert net(n) > 0 >= net(n - 1)
    assert shortest_burst(replace(TIGHT, replicas=1), rule).value == math.inf
    slow = replace(TIGHT, span=2000.0)
    assert shortest_burst(slow, rule, cost_per_copy=1.0).value == math.inf


def test_break_even_bandwidth_is_where_paying_begins():
    rule = Replication(copies=3)
    rate = break_even_bandwidth(TIGHT, rule, copy_bytes=2e10, cost_per_copy=10.0).value

    def net(bandwidth):
        case = replace(TIGHT, node=replace(LIGHT, copy=2e10 / bandwidth))
        return benefit_curve(case, rule, cost_per_copy=10.0)[3].net

    assert net(rate * 1.001) > 0 >= net(rate * 0.999)
    never = break_even_bandwidth(TIGHT, rule, copy_bytes=2e10, cost_per_copy=1e6)
    assert never.value == math.inf


def test_causal_copies_lose_nothing_by_more_repeats():
    bursts = [(TIGHT, 0.01)]
    causal = best_trigger(bursts, Replication(copies=3), steady_rates=[0.5] * 20, cost_per_copy=1.0)
    eager = best_trigger(
        bursts,
        Replication(copies=3, visibility="admission"),
        steady_rates=[0.5] * 20,
        cost_per_copy=1.0,
    )
    assert causal.repeats >= eager.repeats
    assert causal.noticed == eager.noticed == 1.0
    assert causal.unneeded <= eager.unneeded


def test_the_best_trigger_beats_its_neighbours():
    slow = replace(TIGHT, requests=20, span=19.0, node=replace(LIGHT, hit=1.2))
    traffic = [(TIGHT, 0.01), (slow, 0.02)]
    settings = {"steady_rates": [0.3] * 10, "cost_per_copy": 2.0}
    rule = Replication(copies=2)
    best = best_trigger(traffic, rule, **settings)
    for repeats in range(1, 8):
        for window in 0.0, 0.05, 0.2, 1.0, 3.0:
            fixed = best_trigger(traffic, rule, repeats=repeats, window=window, **settings)
            assert fixed.net <= best.net + 1e-12


def test_costs_add_up():
    assert copy_cost(copy_bytes=1e9, seconds_per_byte=1e-9) == pytest.approx(1.0)
    with pytest.raises(InvalidValueError, match="copy_bytes"):
        copy_cost(copy_bytes=-1.0)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"multicast": "flood"}, "multicast"),
        ({"visibility": "later"}, "visibility"),
        ({"pipelined": True, "visibility": "admission"}, "pipelined"),
        ({"copies": -1}, "copies"),
        ({"window": -1.0}, "window"),
        ({"layers": 0}, "layers"),
    ],
)
def test_rules_are_checked(changes, field):
    with pytest.raises(InvalidValueError) as raised:
        replicated_burst(TIGHT, Replication(**{"copies": 1, **changes}))
    assert raised.value.field == field


def test_only_even_bursts_are_followed():
    with pytest.raises(InvalidValueError, match="even"):
        replicated_burst(replace(TIGHT, arrivals="poisson"), Replication(copies=1))
