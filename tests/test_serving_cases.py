"""Public reports of surprises in serving: what kvcost says of each, or what is missing for it."""

from __future__ import annotations

import dataclasses
import functools
import math
import tomllib

import numpy as np
import pytest

from kvcost.breakeven import decide, partial_hit_ranges
from kvcost.compute import PrefillCurve
from kvcost.facts import data_path
from kvcost.model import kv_bytes_per_token, load
from kvcost.scenario import Scenario
from kvcost.simulation.cluster import Behaviour, prepare, simulate, simulate_requests
from kvcost.transfer import TransferPath, hit_time, keys
from kvcost.units import parse_bytes, parse_rate, parse_seconds, parse_tokens
from kvcost.workload.prompts import shared_prefix_requests

_TEXT = data_path("routing", "serving_cases.toml").read_text(encoding="utf-8")
CASES = {case["id"]: case for case in tomllib.loads(_TEXT)["case"]}
REPORTS = {
    "LMCache/LMCache": {914, 985, 1109, 1239, 1922, 2205, 2484, 2790},
    "vllm-project/vllm": {34896, 39983, 44294, 53333, 55434},
    "sgl-project/sglang": {6164, 14532, 23309, 32195, 32724},
    "llm-d/llm-d-router": {669},
    "llm-d/llm-d-autoscaling": {1421},
    "ai-dynamo/dynamo": {392, 8276},
    "vllm-project/production-stack": {1035, 1073},
    "vllm-project/aibrix": {842},
}
CHECKS = {}
BLOCK = 256
NO_LIMIT = {"balance_abs": 1e9, "cache_threshold": 0.0}
HOST = {"host_memory": "inf", "host_bandwidth": "25 GB/s"}
NETWORK = {"bandwidth": "50 GB/s"}  # of copies between replicas, which no case here uses


def decides(name):
    def keep(check):
        CHECKS[name] = check
        return check

    return keep


def seconds(case, name):
    return parse_seconds(case["numbers"][name], field=name)


def tokens(case, name):
    return parse_tokens(case["numbers"][name], field=name)


@functools.cache
def kv_bytes(model):
    return kv_bytes_per_token(load(model), kv_dtype="bf16")


def cluster(work, *, model="llama-3.1-8b", accelerator="l40s", count=4, gpus=1, **tables):
    """A scenario at half the peak, 80% of the bandwidth and 90% of the memory."""
    replica = {
        "count": count,
        "accelerator": accelerator,
        "accelerators": gpus,
        "mfu": 0.5,
        "decode_bandwidth_share": 0.8,
        "hbm_share": 0.9,
    }
    weights = tables.pop("bytes_per_weight", 2)
    named = {"name": model, "bytes_per_weight": weights}
    parts = {"model": named, "replica": replica, "network": NETWORK, "workload": work}
    return Scenario.from_table({**parts, **tables})


def burst(requests, span, shared, *, suffix=256, output=64, arrivals="even"):
    return {
        "kind": "burst",
        "requests": requests,
        "span": float(span),
        "spacing": "exclusive",
        "shared_tokens": shared,
        "suffix_tokens": suffix,
        "output_tokens": output,
        "arrivals": arrivals,
    }


def listed(rows, *, shared):
    """Requests from rows of arrival, group (-1 for none), prompt and answer."""
    arrival, group, prompt, output = (np.array(column) for column in zip(*rows, strict=True))
    names = tuple(f"prefix {g}" for g in range(int(group.max()) + 1))
    common = np.where(group >= 0, shared, 0)
    return shared_prefix_requests(
        arrival=arrival.astype(float),
        group=group.astype(np.int64),
        names=names,
        shared=common,
        suffix=prompt.astype(np.int64) - common,
        output=output.astype(np.int64),
        block_tokens=BLOCK,
        compact=True,
    )


def run(requests, costs, policy="round_robin", *, params=None, replicas=1, **behaviour):
    return simulate_requests(
        prepare(requests, key_blocks=None),
        costs,
        policy=policy,
        params=params,
        replicas=replicas,
        seed=1,
        behaviour=Behaviour(**behaviour),
    )


def used(result):
    return np.unique(result.replica).size


# loads and break-even


