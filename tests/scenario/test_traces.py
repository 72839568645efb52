"""Scenarios that replay a trace: where its file is looked for, what fits, what policies do."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kvcost.errors import CapacityError, ConfigError, InvalidValueError
from kvcost.routing import registry
from kvcost.scenario import Scenario, load_scenario
from kvcost.scenario.tracefile import load_trace
from kvcost.simulation.cluster import simulate

CONVERSATION = "mooncake_conversation.jsonl.gz"
BLOCK = 512


def _rows(count):
    """Prompts of 2 to 5 whole blocks; every second one starts with the same block."""
    for row in range(count):
        blocks = 2 + row % 4
        ids = [0 if row % 2 == 0 else 10 * row, *(10 * row + k for k in range(1, blocks))]
        yield {
            "timestamp": 500 * row,
            "input_length": BLOCK * blocks,
            "output_length": 7,
            "hash_ids": ids,
        }


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in _rows(40)), encoding="utf-8")
    return path


@pytest.fixture
def scenario(trace):
    table = load_scenario("bullet-70b-burst").to_table()
    table["workload"] = {"kind": "trace", "path": str(trace)}
    table["cache"] = table["cache"] | {"block_tokens": BLOCK}
    return Scenario.from_table(table)


def _with(scenario, **changes):
    return scenario.replace(workload=replace(scenario.workload, **changes))


class TestWhereTheFileIs:
    def test_as_given(self, trace, monkeypatch):
        monkeypatch.delenv("KVCOST_TRACES", raising=False)
        assert len(load_trace(str(trace))) == 40

    def test_relative_to_the_working_folder_first(self, trace, tmp_path, monkeypatch):
        other = tmp_path / "other"
        other.mkdir()
        (other / trace.name).write_text(json.dumps(next(_rows(1))) + "\n", encoding="utf-8")
        monkeypatch.chdir(trace.parent)
        monkeypatch.setenv("KVCOST_TRACES", str(other))
        assert len(load_trace(trace.name)) == 40

    def test_in_the_folder_of_the_variable(self, trace, tmp_path, monkeypatch):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        monkeypatch.setenv("KVCOST_TRACES", str(trace.parent))
        assert len(load_trace(trace.name)) == 40

    def test_missing_says_both_places_and_the_variable(self, tmp_path, monkeypatch):
        monkeypatch.setenv("KVCOST_TRACES", str(tmp_path))
        with pytest.raises(ConfigError) as caught:
            load_trace("nowhere.jsonl")
        text = str(caught.value)
        assert f"looked at nowhere.jsonl and {tmp_path / 'nowhere.jsonl'}" in text
        assert "KVCOST_TRACES" in text

    def test_missing_without_the_variable(self, monkeypatch):
        monkeypatch.delenv("KVCOST_TRACES", raising=False)
        with pytest.raises(ConfigError, match="set KVCOST_TRACES, which is not set"):
            load_trace("nowhere.jsonl")


class TestWhatIsReplayed:
    def test_the_seed_does_not_matter(self, scenario):
        first, second = scenario.requests(1), scenario.requests(2)
        assert np.array_equal(first.arrival, second.arrival)
        assert np.array_equal(first.block_ids, second.block_ids)

    def test_first_requests_and_rate(self, scenario):
        found = _with(scenario, requests=11, rate=4.0).requests()
        assert len(found) == 11
        assert found.rate == pytest.approx(4.0)

    def test_longest_left_out_before_the_first_are_taken(self, scenario):
        found = _with(scenario, max_tokens=3 * BLOCK + 7, requests=3).requests()
        assert found.prompt_tokens.tolist() == [2 * BLOCK, 3 * BLOCK, 2 * BLOCK]

    def test_limit_that_leaves_nothing(self, scenario):
        with pytest.raises(InvalidValueError, match="leaves none of the 40 requests"):
            _with(scenario, max_tokens=BLOCK).requests()

    def test_table_round_trip(self, scenario):
        limited = _with(scenario, max_tokens=5000, requests=7, rate=2.0, format="mooncake")
        assert Scenario.from_toml(limited.to_toml()) == limited

    def test_other_block_size_is_refused(self, scenario):
        with pytest.raises(InvalidValueError, match="must equal the 512 tokens"):
            simulate(scenario.replace(cache=replace(scenario.cache, block_tokens=256)))

    def test_trace_without_prefixes_takes_the_blocks_of_the_cache(self, scenario, tmp_path):
        path = tmp_path / "plain.csv"
        path.write_text(
            "arrived_at,num_prefill_tokens,num_decode_tokens\n0,900,3\n1.5,1200,4\n",
            encoding="utf-8",
        )
        plain = _with(scenario, path=str(path))
        assert plain.requests().block_tokens == BLOCK
        assert not plain.requests().has_blocks
        run = simulate(plain)
        assert run.hit_tokens.tolist() == [0, 0]

    def test_too_long_requests_are_counted(self, tmp_path, scenario):
        room = int(scenario.costs().kv_tokens)
        path = tmp_path / "long.csv"
        lines = [f"{k},{room + 1 if k < 3 else 100},1" for k in range(5)]
        path.write_text(
            "\n".join(["arrived_at,num_prefill_tokens,num_decode_tokens", *lines]),
            encoding="utf-8",
        )
        long = _with(scenario, path=str(path))
        with pytest.raises(CapacityError, match="3 of 5 requests") as caught:
            simulate(long)
        assert "max_tokens" in str(caught.value)
        assert simulate(_with(long, max_tokens=room)).arrival.size == 2

    @pytest.mark.parametrize("policy", registry.names())
    def test_every_policy_serves_all(self, scenario, policy):
        run = simulate(scenario, policy=policy)
        assert np.isfinite(run.finish).all()
        assert (run.finish > run.arrival).all()
        assert set(run.replica.tolist()) <= set(range(scenario.replica.count))
        # only the first block is ever shared: 19 of the 20 requests that start with it can hit
        assert set(run.hit_tokens.tolist()) <= {0, BLOCK}
        assert np.count_nonzero(run.hit_tokens) <= 19


@pytest.fixture(scope="module")
def conversation():
    folder = os.environ.get("KVCOST_TRACES")
    if folder is None or not Path(folder, CONVERSATION).is_file():
        pytest.skip(f"KVCOST_TRACES names no folder with {CONVERSATION}")
    return load_scenario("mooncake-conversation")


class TestMooncakeConversation:
    def test_ships(self):
        scenario = load_scenario("mooncake-conversation")
        assert scenario.workload.path == CONVERSATION
        assert scenario.cache.block_tokens == BLOCK

    @pytest.mark.parametrize("policy", registry.names())
    def test_replay(self, conversation, policy):
        run = simulate(conversation, policy=policy)
        assert run.arrival.size == 12_031
        assert np.isfinite(run.finish).all()
        # the share that an unlimited cache in one place would hold bounds every policy
        assert 0 < run.hit_tokens.sum() / run.prompt_tokens.sum() <= 0.3731

    def test_reading_and_replay_are_quick(self, conversation):
        simulate(conversation)
        start = time.perf_counter()
        simulate(conversation)
        assert time.perf_counter() - start < 2.0
