"""What every policy states of itself, the values it takes, and finding it by name."""

import math
import subprocess
import sys

import pytest

from kvcost.errors import InvalidValueError, UnknownNameError
from kvcost.routing.registry import names, policy

CLOSED = {"random", "round_robin", "least_load", "cache_aware", "replicate_on_burst"}
NEW = (
    "least_work",
    "power_of_two",
    "consistent_hash",
    "bounded_prefix_hash",
    "session_affinity",
    "kv_cost",
    "weighted_score",
    "sticky_until_saturated",
    "prefix_load_gate",
    "lmetric",
    "preble",
    "mooncake_conductor",
    "p2p_pull",
)


@pytest.mark.parametrize("name", names())
def test_every_policy_states_what_it_is(name):
    found = policy(name)
    assert found.name == name
    assert found.summary
    assert found.source
    given = found.values()
    assert list(given) == [each.name for each in found.parameters]
    assert found.vector().size == len(given) + 1
    for preset, values in (found.presets or {}).items():
        assert found.values({"preset": preset, **values}) == {**given, **values}


@pytest.mark.parametrize("name", NEW)
def test_every_policy_without_a_form_names_the_nearest(name):
    found = policy(name)
    assert found.nearest in CLOSED
    assert found.nearest_error


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("consistent_hash", {"virtual_nodes": 0}),
        ("consistent_hash", {"virtual_nodes": 1.5}),
        ("bounded_prefix_hash", {"load_factor": -1}),
        ("session_affinity", {"assign": 3}),
        ("kv_cost", {"temperature": math.nan}),
        ("kv_cost", {"floor": 0.5}),
        ("weighted_score", {"token_cap": 0}),
        ("sticky_until_saturated", {"match": 1.1}),
        ("prefix_load_gate", {"deviations": "one"}),
        ("lmetric", {"pending": True}),
        ("preble", {"window": 0}),
        ("mooncake_conductor", {"balancing_threshold": 0.5}),
        ("p2p_pull", {"min_blocks": 0}),
    ],
)
def test_values_out_of_range_are_refused(name, given):
    with pytest.raises(InvalidValueError, match=next(iter(given))):
        policy(name).values(given)


def test_presets_and_parameters_are_known_by_name():
    readme = policy("prefix_load_gate").values({"preset": "readme", "imbalance_abs": 12})
    assert readme == {"imbalance_abs": 12, "deviations": 2, "imbalance_rel": 0}
    with pytest.raises(UnknownNameError, match="readme"):
        policy("prefix_load_gate").values({"preset": "redme"})
    with pytest.raises(UnknownNameError, match="overlap_credit"):
        policy("kv_cost").values({"overlap_credits": 1})


def test_defaults_are_those_of_production():
    assert policy("bounded_prefix_hash").values() == {
        "virtual_nodes": 150,
        "load_factor": 1.25,
        "prefix_tokens": 256,
        "salt": 0,
    }
    sticky = policy("sticky_until_saturated").values()
    assert (sticky["match"], sticky["penalty"], sticky["peak_prefill"]) == (0.8, 18, 15928)
    cost = policy("kv_cost").values()
    assert (cost["overlap_credit"], cost["host_credit"], cost["temperature"]) == (1, 0.75, 0)
    score = policy("weighted_score").values()
    assert (score["prefix_weight"], score["queue_weight"], score["kv_weight"]) == (3, 2, 2)


def test_registry_lists_the_nearest_names():
    with pytest.raises(UnknownNameError) as caught:
        policy("least_lod")
    assert caught.value.nearest[0] == "least_load"
    assert len(set(names())) == len(names())


def test_registry_imports_a_policy_only_when_asked():
    code = (
        "import sys; from kvcost.routing.registry import names, policy\n"
        "assert not [m for m in sys.modules if 'policies' in m or m == 'numba']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
