"""Limits and refusals of comparisons that once went wrong."""

import json
from dataclasses import replace

import pytest

from kvcost.cli import main
from kvcost.errors import CapacityError, InvalidValueError, MissingFactError
from kvcost.planning import compare
from kvcost.routing.closed import why_not
from kvcost.scenario import NetworkPart, load_scenario

BURST = load_scenario("bullet-70b-burst")
STEADY = load_scenario("steady-70b")


def changed(scenario, **work):
    return scenario.replace(workload=replace(scenario.workload, **work))


def test_copies_over_network_cards_have_no_form():
    cards = BURST.replace(network=NetworkPart(bandwidth=50e9, copies="nic"))
    for policy in ("replicate_on_burst", "p2p_pull", "mooncake_conductor"):
        assert "network cards" in why_not(cards, policy)
    assert why_not(cards, "cache_aware") is None


def test_what_moves_kv_needs_a_network():
    alone = BURST.replace(network=NetworkPart())
    with pytest.raises(MissingFactError, match="bandwidth"):
        compare(alone, "replicate_on_burst")
    names = {answer.policy for answer in compare(alone, "all", replications=1).answers}
    assert "cache_aware" in names
    assert not names & {"replicate_on_burst", "p2p_pull", "mooncake_conductor"}


@pytest.mark.parametrize("policy", ["random", "round_robin", "least_load", "power_of_two"])
@pytest.mark.parametrize("rate", [1e-300, 1e-6, 1e-3])
def test_no_load_leaves_the_prefill_alone(policy, rate):
    found = compare(changed(STEADY, rate=rate), policy)[policy].closed
    own = STEADY.costs().prefill(8192)
    for value in (found.mean, found.p50, found.p95, found.p99):
        assert value == pytest.approx(own, rel=1e-3)


def test_hits_that_cost_nothing_and_huge_bursts_are_simulated():
    assert "nothing" in why_not(changed(BURST, suffix_tokens=0), "least_load")
    assert "10,000" in why_not(changed(BURST, requests=10_001), "random")


def test_no_limit_on_loads_is_a_number_like_any_other():
    params = {"cache_aware": {"preset": "study", "balance_abs": float("inf")}}
    found = compare(BURST, "cache_aware", params=params)["cache_aware"]
    assert found.closed.trip_share == 0


def test_requests_that_do_not_fit():
    for scenario in (
        changed(BURST, shared_tokens=100_000_000),
        changed(STEADY, prompt_tokens=10**7),
    ):
        with pytest.raises(CapacityError, match="room"):
            compare(scenario, "least_load")


def test_names_count_once_and_none_is_refused():
    found = compare(BURST, ["least_load", "least_load"])
    assert len(found.answers) == 1
    with pytest.raises(InvalidValueError, match="policies"):
        compare(BURST, [])


@pytest.mark.parametrize("arrivals", ["even", "poisson", "uniform"])
@pytest.mark.parametrize("requests", [1, 2, 3])
def test_small_bursts(arrivals, requests):
    scenario = changed(BURST, requests=requests, arrivals=arrivals)
    for answer in compare(scenario, "all", replications=2).answers:
        told = answer.to_dict()
        json.dumps(told, allow_nan=False)
        assert told["p50_ttft"] <= told["p95_ttft"] <= told["p99_ttft"]
        assert told["mean_ttft"] <= told["max_ttft"] * (1 + 1e-9)


@pytest.mark.parametrize(
    "change",
    [
        "workload.kind=[]",
        "cache.host_memory=[1]",
        "cache.host_memory={}",
        "policy.preset=[]",
        "policy.name=3",
        "title=3",
        "workload.suffix_tokens=false",
        "workload.span=[]",
        "model.kv_bytes_per_token=1e-300",
    ],
)
def test_odd_values_are_refused_in_one_line(change, capsys):
    code = main(["route", "bullet-70b-burst", "--set", change])
    captured = capsys.readouterr()
    if code == 2:
        assert captured.err.count("\n") == 1
    else:  # a KV of no weight is odd, and can be reckoned with
        assert code == 0


def test_one_visibility_or_two(capsys):
    words = ["--set", "visibility=admission", "--set", "behaviour.copy_visibility=computed"]
    assert main(["route", "bullet-70b-burst", *words]) == 2
    assert "copy_visibility" in capsys.readouterr().err