@decides("lmcache-914")
def _(case):
    recompute, hit = seconds(case, "recompute"), seconds(case, "hit")
    size = kv_bytes("qwen2.5-32b")
    for length in (4096, 16384, tokens(case, "longest")):
        prefill = PrefillCurve.from_points({length: recompute})
        path = TransferPath(client_bandwidth=length * size / hit)
        decision = decide(
            tokens=length, kv_bytes_per_token=size, fixed_bytes_per_request=0,
            prefill=prefill, path=path, loading="sync",
        )  # fmt: skip
        assert decision.verdict == "recompute"
        needed = decision.break_even_bandwidth / decision.bandwidth
        assert needed == pytest.approx(hit / recompute)
    assert decision.bandwidth < 0.43e9
    assert decision.break_even_bandwidth == pytest.approx(1.12e9, rel=0.01)
    # at the rate of a like client, from another report: no figure of this hit goes in
    other = client_rate(CASES["lmcache-2790"])
    assert other * recompute / size == pytest.approx(15_800, rel=0.02)
    longer = decide(
        tokens=20_000, kv_bytes_per_token=size, fixed_bytes_per_request=0, loading="sync",
        prefill=PrefillCurve.from_points({20_000: recompute}),
        path=TransferPath(client_bandwidth=other),
    )  # fmt: skip
    assert longer.verdict == "recompute"


def client_rate(case, *, client="slow"):
    """The rate between the two lengths of a client, which leaves fixed times out."""
    more = tokens(case, "long_tokens") - tokens(case, "short_tokens")
    longer = seconds(case, f"{client}_hit_long") - seconds(case, f"{client}_hit_short")
    return more * kv_bytes("llama-3.1-8b") / longer


@decides("lmcache-2790")
def _(case):
    size, long = kv_bytes("llama-3.1-8b"), tokens(case, "long_tokens")
    short = tokens(case, "short_tokens")
    found = {}
    for client, expected in (("slow", "recompute"), ("fast", "fetch")):
        points = {
            n: seconds(case, f"{client}_cold_{key}")
            for n, key in ((short, "short"), (long, "long"))
        }
        asked = {
            "tokens": long, "kv_bytes_per_token": size, "fixed_bytes_per_request": 0,
            "prefill": PrefillCurve.from_points(points), "loading": "sync",
        }  # fmt: skip
        rate = client_rate(case, client=client)
        found[client] = decide(path=TransferPath(client_bandwidth=rate), **asked)
        assert found[client].verdict == expected
        # what 8k tokens took is enough to tell which of the two wins at 64k
        early = short * size / seconds(case, f"{client}_hit_short")
        assert decide(path=TransferPath(client_bandwidth=early), **asked).verdict == expected
    assert found["slow"].bandwidth == pytest.approx(0.54e9, rel=0.01)
    assert found["fast"].bandwidth == pytest.approx(3.5e9, rel=0.02)
    assert found["slow"].break_even_bandwidth == pytest.approx(0.646e9, rel=0.005)
    assert found["fast"].break_even_bandwidth == pytest.approx(0.742e9, rel=0.005)
    chunk = tokens(case, "chunk_tokens")
    for client, each in (("slow", 3), ("fast", 2)):
        asked = keys(fetched_tokens=long, chunk_tokens=chunk, keys_per_chunk=each)
        assert asked == case["numbers"][f"{client}_keys"]


@decides("lmcache-1239")
def _(case):
    size, put = parse_bytes(case["numbers"]["bytes"], field="bytes"), seconds(case, "put")
    for ceiling, own in (("raw_low", 0.044), ("raw_high", 0.069)):
        raw = parse_rate(case["numbers"][ceiling], field=ceiling)
        assert size / put < raw
        assert put - TransferPath(client_bandwidth=raw).seconds(1, kv_bytes_per_token=size) == (
            pytest.approx(own, abs=1e-3)
        )
        wide = TransferPath(
            client_bandwidth=size / put, store_bandwidth=raw, link_bandwidth="400 Gb/s"
        )
        assert wide.limits == ("client",)


