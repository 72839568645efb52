"""Scenarios: figures of the study, one schema for Python and TOML, and what it refuses."""

import dataclasses
import math

import numpy as np
import pytest

from kvcost.errors import (
    CapacityError,
    ConfigError,
    InvalidValueError,
    KvcostError,
    MissingFactError,
    UnknownNameError,
)
from kvcost.scenario import (
    BehaviourPart,
    BurstWork,
    MixedWork,
    Scenario,
    SteadyWork,
    WindowWork,
    load_scenario,
    shipped_scenarios,
)

# Constants of the study's set-ups for prompts of 65,536 + 256 tokens, as its public simulator has
# them (github.com/jwlaboratory/inference-sim, 547d2d5): cold and suffix prefill, copy over RDMA,
# sequences that fit, decode step alone and at that many
PUBLISHED = {
    "70b": (4.696578, 0.018275, 0.107374, 8, 0.015183, 0.029260),
    "qwen3-8b": (0.544830, 0.002120, 0.048318, 31, 0.002433, 0.029582),
    "glm52": (1.330475, 0.005177, 0.003681, 181, 0.001002, 0.013410),
    "dense1t": (29.240889, 0.113778, 0.040265, 9, 0.039694, 0.044747),
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_costs_of_the_study(model):
    costs = load_scenario(f"bullet-{model}-burst").costs()
    cold, suffix, copy, slots, alone, full = PUBLISHED[model]
    assert costs.prefill(65_792) == pytest.approx(cold, abs=5e-7)
    assert costs.prefill(65_792, cached=65_536) == pytest.approx(suffix, abs=5e-7)
    assert costs.copy(65_536) == pytest.approx(copy, abs=5e-7)
    assert costs.slots(65_793) == slots
    assert costs.step(65_792) == pytest.approx(alone, abs=5e-7)
    assert costs.step(slots * 65_792) == pytest.approx(full, abs=5e-7)


@pytest.mark.parametrize("name", shipped_scenarios())
def test_shipped_files_survive_a_round_trip(name):
    scenario = load_scenario(name)
    assert scenario.title
    assert Scenario.from_toml(scenario.to_toml()) == scenario


def test_user_text_survives_a_round_trip():
    title = 'quote " backslash \\ newline \n tab \t bell \x07 = [x] # é 漢'
    scenario = load_scenario("bullet-70b-burst").replace(title=title)
    assert Scenario.from_toml(scenario.to_toml()).title == title


def test_a_model_of_the_catalogue_counts_attention():
    base = load_scenario("bullet-70b-burst").to_table()
    base["model"] = {"name": "llama-3.3-70b"}
    named = Scenario.from_table(base).costs()
    plain = load_scenario("bullet-70b-burst").costs()
    assert named.prefill_quadratic > 0
    assert named.prefill_slope == pytest.approx(plain.prefill_slope, rel=2e-3)
    assert named.copy_seconds_per_token == plain.copy_seconds_per_token
    base["model"]["count_attention"] = False
    assert Scenario.from_table(base).costs().prefill_quadratic == 0


def _changed(where, key, value):
    table = load_scenario("bullet-70b-burst").to_table()
    if key is None:
        table[where] = value
    else:
        table.setdefault(where, {})[key] = value
    return table


@pytest.mark.parametrize(
    ("where", "key", "value", "names"),
    [
        ("replica", "count", 0, ["replica.count", "from 1"]),
        ("replica", "count", 2.5, ["replica.count", "2.5"]),
        ("replica", "count", True, ["replica.count"]),
        ("replica", "count", "many", ["replica.count", "many"]),
        ("replica", "mfu", 1.5, ["mfu", "1.5"]),
        ("replica", "accelerator", "h1000", ["h1000", "h100"]),
        ("replica", "cuont", 4, ["cuont", "count"]),
        ("workload", "requests", -1, ["workload.requests"]),
        ("workload", "span", "60 GB", ["span", "60 GB"]),
        ("workload", "span", -1.0, ["span"]),
        ("workload", "span", math.nan, ["span"]),
        ("workload", "span", math.inf, ["span"]),
        ("workload", "shared_tokens", "64K", ["shared_tokens", "64K"]),
        ("workload", "arrivals", "odd", ["arrivals", "even"]),
        ("workload", "kind", "bursts", ["workload.kind", "burst"]),
        ("network", "bandwidth", "50", ["bandwidth"]),
        ("network", "copies", "magic", ["copies", "nic"]),
        ("cache", "host_memory", -1, ["host_memory"]),
        ("behaviour", "gateways", 0, ["gateways"]),
        ("run", "seed", -1, ["seed"]),
        ("workloads", None, {}, ["workloads", "workload"]),
        ("replica", None, 7, ["replica", "table"]),
    ],
)
def test_bad_entries_are_named(where, key, value, names):
    with pytest.raises(KvcostError) as caught:
        Scenario.from_table(_changed(where, key, value)).costs()
    for name in names:
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("where", "key"),
    [
        ("model", "parameters"),
        ("model", "kv_bytes_per_token"),
        ("replica", "mfu"),
        ("replica", "accelerator"),
        ("workload", "span"),
        ("workload", "kind"),
        ("cache", "host_bandwidth"),
    ],
)
def test_missing_facts_are_named(where, key):
    table = load_scenario("bullet-70b-burst").to_table()
    del table[where][key]
    with pytest.raises(MissingFactError, match=key):
        Scenario.from_table(table).costs()


