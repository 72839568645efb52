"""The planner of a scenario: what it takes over and refuses, and that Python's side is right."""

from __future__ import annotations

import time

import openpyxl
import pytest

from kvcost.cli import main
from kvcost.errors import InvalidValueError
from kvcost.planning import compare
from kvcost.routing.reduce import node_costs
from kvcost.scenario import NetworkPart, load_scenario, shipped_scenarios
from kvcost.sheet import scenario as module
from kvcost.sheet import scenario_question, write_planner
from kvcost.sheet.plan import make_plan
from kvcost.sheet.question import PolicyTable
from kvcost.sheet.scenario import policy_table
from tests.sheets.shipped import BURST, SCENARIOS, STEADY, routed

NAMED = """
title = {title}
[model]
name = "meta-llama/Llama-3.3-70B-Instruct"
kv_dtype = "fp8"
[replica]
count = {count}
accelerator = "h100"
accelerators = 8
mfu = 0.45
decode_bandwidth_share = 0.8
compute_dtype = "fp8"
{network}
[workload]
{work}
"""
MIXED = """kind = "bursts_on_background"
first = "1 s"
burst_requests = {requests}
burst_span = "2 s"
shared_tokens = 1000
suffix_tokens = 0
background_rate = 0.5
background_tokens = 3000
duration = "5 s"
"""


@pytest.fixture
def no_policies(monkeypatch):
    """Leave out what takes long."""
    monkeypatch.setattr(module, "policy_table", lambda _: PolicyTable(title="none", rows=()))


def _written(tmp_path, *, title="'named'", count=4, network="", requests=20):
    path = tmp_path / "scenario.toml"
    text = NAMED.format(
        title=title, count=count, network=network, work=MIXED.format(requests=requests)
    )
    path.write_text(text, encoding="utf-8")
    return str(path)


def _same_as_the_scenario(name):
    scenario = load_scenario(name)
    costs, values = scenario.costs(), make_plan(scenario_question(name)).values()
    assert values["prefill_per_token"] == pytest.approx(costs.prefill_slope, rel=1e-12)
    assert values["prefill_per_token_squared"] == pytest.approx(costs.prefill_quadratic, rel=1e-12)
    room = values["kv_budget_bytes"] / values["kv_bytes_per_token"]
    assert room == pytest.approx(costs.kv_tokens, abs=1)
    if "copy_seconds" in values:
        node = node_costs(scenario, scenario.workload)
        assert values["cold_prefill_seconds"] == pytest.approx(node.cold, rel=1e-12)
        assert values["suffix_prefill_seconds"] == pytest.approx(node.hit, rel=1e-12)
        if scenario.network.bandwidth is not None:
            assert values["copy_seconds"] == pytest.approx(node.copy, rel=1e-12)
    return values


@pytest.mark.usefixtures("no_policies")
@pytest.mark.parametrize("name", [name for name in shipped_scenarios() if name[:4] != "moon"])
def test_shipped_scenarios_cost_what_python_says(name):
    _same_as_the_scenario(name)


@pytest.mark.usefixtures("no_policies")
@pytest.mark.parametrize(
    "network",
    [
        "",
        "[network]\nbandwidth = '20 GB/s'\nlatency = '3 ms'\npipelined_layers = 80",
        "[cache]\nhost_memory = 'inf'\nhost_bandwidth = '55 GB/s'",
        "[network]\nbandwidth = '20 GB/s'\n[behaviour]\nvisibility = 'admission'",
    ],
)
@pytest.mark.parametrize("requests", [1, 20])
def test_a_model_of_the_catalogue_costs_what_python_says(tmp_path, network, requests):
    name = _written(tmp_path, network=network, requests=requests)
    values = _same_as_the_scenario(name)
    assert values["background_utilization"] > 0
    assert values["burst_gap"] == pytest.approx(2.0 / max(requests - 1, 1))


