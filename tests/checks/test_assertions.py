"""The assertion helpers, with library objects and with plain numbers."""

from __future__ import annotations

import pytest

from kvcost.breakeven import decide
from kvcost.checks import (
    assert_bandwidth_above_break_even,
    assert_fits,
    assert_stable,
    assert_ttft_within,
    assert_wait_within,
    deployment,
)
from kvcost.compute import PrefillCurve
from kvcost.errors import InvalidValueError, MissingFactError, UnitError
from kvcost.hardware import Replica, accelerator
from kvcost.queueing import mmc, moments_wait
from kvcost.transfer import TransferPath

NUMBERS = {
    "tokens": "16k",
    "kv_bytes_per_token": "48408 B",
    "recompute": "310 ms",
    "overhead": "330 ms",
    "bandwidth": "1.71 GB/s",
}


def _said(call, *words, **names):
    with pytest.raises(AssertionError) as caught:
        call(*words, **names)
    assert type(caught.value) is AssertionError
    return str(caught.value)


def _decision(rate):
    return decide(
        tokens=16_000,
        kv_bytes_per_token=48_408,
        fixed_bytes_per_request=0,
        prefill=PrefillCurve.from_points({16_000: 0.31}),
        path=TransferPath(overhead_seconds=0.1, store_bandwidth=rate),
        loading="async",
    )


def test_bandwidth_says_what_the_budget_says(one):
    text = one("bandwidth", deployment="glm-5.3-8xb300").text
    assert _said(assert_bandwidth_above_break_even, deployment("glm-5.3-8xb300")) == text
    assert _said(assert_bandwidth_above_break_even, **NUMBERS) == text
    assert_bandwidth_above_break_even(deployment("glm-5.3-8xb300", tokens="64k", bandwidth="5GB/s"))


def test_bandwidth_of_a_decision():
    assert_bandwidth_above_break_even(_decision("4 GB/s"))
    # 16,000 x 48,408 B over 0.21 s
    text = _said(assert_bandwidth_above_break_even, _decision("3 GB/s"))
    assert text.startswith("bandwidth 3 GB/s is 19% below the break-even of 3.69 GB/s at 16,000 t")
    assert text.endswith("no bandwidth wins below 5,160 tokens")


def test_bandwidth_takes_one_question():
    with pytest.raises(InvalidValueError, match="does not go with numbers"):
        assert_bandwidth_above_break_even(deployment("glm-5.3-8xb300"), bandwidth="5 GB/s")
    with pytest.raises(MissingFactError, match="overhead"):
        assert_bandwidth_above_break_even(**{**NUMBERS, "overhead": None})
    with pytest.raises(UnitError, match="no unit"):
        assert_bandwidth_above_break_even(**{**NUMBERS, "bandwidth": "1.71"})


def test_ttft():
    assert_ttft_within(deployment("glm-5.3-8xb300"), "310 ms")
    assert_ttft_within(_decision("4 GB/s"), 0.31, way="fetch")
    assert_ttft_within(0.4, 0.4)
    text = _said(assert_ttft_within, _decision("1 GB/s"), "0.5 s", way="fetch")
    assert text.startswith("TTFT 0.875 s by fetching 16,000 tokens is 75% above the 0.5 s allowed")
    assert _said(assert_ttft_within, "900 ms", "0.5 s") == (
        "measured TTFT 0.9 s is 80% above the 0.5 s allowed"
    )
    with pytest.raises(InvalidValueError, match="way best must be one of"):
        assert_ttft_within(0.1, 1.0, way="best")


def test_fits():
    node = Replica(accelerator=accelerator("h100"), count=4, tp=4, weight_bytes="141.2 GB")
    what = {"tokens": 65_793, "kv_bytes_per_token": 327_680}
    assert_fits(node, requests=8, **what)
    assert "8 requests of 65,793 tokens fit" in _said(assert_fits, node, requests=9, **what)
    assert_fits("80 GB", "80 GB")
    assert _said(assert_fits, "95 GB", "80 GB") == "95 GB needed is 19% above the 80 GB available"
    with pytest.raises(MissingFactError):
        assert_fits(node, requests=8)
    with pytest.raises(MissingFactError):
        assert_fits("80 GB")


def test_stable():
    assert_stable(servers=8, service_mean="300 ms", arrival_rate=26)
    assert_stable(servers=8, service_mean="300 ms", arrival_rate="1560 requests/min")
    with pytest.raises(UnitError, match="24/s"):
        assert_stable(servers=8, service_mean="300 ms", arrival_rate="26")
    assert_stable(utilization="80%", max_utilization="80%")
    text = _said(assert_stable, servers=8, service_mean=0.3, arrival_rate=27)
    assert text == (
        "utilization 101.2% is not below 100%, so queues grow without end: 8.1 of 8 servers are "
        "kept busy, use at least 9 servers or send fewer than 26.67 requests/s"
    )
    with pytest.raises(InvalidValueError, match="stated once"):
        assert_stable(servers=8, arrival_rate=26)


def test_wait():
    wait = mmc(servers=8, mean_service=0.3, utilization=0.9)
    assert_wait_within(wait, wait.mean)
    assert_wait_within(wait, wait.p99, statistic="p99")
    assert _said(assert_wait_within, wait, wait.mean / 2).startswith("mean wait 0.263 s is 100% ab")
    ranged = moments_wait(servers=8, mean_service=0.3, scv=4.0, utilization=0.9)
    assert_wait_within(ranged, ranged.mean_high)
    assert "mean wait up to" in _said(assert_wait_within, ranged, ranged.mean_low)
    assert _said(assert_wait_within, "2 s", "1 s", statistic="p99") == (
        "measured p99 wait 2 s is 100% above the 1 s allowed"
    )
    with pytest.raises(MissingFactError):
        assert_wait_within(ranged, 1.0, statistic="p99")
    with pytest.raises(InvalidValueError, match="p42"):
        assert_wait_within(wait, 1.0, statistic="p42")