def test_weights_that_do_not_fit():
    with pytest.raises(CapacityError, match="accelerators"):
        Scenario.from_table(_changed("replica", "accelerators", 1)).costs()


def test_unreadable_files(tmp_path):
    with pytest.raises(UnknownNameError, match="bullet-70b-burst"):
        load_scenario("bullet-70b-brst")
    with pytest.raises(ConfigError, match="nowhere"):
        load_scenario(tmp_path / "nowhere.toml")
    for content in (b"a = [", b"\xff\xfe", b"x" * (1 << 21)):
        path = tmp_path / "bad.toml"
        path.write_bytes(content)
        with pytest.raises(ConfigError):
            load_scenario(path)


def test_visibility_sets_both():
    part = BehaviourPart(visibility="admission")
    assert (part.index_visibility, part.copy_visibility) == ("admission", "admission")
    assert (BehaviourPart().index_visibility, BehaviourPart().copy_visibility) == (
        "admission",
        "computed",
    )


def test_bursts_have_the_spacing_they_state():
    inclusive = BurstWork(requests=5, span=8.0, shared_tokens=512)
    times = inclusive.draw(np.random.default_rng(0), block_tokens=256).arrival
    assert times.tolist() == [0, 2, 4, 6, 8]
    exclusive = dataclasses.replace(inclusive, spacing="exclusive", span=10.0)
    times = exclusive.draw(np.random.default_rng(0), block_tokens=256).arrival
    assert times.tolist() == [0, 2, 4, 6, 8]
    drawn = [
        dataclasses.replace(inclusive, arrivals="poisson").draw(
            np.random.default_rng(seed), block_tokens=256
        )
        for seed in range(2000)
    ]
    gaps = np.concatenate([np.diff(requests.arrival) for requests in drawn])
    assert gaps.mean() == pytest.approx(2.0, abs=4 * 2.0 / math.sqrt(gaps.size))
    uniform = dataclasses.replace(inclusive, arrivals="uniform").draw(
        np.random.default_rng(0), block_tokens=256
    )
    assert uniform.arrival[0] == 0
    assert uniform.arrival[-1] <= 8


def test_the_blocks_of_a_window():
    work = load_scenario("bullet-70b-window").workload
    requests = work.draw(np.random.default_rng(1), block_tokens=256)
    assert len(requests) == 8 * 500 + 120
    assert np.all(requests.blocks == 257)
    assert np.count_nonzero(requests.group < 0) == 120
    starts = requests.block_starts[:-1]
    first = requests.block_ids[starts]
    burst = requests.group >= 0
    assert np.array_equal(first[burst], requests.group[burst])
    assert np.unique(first[~burst]).size == 120
    counts = requests.block_counts
    assert np.all(counts[starts[burst]] == 256)
    assert np.all(counts[starts[~burst]] == 257)


def test_moments_of_clipped_prompts():
    """Steady traffic of the study: mean and second moment as its simulator states them."""
    work = SteadyWork(
        rate=1.0,
        prompt_tokens=8192,
        prompt_mean=8192.0,
        prompt_law="lognormal",
        prompt_low=64,
        prompt_high=131_072,
    )
    mean, second = work.moments()
    # the published figures, 8161.455 and 172,584,603, are means of a sample
    assert mean == pytest.approx(8161.455, rel=2e-3)
    assert second == pytest.approx(172_584_603, rel=1e-2)
    drawn = work.prompts(np.random.default_rng(3), 400_000)
    assert drawn.min() >= 64
    assert drawn.max() <= 131_072
    assert drawn.mean() == pytest.approx(mean, rel=0.01)


def test_works_refuse_what_cannot_be():
    with pytest.raises(InvalidValueError, match="decoy_high"):
        WindowWork(
            bursts=1,
            first=0.0,
            every=0.0,
            burst_requests=5,
            burst_span=1.0,
            shared_tokens=256,
            decoys=3,
        )
    with pytest.raises(InvalidValueError, match="bursts"):
        WindowWork(
            bursts=0, first=0.0, every=0.0, burst_requests=5, burst_span=1.0, shared_tokens=256
        )
    with pytest.raises(InvalidValueError, match="jitter"):
        WindowWork(
            bursts=1,
            first=1.0,
            every=0.0,
            jitter=2.0,
            burst_requests=5,
            burst_span=1.0,
            shared_tokens=256,
        )
    with pytest.raises(InvalidValueError, match="warm_up"):
        SteadyWork(rate=1.0, requests=10, warm_up=10, prompt_tokens=8)


def test_bursts_on_background():
    work = MixedWork(
        first=10.0,
        burst_requests=50,
        burst_span=5.0,
        shared_tokens=1024,
        background_rate=4.0,
        background_tokens=2048,
        duration=60.0,
    )
    drawn = [work.draw(np.random.default_rng(seed), block_tokens=256) for seed in range(200)]
    others = np.array([np.count_nonzero(requests.group < 0) for requests in drawn])
    assert others.mean() == pytest.approx(240, abs=4 * math.sqrt(240 / 200))
    for requests in drawn[:5]:
        assert np.all(np.diff(requests.arrival) >= 0)
        assert np.count_nonzero(requests.group == 0) == 50
        assert requests.arrival[requests.group == 0][0] == 10.0