@decides("lmcache-1109")
def _(case):
    length, cold = tokens(case, "tokens"), seconds(case, "cold")
    asked = {"model": "qwen2.5-72b", "accelerator": "h100", "count": 1, "gpus": 2}
    work = burst(2, 120, length, suffix=0)
    alone = simulate(cluster(work, bytes_per_weight=1, **asked))
    offload = simulate(cluster(work, bytes_per_weight=1, cache=HOST, **asked))
    assert offload.ttft.tolist() == alone.ttft.tolist()
    assert offload.load.max() == 0
    assert offload.hbm_tokens[1] == length // BLOCK * BLOCK
    prefill = PrefillCurve.from_points({length: cold})
    times = [
        hit_time(
            path=TransferPath(link_bandwidth=50e9, chunk_tokens=BLOCK),
            prefill=prefill, tokens=length, kv_bytes_per_token=kv_bytes("qwen2.5-72b"),
            hit_tokens=stored, local_tokens=local,
        ).seconds
        for stored, local in ((length, length), (length, 0), (0, 0))
    ]  # fmt: skip
    assert times == sorted(times)
    assert times[0] < times[1] < times[2] == pytest.approx(cold)


@decides("lmcache-985")
def _(case):
    shared = 16384
    work = burst(1, 1, shared)
    # room in HBM for one prompt: the others lie in host RAM
    costs = dataclasses.replace(cluster(work, cache=HOST).costs(), hbm_blocks=66)
    warm = [(20.0 * g, g, shared, 1) for g in range(4)]
    loads = [(200.0 + 1e-3 * g, g, shared + 256, 1) for g in range(3)]
    requests = listed([*warm, (199.0, -1, 300, 200), *loads, (200.01, -1, 300, 1)], shared=shared)
    sync, background = (run(requests, costs, loads=mode) for mode in ("sync", "async"))
    one = shared * costs.host_seconds_per_token
    assert sync.load[5:8] == pytest.approx(one)
    assert np.all(np.diff(sync.start[5:8]) > one)  # one load after another
    assert sync.wait[8] > 3 * one - 0.05 > background.wait[8]
    assert sync.finish[4] > background.finish[4] + one
    assert np.all(background.ttft[5:8] > one)


@decides("lmcache-2484")
def _(case):
    points = {8070: 1.0, 13648: 1.74, 21617: 2.76, 34214: 4.51, 48109: 6.38, 65111: 8.78}
    prefill = PrefillCurve.from_points(points)
    size = kv_bytes("glm-5.2")
    asked = {"tokens": 65_111, "kv_bytes_per_token": size, "fixed_bytes_per_request": 0}
    rate = size / 5.4e-6
    slow = TransferPath(link_bandwidth=rate, overhead_seconds=1.779)
    ((threshold, _),) = partial_hit_ranges(prefill, slow, **asked)
    assert threshold > case["numbers"]["default_tokens"]
    for length, verdict in ((8070, "recompute"), (21617, "fetch")):
        whole = asked | {"tokens": length}
        assert decide(prefill=prefill, path=slow, loading="async", **whole).verdict == verdict
    decision = decide(prefill=prefill, path=slow, loading="async", **asked)
    assert 13_648 < decision.break_even_tokens < 21_617
    ((free, _),) = partial_hit_ranges(prefill, TransferPath(link_bandwidth=rate), **asked)
    assert free == 0


@decides("lmcache-1922")
def _(case):
    prefill = PrefillCurve.from_points({8000: 0.5})
    for name in ("low", "high"):
        lookup = seconds(case, name)
        path = TransferPath(lookup_seconds=lookup, overhead_seconds=0.2, store_bandwidth="1 GB/s")
        miss = hit_time(
            path=path, prefill=prefill, tokens=8000, kv_bytes_per_token=131_072, hit_tokens=0
        )
        assert miss.fetched_tokens == 0
        assert miss.seconds == pytest.approx(0.5 + lookup)


