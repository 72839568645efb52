"""The commands ``kvcost route`` and ``kvcost simulate``, called as a shell would."""

from __future__ import annotations

import csv
import json

import pytest

from kvcost.scenario import load_scenario

BURST = ("route", "bullet-70b-burst")


def test_route_answers_with_the_scenario_s_own_policy(answer):
    found = answer(*BURST)
    assert list(found) == ["cache_aware"]
    assert found["cache_aware"]["mean_ttft"] == pytest.approx(0.24437918, abs=1e-7)
    assert found["cache_aware"]["simulated"] is None


def test_changes_of_entries(answer):
    words = ("--policy", "replicate_on_burst", "--set", "visibility=admission")
    found = answer(*BURST, *words)["replicate_on_burst"]
    assert found["mean_ttft"] == pytest.approx(0.0367839008, abs=1e-9)
    # a policy that states its copies: with the first alone there is nothing to choose from
    own = ("--set", "policy.name=replicate_on_burst", "--set", "policy.copies=1")
    alone = answer(*BURST, *words, *own)["replicate_on_burst"]
    assert alone["mean_ttft"] == pytest.approx(0.24437918, abs=1e-7)


def test_route_simulates_when_asked(answer):
    found = answer(*BURST, "--policy", "least_load,round_robin", "--simulate", "--runs", "5")
    for told in found.values():
        assert told["simulated"]["runs"] == 5
        assert abs(told["difference"]) < 0.01
        assert told["split"]["own_head"] > 0


def test_the_table_names_best_first(run):
    code, out, err = run(*BURST, "--policy", "cache_aware,round_robin")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == load_scenario("bullet-70b-burst").title
    assert lines[2].split()[0] == "round_robin"
    assert "0.2271 s" in lines[2]
    assert "exact" in out


def test_csv_has_a_row_a_policy(run):
    code, out, _ = run(*BURST, "--policy", "cache_aware,round_robin", "--csv")
    assert code == 0
    rows = list(csv.DictReader(out.splitlines()))
    assert [row["policy"] for row in rows] == ["round_robin", "cache_aware"]
    assert json.loads(rows[0]["split"])["own_prefill"] > 0


def test_budgets(run):
    assert run(*BURST, "--max-ttft", "1 s")[0] == 0
    code, out, _ = run(*BURST, "--max-ttft", "100 ms")
    assert code == 1
    assert "BUDGET MISSED" in out


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("route", "bullet-70b-brst"), ["bullet-70b-burst"]),
        (("route", "nowhere.toml"), ["nowhere.toml"]),
        ((*BURST, "--policy", "least_loaded"), ["least_load"]),
        ((*BURST, "--policy", ""), ["policy"]),
        ((*BURST, "--set", "replica.count"), ["--set", "TABLE.KEY=VALUE"]),
        ((*BURST, "--set", "replica.cuont=3"), ["cuont", "count"]),
        ((*BURST, "--set", "replica.count=0"), ["count"]),
        ((*BURST, "--set", "policy.copies=2"), ["copies"]),
        ((*BURST, "--runs", "0", "--simulate"), ["--runs"]),
        ((*BURST, "--seed", "x", "--simulate"), ["--seed"]),
        ((*BURST, "--set", "workload.span=1 GB"), ["span"]),
        ((*BURST, "--max-ttft", "3"), ["--max-ttft"]),
        ((*BURST, "--set", "replica.accelerators=1"), ["weights"]),
    ],
)
def test_bad_input_is_one_line(run, words, names):
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    for name in names:
        assert name in err


def test_simulate(answer):
    found = answer("simulate", "bullet-70b-window", "--runs", "3", "--policy", "least_load")
    assert found["runs"] == 3
    assert found["requests"] == 3 * 4120
    assert found["cold_requests"] == 152
    assert sum(found["split"].values()) == pytest.approx(found["mean_ttft"], rel=1e-9)
    assert found["low"] < found["mean_ttft"] < found["high"]


def test_the_csv_holds_the_first_run(run, tmp_path):
    path = tmp_path / "requests.csv"
    words = ("--runs", "1", "--policy", "least_load", "--requests-csv", str(path), "--json")
    code, out, _ = run("simulate", "bullet-70b-window", *words)
    assert code == 0
    rows = list(csv.DictReader(path.read_text().splitlines()))
    mean = sum(float(row["ttft_s"]) for row in rows) / len(rows)
    assert mean == pytest.approx(json.loads(out)["mean_ttft"], rel=1e-9)


def test_every_request_of_a_run_as_csv(run, tmp_path):
    path = tmp_path / "requests.csv"
    words = ("simulate", "bullet-70b-burst", "--runs", "1", "--requests-csv", str(path))
    code, out, _ = run(*words, "--json")
    assert code == 0
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == 500
    mean = sum(float(row["ttft_s"]) for row in rows) / 500
    assert mean == pytest.approx(json.loads(out)["mean_ttft"], rel=1e-9)
    code, _, err = run(*words)
    assert code == 2
    assert "exists" in err
    code, _, err = run(*words[:-1], str(tmp_path / "no" / "such.csv"))
    assert code == 2
    assert "folder" in err
