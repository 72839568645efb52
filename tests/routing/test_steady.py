"""Steady traffic without sharing, against runs of a public simulator and against limits.

The rows of steady.csv are runs of jwlaboratory/inference-sim (commit 547d2d5): a model of 70.6e9 or
8.19e9 parameters on replicas of 4 H100, prompts of 8,192 tokens or lognormal ones.
"""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from kvcost.errors import InvalidValueError, UnknownNameError, UnstableError
from kvcost.facts.paths import data_path
from kvcost.queueing.dispatch import round_robin
from kvcost.queueing.service import Exponential, Lognormal
from kvcost.queueing.single import mg1
from kvcost.routing.cases import Steady
from kvcost.routing.steady import POLICIES, steady_ttft
from kvcost.routing.steady_decode import full_share
from kvcost.routing.steady_law import Prefill, one_replica
from kvcost.routing.steady_measured import measured

from . import undecoded

# parameters, layers, KV heads, head size; 2 bytes an element, 4 GPUs
MODELS = {"70b_h100x4": (70.6e9, 80, 8, 128), "qwen3_8b_h100x4": (8.19e9, 36, 8, 128)}


@cache
def rows():
    with data_path("routing", "steady.csv").open() as file:
        return list(csv.DictReader(file))


def case_of(row):
    """Return the traffic of a row."""
    parameters, layers, heads, width = MODELS[row["setup"]]
    token = 2 * layers * heads * width * 2
    rate, read = 4 * 989e12 * 0.5, 4 * 3.35e12 * 0.8
    per_token = 2 * parameters / rate
    mean, second = float(row["mean_tokens"]), float(row["second_moment_tokens"])
    output = int(row["output_tokens"])
    fixed = row["size_dist"] == "fixed"
    return Steady(
        rate=float(row["lambda_per_s"]),
        replicas=int(row["nodes"]),
        prefill_mean=per_token * mean,
        prefill_scv=0.0 if fixed else second / mean**2 - 1,
        law=row["size_dist"],
        slots=min(256, (4 * 80e9 - 2 * parameters) / (token * (mean + output))),
        step_fixed=2 * parameters / read,
        step_each=token * mean / read,
        output_tokens=output,
        prefill_high=math.inf if fixed else per_token * 131072,
    )


def plain(**changes):
    """Return traffic without decode steps, with changes."""
    base = Steady(
        rate=3.2,
        replicas=4,
        prefill_mean=1.0,
        prefill_scv=0.0,
        law="fixed",
        slots=1e9,
        step_fixed=0.0,
        step_each=0.0,
        output_tokens=1,
    )
    return replace(base, **changes)


@pytest.mark.parametrize("number", range(33))
def test_mean_and_p95_of_the_public_simulator(number):
    row = rows()[number]
    found = steady_ttft(row["policy"], case_of(row))
    noise = 2.6 * float(row["mean_wait_se"])
    truth = float(row["mean_ttft"])
    allowed = 0.06 if row["policy"] == "least_load" else 0.03
    assert abs(found.mean - truth) < max(allowed * truth, noise)
    assert found.split.total == pytest.approx(found.mean)
    assert found.p95 == pytest.approx(float(row["p95_ttft"]), rel=0.05)


def test_the_public_rows_are_all_there():
    assert len(rows()) == 33


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9, 0.95])
@pytest.mark.parametrize("scv", [0.0, 0.5, 1.6, 4.0])
def test_lattice_against_pollaczek_khinchine(load, scv):
    found = one_replica(
        rate=load, every=1, prefill=Prefill(mean=1.0, scv=scv), delay=0.0, shares=(0.5,)
    )
    assert found.wait == pytest.approx(load * (1 + scv) / (2 * (1 - load)), rel=7e-3)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("replicas", [2, 4, 16])
def test_lattice_against_the_roots_of_round_robin(load, replicas):
    exact = round_robin(
        servers=replicas, service=Lognormal(mean=1.0, scv=1.6), utilization=load
    ).mean
    found = one_replica(
        rate=load * replicas,
        every=replicas,
        prefill=Prefill(mean=1.0, scv=1.6),
        delay=0.0,
        shares=(0.5,),
    )
    assert found.wait == pytest.approx(exact, rel=4e-3, abs=1e-4)


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_percentiles_of_one_fixed_replica(share):
    # M/D/1: the time is the wait plus the prefill
    from kvcost.queueing.service import Deterministic

    wait = mg1(service=Deterministic(mean=1.0), utilization=0.8).quantile(share)
    found = steady_ttft("random", plain())
    assert {0.5: found.p50, 0.95: found.p95, 0.99: found.p99}[share] == pytest.approx(
        wait + 1.0, rel=3e-3
    )


def test_clipped_law_has_its_moments():
    law = Prefill(mean=8161.455, scv=172584603 / 8161.455**2 - 1, high=131072.0)
    mu, sigma = law.parameters()
    assert mu == pytest.approx(math.log(8192) - 0.5, abs=1e-3)
    assert sigma == pytest.approx(1.0, abs=2e-3)
    masses = law.masses(20.0, 8192)
    places = np.arange(8192) * 20.0
    assert masses.sum() == pytest.approx(1.0)
    assert masses @ places == pytest.approx(law.mean, rel=1e-4)