@decides("vllm-44294")
def _(case):
    shared, rate = tokens(case, "prefix"), case["numbers"]["rate"]
    work = burst(10 * rate, 10, shared, arrivals="poisson")
    asked = {"model": "qwen3-8b", "count": 1, "gpus": 2}
    without, offload = (simulate(cluster(work, cache=c, **asked)) for c in ({}, HOST))
    # wrong, as the entry says: a fix must change the entry
    assert case["kvcost"].startswith("wrong")
    assert offload.mean == pytest.approx(without.mean)
    assert seconds(case, "with_offload") > 1.9 * seconds(case, "without_offload")
    # the convoy itself: a prefix in host RAM, one sync load, and all sharers wait for it
    costs = dataclasses.replace(cluster(work, cache=HOST, **asked).costs(), hbm_blocks=45)
    warm = [(0.0, 0, shared, 1), (20.0, 1, shared, 1)]
    sharers = [(100 + 0.001 * k, 0, shared + 256, 1) for k in range(10)]
    convoy = run(listed([*warm, *sharers], shared=shared), costs)
    assert np.count_nonzero(convoy.load) == 1
    assert convoy.load[2] > 0.01
    assert np.all(convoy.wait[3:] > convoy.load[2] - 0.01)


@decides("vllm-55434")
def _(case):
    numbers = case["numbers"]
    size, share = parse_bytes(numbers["bytes"], field="bytes"), numbers["posting_share"]
    link = parse_rate(numbers["link"], field="link")
    for pieces in (numbers["few"], numbers["many"]):
        each = share / (1 - share) * size / link / pieces
        assert 1.05e-6 < each < 1.45e-6

        def path(count, rate, each=each):
            return TransferPath(
                link_bandwidth=rate, descriptors_per_token=count, per_descriptor_seconds=each
            ).seconds(1, kv_bytes_per_token=size)

        usual = path(pieces, link)
        assert path(pieces, 1e15) / usual == pytest.approx(share, rel=1e-3)
        assert 1 - path(pieces / 4, link) / usual == pytest.approx(0.75 * share)
        assert 0.75 * share > 1 - path(pieces, 1.7 * link) / usual  # more than a link 1.7 as fast


@decides("vllm-39983")
def _(case):
    numbers = case["numbers"]
    prefix, suffix = tokens(case, "prefix"), tokens(case, "suffix")
    pool = parse_bytes(numbers["pool"], field="pool")
    cache = {"host_memory": pool, "host_bandwidth": "25 GB/s"}
    costs = cluster(burst(1, 1, prefix), cache=cache).costs()
    # no prefix cache in HBM: room for the answers alone, a block each, which kvcost keeps as well
    costs = dataclasses.replace(costs, hbm_blocks=numbers["prompts"])
    assert costs.host_blocks == numbers["prefixes"] * prefix // BLOCK
    turns = np.arange(numbers["prompts"]) % numbers["prefixes"]
    mixed = np.random.default_rng(1).permutation(turns)

    def hits(order, length):
        rows = [(20.0 * k, int(g), length, 1) for k, g in enumerate(order)]
        result = run(listed(rows, shared=prefix), costs)
        return int(np.count_nonzero(result.hit_tokens >= prefix))

    most = numbers["prompts"] - numbers["prefixes"]
    assert hits(turns, prefix + suffix) == 0
    assert hits(mixed, prefix + suffix) < most
    assert hits(turns, prefix) == hits(mixed, prefix) == most
    saved = costs.prefill(prefix + suffix) - costs.prefill(prefix + suffix, cached=prefix)
    assert saved > prefix * costs.host_seconds_per_token


@decides("sglang-23309")
def _(case):
    other, size = CASES["lmcache-2790"], kv_bytes("llama-3.1-8b")
    length = tokens(other, "long_tokens")

    def allowed(count, kind):
        cap = seconds(case, "cap") if kind == "new" else math.inf
        return min(
            cap, seconds(case, f"{kind}_base") + seconds(case, f"{kind}_part") * count / 1024
        )

    assert allowed(2**20, "old") == seconds(case, "old_at_million")
    assert allowed(2**20, "new") == seconds(case, "cap")

    def ttft(client, limit):
        points = {
            tokens(other, f"{key}_tokens"): seconds(other, f"{client}_cold_{key}")
            for key in ("short", "long")
        }
        prefill = PrefillCurve.from_points(points)
        path = TransferPath(client_bandwidth=client_rate(other, client=client))
        each = path.seconds_per_token(kv_bytes_per_token=size)
        whole = hit_time(
            path=path, prefill=prefill, tokens=length, kv_bytes_per_token=size,
            hit_tokens=min(length, limit / each),
        )  # fmt: skip
        return whole.seconds, whole.fetched_tokens, float(prefill.seconds(length))

    late, all_of_it, recompute = ttft("slow", allowed(length, "old"))
    soon, part, _ = ttft("slow", allowed(length, "new"))
    assert part < 0.6 * length < all_of_it
    assert recompute < soon < late
    assert ttft("fast", allowed(length, "new")) == ttft("fast", allowed(length, "old"))


