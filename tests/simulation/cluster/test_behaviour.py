"""Copies, loads, visibility and staleness, each in a case small enough to work out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from kvcost.errors import CapacityError, InvalidValueError
from kvcost.scenario import ReplicaCosts
from kvcost.simulation.cluster import Behaviour, prepare, simulate_requests
from kvcost.workload.requests import Requests

COSTS = ReplicaCosts(
    prefill_fixed=0.0,
    prefill_slope=1e-3,
    prefill_quadratic=0.0,
    decode_fixed=0.0,
    decode_per_token=0.0,
    kv_tokens=100_000,
    max_batch=8,
    block_tokens=100,
    hbm_blocks=1000,
    host_blocks=math.inf,
    host_seconds_per_token=1e-4,
    copy_seconds_per_token=2e-4,
)
COLD, HIT, COPY = 1.1, 0.1, 0.2  # of 1,000 shared and 100 private tokens


def sharing(arrival, *, groups=None):
    size = len(arrival)
    groups = np.zeros(size, dtype=np.int64) if groups is None else np.asarray(groups)
    return Requests(
        arrival=np.asarray(arrival, dtype=float),
        prompt_tokens=np.full(size, 1100),
        output_tokens=np.ones(size, dtype=np.int64),
        block_tokens=100,
        block_starts=np.arange(size + 1),
        block_ids=groups,
        block_counts=np.full(size, 10),
        group=groups,
        names=tuple(f"g{j}" for j in range(groups.max() + 1)),
    )


def run(requests, policy="least_load", *, params=None, replicas=2, costs=COSTS, **behaviour):
    return simulate_requests(
        prepare(requests, key_blocks=10),
        costs,
        policy=policy,
        params=params,
        replicas=replicas,
        seed=1,
        behaviour=Behaviour(**behaviour),
    )


def replicated(arrival, **given):
    params = {"preset": "study", "copies": 2, "within": 100}
    return run(sharing(arrival), "replicate_on_burst", params=params, **given)


def test_a_copy_waits_for_computed_kv():
    causal = replicated([0.0, 0.5, 1.2])
    assert causal.copies[:, :2].tolist() == [[pytest.approx(1.2), pytest.approx(1.2 + COPY)]]
    eager = replicated([0.0, 0.5, 1.2], copy_visibility="admission")
    assert eager.copies[:, :2].tolist() == [[pytest.approx(0.5), pytest.approx(0.5 + COPY)]]
    # the second request still waits behind the head, the third goes to the copy
    assert causal.ttft.tolist() == pytest.approx([COLD, COLD - 0.5 + HIT, HIT])
    assert eager.ttft.tolist() == pytest.approx([COLD, COLD - 0.5 + HIT, HIT])
    assert eager.replica[2] != eager.replica[0]


def test_a_pipelined_copy_is_there_one_layer_after_the_prefill():
    piped = replicated([0.0, 0.5, 2.0], pipelined_layers=10, copies="nic")
    assert piped.copies[0, 0] == pytest.approx(0.5)
    arrivals = [0.0, 0.5, COLD + COPY / 10 - 1e-6, COLD + COPY / 10 + 1e-6]
    assert len(set(replicated(arrivals[:3], pipelined_layers=10, copies="nic").replica)) == 1
    late = replicated(arrivals, pipelined_layers=10, copies="nic")
    assert late.replica[3] != late.replica[0]


def test_one_network_card_sends_one_copy_after_another():
    params = {"preset": "study", "copies": 4, "within": 100}
    nic = run(sharing([0.0, 2.0]), "replicate_on_burst", params=params, replicas=4, copies="nic")
    starts = sorted(nic.copies[:, 0].tolist())
    assert starts == pytest.approx([2.0, 2.0 + COPY, 2.0 + 2 * COPY])
    assert set(nic.copies[:, 3]) == {nic.replica[0]}
    held = run(sharing([0.0, 2.0]), "replicate_on_burst", params=params, replicas=4)
    assert held.copies[:, 0].tolist() == pytest.approx([2.0, 2.0, 2.0])


def test_a_held_target_computes_nothing_while_it_receives():
    params = {"preset": "study", "copies": 2, "within": 100}
    requests = sharing([0.0, 2.0, 2.05], groups=[0, 0, 1])
    for copies, ttft in (("holds_target", 2.0 + COPY - 2.05 + COLD), ("nic", COLD)):
        found = run(requests, "replicate_on_burst", params=params, copies=copies)
        assert found.replica[2] != found.replica[0]
        assert found.ttft[2] == pytest.approx(ttft)


HOST = replace(COSTS, hbm_blocks=12)  # room for one request


def test_a_prefix_comes_back_from_host_memory():
    """Two groups in turn on one replica push one another out."""
    requests = sharing([0.0, 10.0, 20.0], groups=[0, 1, 0])
    found = run(requests, replicas=1, costs=HOST)
    loaded = found.load[2]
    # the private tokens of the second request and its prefix fill HBM: 10 blocks must come back
    assert loaded == pytest.approx(10 * 100 * 1e-4)
    assert found.hit_tokens.tolist() == [0, 0, 1000]
    assert found.hbm_tokens[2] == 0
    none = run(requests, replicas=1, costs=replace(HOST, host_blocks=0))
    assert none.hit_tokens.tolist() == [0, 0, 0]


def test_a_host_tier_needs_no_network():
    requests = sharing([0.0, 10.0, 20.0], groups=[0, 1, 0])
    found = run(requests, replicas=1, costs=replace(HOST, copy_seconds_per_token=math.inf))
    assert np.all(np.isfinite(found.ttft))


def test_sharers_see_one_asynchronous_load():
    arrival = [0.0, 10.0, *(20.0 + 0.01 * k for k in range(6))]
    requests = sharing(arrival, groups=[0, 1, 0, 0, 0, 0, 0, 0])
    sync = run(requests, replicas=1, costs=HOST)
    loose = run(requests, replicas=1, costs=HOST, loads="async")
    assert loose.start[2] == pytest.approx(20.0 + 0.1)
    assert loose.ttft.max() <= sync.ttft.max() + 1e-9
    assert np.all(loose.load == 0)


def test_asynchronous_loading_lets_others_pass():
    requests = sharing([0.0, 10.0, 20.0, 20.01], groups=[0, 1, 0, 2])
    slow = replace(HOST, host_seconds_per_token=9e-4)
    sync = run(requests, replicas=1, costs=slow)
    loose = run(requests, replicas=1, costs=slow, loads="async")
    assert sync.ttft[3] == pytest.approx(0.9 + HIT - 0.01 + COLD)
    assert loose.ttft[3] == pytest.approx(COLD)
    assert loose.start[2] >= loose.start[3] + COLD


def test_a_pull_is_taken_where_it_is_faster():
    requests = sharing([0.0, 5.0, 5.0])
    found = run(requests, "p2p_pull", replicas=2)
    assert sorted(found.load.tolist()) == pytest.approx([0.0, 0.0, COPY])
    assert found.cold_requests == 1
    slow = replace(COSTS, copy_seconds_per_token=2e-3)
    assert run(requests, "p2p_pull", replicas=2, costs=slow).cold_requests == 2


def test_a_policy_s_least_pull_counts():
    requests = sharing([0.0, 5.0, 5.0])
    pulled = run(requests, "p2p_pull", params={"min_blocks": 10})
    assert pulled.cold_requests == 1
    for policy in ("p2p_pull", "mooncake_conductor"):
        assert run(requests, policy, params={"min_blocks": 11}).load.max() == 0
    assert run(requests, "p2p_pull", params={"min_blocks": 11}).cold_requests == 2


def test_an_index_that_lags_scatters_a_burst():
    arrival = np.arange(4) * 0.01
    fresh = run(sharing(arrival), "cache_aware", params={"preset": "study"}, replicas=4)
    assert fresh.cold_requests == 1
    late = run(
        sharing(arrival), "cache_aware", params={"preset": "study"}, replicas=4, index_lag=1.0
    )
    assert late.cold_requests == 4
    computed = run(
        sharing(arrival),
        "cache_aware",
        params={"preset": "study"},
        replicas=4,
        index_visibility="computed",
    )
    assert computed.cold_requests == 4


def test_stale_loads_make_a_herd():
    arrival = np.arange(20) * 0.01
    distinct = sharing(arrival, groups=np.arange(20))
    fresh = run(distinct, replicas=4)
    stale = run(distinct, replicas=4, load_staleness=10.0)
    assert np.bincount(fresh.replica, minlength=4).max() == 5
    assert stale.maximum > fresh.maximum


def test_parts_add_up_and_nothing_is_lost():
    rng = np.random.default_rng(2)
    requests = sharing(np.sort(rng.uniform(0, 20, 300)), groups=rng.integers(0, 30, 300))
    for behaviour in ({}, {"copies": "nic"}, {"loads": "async"}, {"gateways": 3}):
        found = run(
            requests, "replicate_on_burst", params={"preset": "study"}, replicas=4, **behaviour
        )
        assert found.split.total == pytest.approx(found.mean, rel=1e-9)
        assert np.all(found.start >= found.arrival - 1e-12)
        assert np.all(found.finish >= found.start + found.load + found.prefill - 1e-9)
        assert set(found.replica) <= set(range(4))
        frame = found.to_frame()
        assert len(frame) == 300
        assert frame["ttft"].mean() == pytest.approx(found.mean)


def test_what_does_not_fit_is_refused():
    requests = sharing([0.0])
    with pytest.raises(CapacityError, match="1,101 tokens"):
        run(requests, costs=replace(COSTS, kv_tokens=1000))
    with pytest.raises(InvalidValueError, match="block_tokens"):
        run(requests, costs=replace(COSTS, block_tokens=64))
    with pytest.raises(InvalidValueError, match="replicas"):
        run(requests, replicas=0)
    for wrong in (
        {"gateways": 0},
        {"index_lag": -1.0},
        {"load_staleness": math.nan},
        {"copies": "magic"},
        {"pull_blocks": 1.5},
    ):
        with pytest.raises(InvalidValueError, match=next(iter(wrong))):
            run(requests, **wrong)
