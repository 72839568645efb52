"""The command ``kvcost queue``, called as a shell would."""

from __future__ import annotations

import pytest

STEADY = ("queue", "--servers", "8", "--utilization", "0.9", "--service-mean", "0.3")
KEYS = {
    "mean_wait",
    "mean_wait_low",
    "mean_wait_high",
    "p50",
    "p95",
    "p99",
    "probability_of_wait",
    "method",
    "error",
}


def test_two_moments_above_one_give_a_range_and_no_number(answer):
    found = answer(*STEADY, "--service-scv", "4")
    assert found.keys() >= KEYS
    assert found["mean_wait"] is None
    assert found["error"]["kind"] == "range"
    assert 0 < found["mean_wait_low"] < found["mean_wait_high"]


def test_a_distribution_narrows_the_range(answer):
    wide = answer(*STEADY, "--service-scv", "4")
    narrow = answer(*STEADY, "--service-scv", "4", "--distribution", "lognormal")
    assert narrow["error"]["kind"] == "approximation"
    assert wide["mean_wait_low"] * 0.9 < narrow["mean_wait"] < wide["mean_wait_high"] * 1.1
    assert narrow["p50"] < narrow["p95"] < narrow["p99"]


def test_a_third_moment_gives_one_number(answer):
    words = ("--service-scv", "4", "--third-moment", str(60 * 0.3**3))
    found = answer(*STEADY, *words)
    assert found["mean_wait"] is not None


def test_exponential_service_is_erlang_c(answer):
    found = answer(*STEADY, "--distribution", "exponential")
    assert found["error"]["kind"] == "exact"
    # Erlang C of 8 servers at an offered load of 7.2 is 0.7015 (tables of traffic engineering)
    assert found["probability_of_wait"] == pytest.approx(0.7015, abs=1e-3)
    assert found["mean_wait"] == pytest.approx(found["probability_of_wait"] * 0.3 / 0.8, rel=1e-12)


def test_arrival_rate_and_units_say_the_same(answer):
    words = ("queue", "--servers", "8", "--arrival-rate", "24", "--service-mean", "300 ms")
    rate = answer(*words, "--distribution", "deterministic")
    share = answer(*STEADY, "--distribution", "deterministic")
    assert rate["mean_wait"] == pytest.approx(share["mean_wait"], rel=1e-12)


def test_a_batch_of_equal_services_by_hand(answer):
    words = ("queue", "--servers", "4", "--burst", "40", "--arrivals", "batch")
    found = answer(*words, "--service-mean", "1", "--distribution", "deterministic")
    # 4 start at once, then 4 a second: waits 0 to 9, ten of each four
    assert found["mean_wait"] == pytest.approx(4.5, rel=1e-12)
    assert found["maximum"] == pytest.approx(9, rel=1e-12)
    assert found["peak_backlog"] == 36


def test_a_burst_over_time_on_background(answer):
    words = ("queue", "--servers", "4", "--burst", "60", "--over", "6", "--service-mean", "0.5")
    words += ("--distribution", "deterministic")
    alone = answer(*words)
    beside = answer(*words, "--utilization", "0.5")
    assert beside["mean_wait"] > alone["mean_wait"] > 0
    assert any("evenly" in note for note in alone["notes"])


def test_two_moments_of_a_burst_give_a_range(answer):
    words = ("queue", "--servers", "2", "--burst", "10", "--over", "1", "--service-mean", "0.5")
    found = answer(*words, "--service-scv", "4")
    assert found["mean_wait"] is None
    assert found["mean_wait_low"] < found["mean_wait_high"]


def test_the_table_names_method_and_error(run):
    code, out, _ = run(*STEADY, "--distribution", "deterministic")
    assert code == 0
    assert "Method: " in out
    assert "Error: exact" in out


def test_a_budget_sets_the_exit_code(run):
    words = (*STEADY, "--distribution", "deterministic", "--max-wait")
    assert run(*words, "1 s")[0] == 0
    code, out, _ = run(*words, "1 ms")
    assert code == 1
    assert "BUDGET MISSED" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("queue", "--servers", "8", "--service-mean", "1"), "--utilization 0.9"),
        (("queue", "--servers", "8", "--utilization", "1", "--service-mean", "1"), "8"),
        (("queue", "--servers", "0", "--utilization", ".5", "--service-mean", "1"), "servers"),
        (("queue", "--servers", "-2", "--utilization", ".5", "--service-mean", "1"), "servers"),
        (("queue", "--servers", "nan", "--utilization", ".5", "--service-mean", "1"), "--servers"),
        ((*STEADY, "--service-scv", "-1"), "scv"),
        ((*STEADY, "--service-scv", "x"), "--service-scv x"),
        ((*STEADY, "--distribution", "lognormall", "--service-scv", "2"), "lognormal"),
        ((*STEADY, "--distribution", "lognormal"), "service_scv"),
        ((*STEADY, "--service-scv", "4", "--third-moment", "1e-9"), "third_moment"),
        ((*STEADY, "--arrival-rate", "3"), "does not go with"),
        (("queue", "--servers", "8", "--burst", "9", "--service-mean", "1"), "--over"),
        (
            ("queue", "--servers", "8", "--burst", "9", "--over", "1", "--service-mean", "1"),
            "--distribution",
        ),
        (("queue", "--servers", "8", "--utilization", ".5", "--service-mean", "-1"), "-1"),
        (("queue", "--servers", "1", "--utilization", "1", "--service-mean", "1"), "all used up"),
        (
            ("queue", "--servers", "4", "--burst", "0", "--over", "1", "--service-mean", "1"),
            "--burst 0 must be a whole number",
        ),
        (("queue",), "required"),
    ],
)
def test_bad_input_is_one_clear_line(run, words, said):
    code, out, err = run(*words)
    assert code == 2, out + err
    assert out == ""
    assert err.startswith("kvcost: ")
    assert err.count("\n") == 1
    assert said in err