# routing


@decides("sglang-14532")
def _(case):
    costs = cluster(burst(1, 1, 8192)).costs()
    hot = [(5 + 0.01 * k, 0, 8192 + 256, 2000) for k in range(30)]
    large = [(0.01 * (k + 1), -1, 32768, 1) for k in range(3)]
    new = [(20 + 0.05 * k, -1, 512, 16) for k in range(20)]
    requests = listed([(0.0, 0, 8192, 2000), *large, *hot, *new], shared=8192)
    shares, ttft = [], []
    for smallest in (1, 0):
        params = {**NO_LIMIT, "miss_to_smallest_tree": smallest}
        result = run(requests, costs, "cache_aware", params=params, replicas=4)
        home = result.replica[0]
        assert np.all(result.replica[4:34] == home)
        shares.append(np.mean(result.replica[34:] == home))
        ttft.append(result.ttft[34:].mean())
    assert shares == [case["numbers"]["share_of_misses"], 0.0]
    assert ttft[0] > ttft[1]


@decides("sglang-32195")
def _(case):
    limits = {name: case["numbers"][name] for name in ("balance_abs", "balance_rel")}
    limited = {"cache_threshold": 0.0, **limits}

    def rounds(span, params, gateways=1):
        work = {
            "kind": "window", "bursts": 8, "first": 1.0, "every": 5.0, "burst_requests": 600,
            "burst_span": float(span), "arrivals": "poisson", "shared_tokens": 16384,
            "suffix_tokens": 256, "output_tokens": 64,
        }  # fmt: skip
        scenario = cluster(work, behaviour={"gateways": gateways})
        return simulate(scenario, policy="cache_aware", params=params, seed=1)

    calm, calm_free = (rounds(2000, params) for params in (limited, NO_LIMIT))
    assert calm.imbalances == 0
    assert calm.mean == calm_free.mean
    heavy, heavy_free = (rounds(200, params) for params in (limited, NO_LIMIT))
    assert heavy.imbalances > 0
    assert heavy.hit_share < heavy_free.hit_share <= calm.hit_share
    assert heavy.cold_requests > heavy_free.cold_requests
    loose = rounds(200, limited, gateways=4)
    assert heavy_free.cold_requests <= loose.cold_requests < heavy.cold_requests


@decides("sglang-6164")
def _(case):
    workers = case["numbers"]["workers"]
    calm = burst(400, 400, 200, suffix=0)
    spread = simulate(cluster(calm, count=workers), policy="cache_aware", seed=1)
    shares = np.bincount(spread.replica, minlength=workers) / 400
    assert shares.min() > 0.06
    assert shares.max() < 0.2
    busy = burst(400, 4, 200, suffix=0)
    all_of_them, one = (
        simulate(cluster(busy, count=n), policy="cache_aware") for n in (workers, 1)
    )
    assert one.mean > all_of_them.mean


@decides("llm-d-router-669")
def _(case):
    def spread(span, **weights):
        params = {"queue_waiting": 1, **weights}
        return simulate(cluster(burst(40, span, 16384)), policy="weighted_score", params=params)

    calm, busy = spread(120), spread(4)
    assert calm.wait.max() < 0.03  # a decode step at most
    assert used(calm) == case["numbers"]["pods_before"]
    assert used(busy) > 1
    alone = spread(4, queue_weight=0, kv_weight=0)
    assert used(alone) == 1
    assert alone.mean > 2 * busy.mean


