"""Budgets for the TTFT of a scenario under a routing policy."""

import pytest

from kvcost.checks import read_budgets
from kvcost.scenario import load_scenario

BUDGET = """\
[[budget]]
name = "burst"
kind = "route"
scenario = "bullet-70b-burst"
policy = "{policy}"
statistic = "{statistic}"
max_ttft = "{limit}"
"""


def outcome(tmp_path, text):
    path = tmp_path / "kvcost.toml"
    path.write_text(text)
    found = read_budgets(path)
    if found.errors:
        pytest.fail("; ".join(error.problem for error in found.errors))
    return found.budgets[0].judge()


def problem(tmp_path, text):
    path = tmp_path / "kvcost.toml"
    path.write_text(text)
    (error,) = read_budgets(path).errors
    return str(error)


# the public simulator behind Biting the Bullet: mean 0.24437918 s, p95 2.33717763 s
@pytest.mark.parametrize(
    ("statistic", "limit", "met"),
    [
        ("mean", "250 ms", True),
        ("mean", "240 ms", False),
        ("p95", "2.34 s", True),
        ("p95", "2.33 s", False),
        ("longest", "4.7 s", True),
        ("longest", "4.6 s", False),
    ],
)
def test_a_burst_under_cache_aware(tmp_path, statistic, limit, met):
    text = BUDGET.format(policy="cache_aware", statistic=statistic, limit=limit)
    found = outcome(tmp_path, text)
    assert found.met is met
    assert "under cache_aware" in found.text
    assert any("exact" in note for note in found.notes)


def test_a_scenario_file_beside_the_budgets(tmp_path):
    (tmp_path / "mine.toml").write_text(load_scenario("bullet-70b-burst").to_toml())
    text = BUDGET.format(policy="least_load", statistic="mean", limit="1 s")
    assert outcome(tmp_path, text.replace("bullet-70b-burst", "mine.toml")).met


def test_a_measured_value(tmp_path):
    (tmp_path / "bench.json").write_text('{"ttft": 0.9}')
    text = (
        '[[budget]]\nname = "nightly"\nkind = "route"\nstatistic = "p99"\nmax_ttft = "800 ms"\n'
        'measured = { file = "bench.json", field = "ttft", unit = "s" }\n'
    )
    found = outcome(tmp_path, text)
    assert not found.met
    assert found.text.startswith("measured p99 TTFT 0.9 s")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("cache_aware", "cache_awere"), "cache_aware"),
        (("bullet-70b-burst", "bullet-70b-brst"), "bullet-70b-burst"),
        (('"mean"', '"average"'), "mean"),
        (('"1 s"', '"1"'), "max_ttft"),
        (("max_ttft", "max_tftt"), "max_ttft"),
    ],
)
def test_bad_budgets(tmp_path, change, words):
    text = BUDGET.format(policy="cache_aware", statistic="mean", limit="1 s").replace(*change)
    assert words in problem(tmp_path, text)
