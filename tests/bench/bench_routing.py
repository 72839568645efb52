"""Speed of the cluster simulator and of the routing forms; reported, never asserted.

The named baseline is a cluster that keeps every block in ordered dictionaries, as public simulators
in plain Python do; it runs the same requests in the same session.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kvcost.planning import compare
from kvcost.routing import registry
from kvcost.scenario import BehaviourPart, BurstWork, PolicyPart, load_scenario
from kvcost.simulation.cluster import prepare, simulate_requests
from kvcost.simulation.cluster.scenarios import behaviour_of
from kvcost.workload.requests import Requests

REQUESTS = 206_000
OWN = ("random", "round_robin", "least_load", "cache_aware", "replicate_on_burst")


def windows(count):
    """Windows of 4,120 requests one after another, with one id for each of 257 blocks."""
    work = load_scenario("bullet-70b-window").workload
    parts = [
        work.draw(np.random.default_rng(seed), block_tokens=256).expanded() for seed in range(count)
    ]
    shift = np.arange(count) * 10_000_000
    sizes = np.concatenate([[0], np.cumsum([part.block_ids.size for part in parts])])
    return Requests(
        arrival=np.concatenate([part.arrival + 600.0 * k for k, part in enumerate(parts)]),
        prompt_tokens=np.concatenate([part.prompt_tokens for part in parts]),
        output_tokens=np.concatenate([part.output_tokens for part in parts]),
        block_tokens=256,
        block_starts=np.concatenate(
            [part.block_starts[:-1] + sizes[k] for k, part in enumerate(parts)] + [sizes[-1:]]
        ),
        block_ids=np.unique(
            np.concatenate([part.block_ids + shift[k] for k, part in enumerate(parts)]),
            return_inverse=True,
        )[1].reshape(-1),
    )


@pytest.fixture(scope="module")
def raw():
    return windows(50)


def _run(scenario, prepared, policy, params=None):
    return simulate_requests(
        prepared,
        scenario.costs(),
        policy=policy,
        params=params,
        replicas=4,
        seed=1,
        behaviour=behaviour_of(scenario),
    )


GROUP = "206,000 requests of 257 blocks on 4 replicas"


@pytest.mark.benchmark(group=GROUP)
class TestCluster:
    def test_cache_aware_from_raw_block_ids(self, benchmark, raw):
        scenario = load_scenario("bullet-70b-window")
        run = benchmark(lambda: _run(scenario, prepare(raw), "cache_aware", {"preset": "study"}))
        assert run.arrival.size == REQUESTS
        benchmark.extra_info["requests"] = REQUESTS

    @pytest.mark.parametrize("policy", ["cache_aware", "replicate_on_burst", "least_load"])
    def test_lists_prepared_once(self, benchmark, raw, policy):
        scenario = load_scenario("bullet-70b-window")
        prepared = prepare(raw)
        benchmark(_run, scenario, prepared, policy)
        benchmark.extra_info["requests"] = REQUESTS

    @pytest.mark.parametrize("policy", ["cache_aware", "least_load"])
    def test_without_lists(self, benchmark, raw, policy):
        scenario = load_scenario("bullet-70b-window")
        bare = replace(
            raw,
            prompt_tokens=np.full(REQUESTS, 256),
            block_starts=np.zeros(REQUESTS + 1, dtype=np.int64),
            block_ids=np.zeros(0, dtype=np.int64),
        )
        benchmark(_run, scenario, prepare(bare), policy)
        benchmark.extra_info["requests"] = REQUESTS


@pytest.mark.benchmark(group="4,120 requests of 257 blocks, cache aware")
class TestBesideBlockLists:
    def test_kvcost(self, benchmark):
        scenario = load_scenario("bullet-70b-window")
        prepared = prepare(windows(1))
        benchmark(_run, scenario, prepared, "cache_aware", {"preset": "study"})

    def test_block_lists_in_plain_python(self, benchmark):
        from tests.simulation.cluster.blocks import Costs, Job, run

        scenario = load_scenario("bullet-70b-window")
        costs, requests = scenario.costs(), windows(1)
        plain = Costs(
            slope=costs.prefill_slope,
            step_fixed=costs.decode_fixed,
            step_token=costs.decode_per_token,
            host_block=costs.host_seconds_per_token * 256,
            kv_tokens=costs.kv_tokens,
            max_batch=256,
            block=256,
            hbm_blocks=costs.hbm_blocks,
            host_blocks=-1,
        )
        starts = requests.block_starts
        lists = [requests.block_ids[a:b].tolist() for a, b in pairwise(starts)]

        def choose(i, job, loads, matches):
            if max(loads) > 64 and max(loads) > 1.5 * min(loads):
                return loads.index(min(loads))
            return min(range(4), key=lambda r: (-matches[r], loads[r]))

        def once():
            jobs = [
                Job(float(t), 65_792, 1, blocks, [("own", i)])
                for i, (t, blocks) in enumerate(zip(requests.arrival, lists, strict=True))
            ]
            run(jobs, plain, replicas=4, choose=choose)

        benchmark.pedantic(once, rounds=3)


def _bursts(count):
    """Drawn even and random bursts, over 2 to 8 replicas of two models."""
    rng = np.random.default_rng(4)
    bases = [load_scenario("bullet-70b-burst"), load_scenario("bullet-qwen3-8b-burst")]
    for _ in range(count):
        base = bases[rng.integers(2)]
        work = BurstWork(
            requests=int(rng.integers(50, 501)),
            span=float(rng.choice([1.0, 10.0, 60.0])),
            shared_tokens=int(rng.choice([8192, 65_536])),
            arrivals=str(rng.choice(["even", "poisson"])),
        )
        yield base.replace(
            workload=work,
            replica=replace(base.replica, count=int(rng.choice([2, 4, 8]))),
            behaviour=BehaviourPart(visibility="admission"),
            policy=PolicyPart(name="cache_aware", params={"preset": "study"}),
        )


@pytest.mark.benchmark(group="closed forms, all policies that have one")
class TestForms:
    @pytest.mark.parametrize("arrivals", ["even", "poisson"])
    def test_one_burst(self, benchmark, arrivals):
        base = load_scenario("bullet-70b-burst")
        scenario = base.replace(workload=replace(base.workload, arrivals=arrivals))
        benchmark(compare, scenario, OWN)

    def test_one_window(self, benchmark):
        benchmark(compare, load_scenario("bullet-70b-window"), OWN)

    def test_ten_thousand_bursts_on_two_threads(self, benchmark):
        scenarios = list(_bursts(10_000))

        def once():
            with ThreadPoolExecutor(2) as pool:
                return sum(1 for _ in pool.map(lambda s: compare(s, OWN), scenarios, chunksize=50))

        benchmark.pedantic(once, rounds=1)


@pytest.mark.benchmark(group="Mooncake conversation trace, 12,031 requests")
@pytest.mark.parametrize("policy", registry.names())
def test_replay(benchmark, policy):
    folder = os.environ.get("KVCOST_TRACES")
    if folder is None or not Path(folder, "mooncake_conversation.jsonl.gz").exists():
        pytest.skip("KVCOST_TRACES does not name a folder with the trace")
    scenario = load_scenario("mooncake-conversation")
    prepared = prepare(scenario.requests(), key_blocks=scenario.key_blocks)
    benchmark(_run, scenario, prepared, policy)