@decides("dynamo-8276")
def _(case):
    replicas, requests, span = 4, 40, 2.0
    # a credit that outweighs load: what is left to see is the index
    params = {"overlap_credit": 100, "floor": 0}
    for lag in (0.0, 0.06, 0.12, 0.18, 1.0, parse_seconds(case["numbers"]["predicted"], field="t")):
        scenario = cluster(
            burst(requests, span, 4096), count=replicas, behaviour={"index_lag": lag}
        )
        arrivals = np.arange(requests) * span / requests
        within = max(1, int(np.count_nonzero(arrivals < lag)))
        result = simulate(scenario, policy="kv_cost", params=params)
        assert result.cold_requests == min(replicas, within)


@decides("dynamo-392")
def _(case):
    params = {"prefix_weight": case["numbers"]["overlap_weight"], "queue_weight": 0, "kv_weight": 0}
    work = burst(40, 20, 4096)
    heard = simulate(cluster(work), policy="weighted_score", params=params)
    assert heard.cold_requests == used(heard) == 1
    deaf = cluster(work, behaviour={"index_lag": 1e6})
    blind = simulate(deaf, policy="weighted_score", params=params)
    assert blind.replica.tolist() == simulate(deaf, policy="random").replica.tolist()
    assert blind.cold_requests == used(blind) == 4


@decides("production-stack-1035")
def _(case):
    scenario = cluster(burst(200, 4, 8192))
    affinity = simulate(scenario, policy="cache_aware", params=NO_LIMIT)
    assert used(affinity) == 1
    for gate in ("prefix_load_gate", "bounded_prefix_hash"):
        gated = simulate(scenario, policy=gate)
        assert used(gated) == 4
        assert 3 * gated.mean < affinity.mean


@decides("aibrix-842")
def _(case):
    numbers = case["numbers"]
    shared = tokens(case, "shared")
    per_type = 200
    rules = {
        "cache_aware": NO_LIMIT, "preble": {}, "least_load": {}, "random": {},
    }  # fmt: skip

    def results(output):
        work = {
            "kind": "window", "bursts": numbers["types"], "first": 1.0, "every": 0.01,
            "burst_requests": per_type, "arrivals": "poisson",
            "burst_span": per_type * numbers["types"] / numbers["rate"],
            "shared_tokens": shared, "suffix_tokens": tokens(case, "prompt") - shared,
            "output_tokens": output,
        }  # fmt: skip
        scenario = cluster(work, accelerator="l20", count=numbers["replicas"])
        runs = {
            name: [simulate(scenario, policy=name, params=params, seed=s) for s in (1, 2, 3)]
            for name, params in rules.items()
        }
        mean = {name: np.mean([r.mean for r in each]) for name, each in runs.items()}
        tail = {name: np.mean([r.quantile(0.99) for r in each]) for name, each in runs.items()}
        return mean, tail

    for output in (100, 150):
        mean, tail = results(output)
        assert min(mean, key=mean.get) == "preble"
        assert max(tail, key=tail.get) == "cache_aware"
    for output in (1, 50):
        mean, tail = results(output)
        assert sorted(mean, key=mean.get)[:2] == sorted(tail, key=tail.get)[:2] == [
            "preble", "cache_aware",
        ]  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_case(name):
    CHECKS[name](CASES[name])


@pytest.mark.parametrize("name", [name for name in CASES if name not in CHECKS])
def test_undecided_case_states_what_is_missing(name):
    assert len(CASES[name].get("missing", "")) > 30
    assert "kvcost" not in CASES[name]


def test_every_report_is_there_and_has_a_verdict_or_a_missing_fact():
    found: dict[str, set[int]] = {}
    for case in CASES.values():
        found.setdefault(case["repository"], set()).add(case["number"])
        part = {"issue": "issues", "pull": "pull"}[case["kind"]]
        address = f"https://github.com/{case['repository']}/{part}/{case['number']}"
        assert case["address"] == address
        assert case["reported"]
        assert case["theme"]
        assert "numbers" in case
        assert case.get("kvcost", "right:").split(":")[0] in {"right", "wrong"}
        assert "kvcost" in case or "missing" in case
        assert ("kvcost" in case) == (case["id"] in CHECKS)
    assert found == REPORTS
    assert len(CASES) == sum(len(numbers) for numbers in REPORTS.values()) == 25