def test_policies_rank_as_they_must():
    means = {policy: steady_ttft(policy, plain()).mean for policy in POLICIES}
    assert means["least_work"] == pytest.approx(means["round_robin"])  # equal prefills
    assert means["round_robin"] < means["least_load"] < means["power_of_two"] < means["random"]
    assert means["cache_aware"] == means["least_load"]


def test_one_replica_leaves_no_choice():
    alone = plain(replicas=1, rate=0.8)
    assert len({steady_ttft(policy, alone).mean for policy in POLICIES}) == 1
    assert steady_ttft("random", alone).mean == pytest.approx(1 + 0.8 / 0.4)


def test_two_of_two_is_all():
    pair = plain(replicas=2, rate=1.6)
    assert steady_ttft("power_of_two", pair).mean == steady_ttft("least_load", pair).mean


@pytest.mark.parametrize("point", [("all", 4, 0.8, 0.0, 0.0), ("all", 5, 0.7, 1.0, 1.0)])
def test_factors_measured_anew(point):
    looks, replicas, load, scv, ratio = point
    wait, error, *times = undecoded.measure(
        looks=looks,
        replicas=replicas,
        utilization=load,
        sigma=undecoded.sigma_of(scv),
        ratio=ratio,
        requests=300_000,
        seed=11,
    )
    table = measured(looks=looks, replicas=replicas, utilization=load, scv=scv, ratio=ratio)
    assert abs(table.wait - wait) < 3.5 * error + 0.05 * wait
    assert table.quantiles[1:] == pytest.approx(times[1:], rel=0.1)


def test_without_load_to_remember_the_factor_is_small():
    # so little load that no request meets another: the shortest queue proper, by simulation
    found = measured(looks="all", replicas=4, utilization=0.15, scv=0.0, ratio=0.0)
    assert found.wait < 0.002
    assert found.quantiles[0] == 1.0


def test_outside_what_was_measured_says_so():
    found = steady_ttft("least_load", plain(replicas=100, rate=50.0))
    assert found.error.relative is None
    assert "replicas" in found.warnings[0]


def test_full_slots_from_never_to_always():
    none = full_share(utilization=0.8, slots=1e9, held=0.0, spread=1.0)
    few = full_share(utilization=0.8, slots=20.0, held=5.0, spread=1.0)
    more = full_share(utilization=0.8, slots=20.0, held=15.0, spread=1.0)
    every = full_share(utilization=0.8, slots=1.0, held=1.0, spread=1.0)
    assert none == 0.0 < few < more < every <= 1.0


def test_one_slot_decodes_after_every_prefill():
    # one request at a time: M/D/1 whose service is the prefill and its decode step
    found = steady_ttft("random", plain(replicas=1, rate=0.5, slots=1, step_fixed=0.2))
    service = 1.2
    exact = 1.0 + 0.5 * service**2 / (2 * (1 - 0.5 * service))
    assert found.mean == pytest.approx(exact, rel=0.04)


def test_vacations_wait_for_half_a_step():
    base = plain(replicas=1, rate=0.3)
    steps = replace(base, output_tokens=10**4, step_fixed=0.01, slots=1e7)
    gained = steady_ttft("random", steps).mean - steady_ttft("random", base).mean
    assert gained == pytest.approx(0.005, rel=0.01)


def test_saturated_traffic_is_refused():
    with pytest.raises(UnstableError):
        steady_ttft("random", plain(rate=4.0))
    # prefill alone would keep up, but full slots add their decode steps
    with pytest.raises(UnstableError):
        steady_ttft("random", plain(rate=3.6, slots=4, step_fixed=0.1, output_tokens=8))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rate": 0.0}, "rate"),
        ({"replicas": 0}, "replicas"),
        ({"prefill_mean": -1.0}, "prefill_mean"),
        ({"law": "gamma"}, "law"),
        ({"law": "lognormal", "prefill_scv": 1.0, "prefill_high": 0.5}, "prefill_high"),
        ({"output_tokens": 0}, "output_tokens"),
        ({"step_fixed": -1.0}, "step_fixed"),
    ],
)
def test_cases_are_checked(changes, field):
    with pytest.raises(InvalidValueError) as raised:
        steady_ttft("random", plain(**changes))
    assert raised.value.field == field


def test_unknown_policies_list_the_nearest():
    with pytest.raises(UnknownNameError, match="round_robin"):
        steady_ttft("roundrobin", plain())


def test_exponential_waits_are_no_part_of_this():
    # scv 1 by the lognormal law: the mean at one replica is that of every law of scv 1
    found = steady_ttft("random", plain(replicas=1, rate=0.5, law="lognormal", prefill_scv=1.0))
    assert found.mean == pytest.approx(1 + mg1(service=Exponential(mean=1.0), utilization=0.5).mean)
