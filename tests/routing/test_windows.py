"""Windows of bursts and decoys against runs of a public simulator, and against known limits.

The rows of windows_60_mean.csv are means of jwlaboratory/inference-sim (commit 547d2d5) over 60
windows, on the set-ups of jwlaboratory/bite-the-bullet (commit 26dd06a). The others are means of
kvcost's own simulation over 500 windows.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from kvcost.errors import InvalidValueError, UnknownNameError
from kvcost.routing.cases import Burst, Window
from kvcost.routing.even import burst_ttft
from kvcost.routing.windows import POLICIES, covers, window_ttft
from tests.routing.tables import costs

TABLE = Path(__file__).parents[2] / "data" / "routing" / "windows_60_mean.csv"
NOT_COVERED = {
    ("70b_h100x4", "cache_aware"),
    ("dense1t_b300x4", "replicate_on_burst"),
}
# set-up, policy, mean over 500 windows, its standard error
SIMULATED = [
    ("70b_h100x4", "random", 3.28471, 0.01764),
    ("70b_h100x4", "round_robin", 3.13947, 0.01607),
    ("qwen3_8b_h100x4", "random", 0.04061, 0.00006),
    ("qwen3_8b_h100x4", "round_robin", 0.03415, 0.00003),
    ("glm52_h100x8", "random", 0.17928, 0.00039),
    ("glm52_h100x8", "round_robin", 0.16245, 0.00030),
    ("dense1t_b300x4", "random", 500.00220, 0.99981),
    ("dense1t_b300x4", "round_robin", 498.03536, 0.99683),
]
# changes of the 70B window, policy, visibility, mean over 400 windows
CHANGED = [
    ({"burst_span": 30.0}, "replicate_on_burst", "admission", 0.5819),
    ({"burst_span": 30.0}, "replicate_on_burst", "computed", 0.9769),
    ({"burst_requests": 1000}, "replicate_on_burst", "admission", 0.5149),
    ({"burst_requests": 1000}, "replicate_on_burst", "computed", 0.7654),
    ({"decoys": 60}, "replicate_on_burst", "admission", 0.1515),
    ({"decoys": 60}, "replicate_on_burst", "computed", 0.3447),
    ({"decoys": 60}, "least_load", "admission", 0.6472),
    ({"burst_requests": 200}, "least_load", "admission", 1.4053),
    ({"replicas": 8}, "replicate_on_burst", "admission", 0.17380),
    ({"replicas": 8}, "random", "admission", 1.44706),
]


def rows():
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def window(setup, **changes):
    case = Window(
        bursts=8, first=20.0, every=40.0, jitter=2.0, burst_requests=500, burst_span=60.0,
        decoys=120, decoy_low=14.0, decoy_high=340.0, replicas=4, node=costs(setup, 65536),
    )  # fmt: skip
    return replace(case, **changes)


@pytest.mark.parametrize("row", rows(), ids=lambda r: f"{r['setup']}-{r['policy']}")
def test_rows_of_the_public_simulator(row):
    case = window(row["setup"])
    outside = covers(row["policy"], case, row["visibility"])
    if (row["setup"], row["policy"]) in NOT_COVERED:
        assert outside is not None
        with pytest.raises(InvalidValueError, match="simulate it"):
            window_ttft(row["policy"], case, visibility=row["visibility"])
        return
    assert outside is None
    found = window_ttft(row["policy"], case, visibility=row["visibility"])
    assert found.mean == pytest.approx(float(row["mean_ttft"]), rel=0.06)
    assert found.cold_requests == pytest.approx(float(row["cold_requests"]), rel=0.01)
    assert found.p50 == pytest.approx(float(row["p50_ttft"]), rel=0.05)
    assert found.p99 == pytest.approx(float(row["p99_ttft"]), rel=0.15)


@pytest.mark.parametrize(("setup", "policy", "mean", "error"), SIMULATED)
def test_policies_that_look_at_nothing(setup, policy, mean, error):
    found = window_ttft(policy, window(setup))
    assert abs(found.mean - mean) < 0.06 * mean + 2 * error


@pytest.mark.parametrize(("changes", "policy", "visibility", "mean"), CHANGED)
def test_other_windows(changes, policy, visibility, mean):
    case = window("70b_h100x4", **changes)
    found = window_ttft(policy, case, visibility=visibility, copies=case.replicas)
    assert found.mean == pytest.approx(mean, rel=0.06)


@pytest.mark.parametrize(
    ("setup", "policy"),
    sorted({*product(["70b_h100x4", "glm52_h100x8"], POLICIES)} - NOT_COVERED),
)
def test_parts_add_up_and_percentiles_ascend(policy, setup):
    assert covers(policy, window(setup)) is None
    found = window_ttft(policy, window(setup))
    assert found.split is not None
    assert found.split.total == pytest.approx(found.mean)
    parts = found.split
    for part in (parts.own_head, parts.other_cold, parts.suffix, parts.decode, parts.own_prefill):
        assert part >= 0
    assert 0 < found.p50 <= found.p95 <= found.p99 <= found.maximum
    assert found.error.relative is not None


@pytest.mark.parametrize("policy", ["least_load", "cache_aware", "replicate_on_burst"])
def test_one_burst_alone_is_the_even_burst(policy):
    case = window("70b_h100x4", bursts=1, decoys=0)
    alone = Burst(requests=500, span=60.0, arrivals="even", replicas=4, node=case.node)
    found, known = window_ttft(policy, case), burst_ttft(policy, alone)
    assert found.mean == pytest.approx(known.mean, rel=0.02)
    assert found.cold_requests == known.cold_requests


@pytest.mark.parametrize("policy", ["random", "least_load", "replicate_on_burst"])
def test_few_decoys_alone_do_not_wait(policy):
    case = window("qwen3_8b_h100x4", bursts=0, decoys=10)
    found = window_ttft(policy, case)
    assert found.mean == pytest.approx(case.node.cold, rel=0.01)
    assert found.cold_requests == 10


def test_decoys_alone_at_random_wait_as_in_one_queue_each():
    # M/D/1: rho c / (2 (1 - rho)) behind Poisson arrivals
    case = window("70b_h100x4", bursts=0, decoys=12000, decoy_high=60014.0, decoy_low=14.0)
    rho = 12000 * case.node.cold / 60000 / 4
    wait = rho * case.node.cold / (2 * (1 - rho))
    assert window_ttft("random", case).mean == pytest.approx(case.node.cold + wait, rel=0.01)


def test_affinity_without_bursts_is_least_load():
    case = window("70b_h100x4", bursts=0)
    assert window_ttft("cache_aware", case).mean == window_ttft("least_load", case).mean


def test_more_decoys_wait_longer():
    means = [
        window_ttft("least_load", window("70b_h100x4", decoys=count)).mean
        for count in (30, 60, 90, 120)
    ]
    assert means == sorted(means)


def test_what_is_not_covered_is_said():
    case = window("70b_h100x4")
    assert "affinity" in covers("cache_aware", case)
    assert "saturation" in covers("least_load", replace(case, replicas=2))
    assert "copies" in covers("replicate_on_burst", window("dense1t_b300x4"))
    assert "some replicas" in covers("replicate_on_burst", case, copies=2)
    assert "never" in covers("replicate_on_burst", case, repeats=20)
    assert "turns" in covers("round_robin", replace(case, burst_span=30.0))
    assert "turns" in covers("round_robin", replace(case, decoys=0))
    assert "replicas" in covers("random", replace(case, replicas=64))
    assert "few requests" in covers("random", replace(case, burst_requests=1))
    long = replace(case.node, output_tokens=2)
    assert "output token" in covers("random", replace(case, node=long))


def test_wrong_values_are_named():
    case = window("70b_h100x4")
    with pytest.raises(UnknownNameError):
        window_ttft("least_loaded", case)
    with pytest.raises(InvalidValueError, match="decoy_high"):
        window_ttft("random", replace(case, decoy_high=0.0))
    with pytest.raises(InvalidValueError, match="visibility"):
        window_ttft("random", case, visibility="never")
    with pytest.raises(InvalidValueError, match="bursts"):
        window_ttft("random", replace(case, bursts=0, decoys=0))
    assert set(POLICIES) >= {"random", "least_load"}