def test_inputs_say_that_they_are_the_scenarios():
    title = load_scenario(BURST).title
    given = {node.key: node for node in make_plan(routed(BURST)).inputs}
    for key in ("mfu", "accelerators", "servers", "shared_tokens", "copy_bandwidth"):
        assert given[key].source.startswith(f"scenario: {title}"), key
    assert (given["burst_requests"].yours, given["burst_seconds"].yours) == (500.0, 60.0)
    assert given["kv_bytes_per_token"].yours == 327_680
    steady = {node.key: node for node in make_plan(routed(STEADY)).inputs}
    assert (steady["arrival_rate"].yours, steady["tokens"].yours) == (4.1, 8192.0)
    assert "shared_tokens" not in steady


@pytest.mark.parametrize("name", SCENARIOS)
def test_policies_are_those_of_compare(name):
    table = routed(name).policies
    assert "closed forms" in table.title
    found = compare(load_scenario(name), [row.policy for row in table.rows])
    assert [row.policy for row in table.rows] == [each.policy for each in found.answers]
    for row, answer in zip(table.rows, found.answers, strict=True):
        best = answer.best
        assert (row.mean, row.p50, row.p95, row.p99) == (best.mean, best.p50, best.p95, best.p99)
        assert answer.simulated is None
    assert all("no closed form" in note for note in table.notes)


def test_without_a_network_policies_that_move_kv_are_left_out():
    scenario = load_scenario(BURST)
    apart = policy_table(scenario.replace(network=NetworkPart()))
    assert "replicate_on_burst" not in {row.policy for row in apart.rows}
    assert any("replicate_on_burst: left out" in note for note in apart.notes)
    assert "cache_aware" in {row.policy for row in apart.rows}


def test_without_any_closed_form_it_says_that_it_simulates(tmp_path):
    name = _written(tmp_path, network="[run]\nreplications = 2")
    table = policy_table(load_scenario(name))
    assert "simulated: no policy has a closed form here" in table.title
    assert len(table.rows) > 10
    assert {row.method for row in table.rows} == {"simulated"}


@pytest.mark.usefixtures("no_policies")
@pytest.mark.parametrize("text", ["=1+1", "+A1", '=cmd|"/c calc"!A1', "x" * 40_000])
def test_what_scenarios_say_is_text(tmp_path, text):
    quoted = "'" + text + "'"
    question = scenario_question(_written(tmp_path, title=quoted))
    made = write_planner(tmp_path / "x.xlsx", question)
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    live = {
        (sheet.title, cell.coordinate)
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f"
    }
    assert live == {(sheet, cell) for sheet, cell, _ in made.formulas}
    assert book["Start"]["A1"].value == text[:200]
    assert book["Start"]["A1"].data_type == "s"
    book.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_is_written_in_under_three_seconds(tmp_path, capsys, name):
    routed(name)
    started = time.process_time()
    assert main(["sheet", str(tmp_path / "planner.xlsx"), "--scenario", name]) == 0
    assert time.process_time() - started < 3
    assert load_scenario(name).title in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x.xlsx", "--scenario", "mooncake-conversation"], "recorded trace"),
        (["x.xlsx", "--scenario", "nothing"], "is not known"),
        (["x.xlsx", "--scenario", "nothing.toml"], "No such file"),
        (["x.xlsx", "--scenario", "bad.toml"], "is not TOML"),
        (["x.xlsx", "--scenario", "overload.toml"], "use at least 234 servers"),
        (["x.xlsx", "--scenario", BURST, "--deployment", "glm-5.3-8xb300"], "does not go with"),
        (["--formula", "margin", "--scenario", BURST], "does not go with"),
    ],
)
def test_bad_input(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[")
    steady = load_scenario(STEADY).to_toml().replace("rate = 4.1", "rate = 400.0")
    (tmp_path / "overload.toml").write_text(steady)
    assert main(["sheet", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert {path.suffix for path in tmp_path.iterdir()} == {".toml"}


def test_a_trace_is_refused():
    with pytest.raises(InvalidValueError, match="kvcost route"):
        scenario_question("mooncake-conversation")
