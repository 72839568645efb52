"""Each kind of budget: met, missed, and what it refuses."""

from __future__ import annotations

import math
import re

import pytest

from kvcost.checks.kinds import kind, kinds

GLM = "glm-5.3-8xb300"
PLAIN = {
    "kv_bytes_per_token": "48408 B",
    "fixed_bytes_per_request": "0 B",
    "tokens": "16000",
    "overhead": "0.33 s",
    "prefill": ["16000=0.31s"],
    "bandwidth": "1.71 GB/s",
}
NODE = {
    "model": "llama-3.3-70b",
    "kv_dtype": "bf16",
    "accelerator": "h100",
    "gpus": 4,
    "bytes_per_weight": 2,
    "hbm_share": 1,
    "tokens": "65793",
}
QUEUE = {"servers": 8, "service_mean": "300 ms", "arrival_rate": "24/s"}


def test_the_kinds_are_the_files_of_their_package():
    assert kinds() == ("bandwidth", "fits", "stable", "ttft", "wait")
    assert all(kind(name).SUMMARY and kind(name).KEYS for name in kinds())


# bandwidth


def test_the_shipped_deployment_to_the_word(one):
    outcome = one("bandwidth", deployment=GLM)
    assert not outcome.met
    assert outcome.text == (
        "store bandwidth 1.71 GB/s is 32% below the break-even of 2.50 GB/s (overhead left out; "
        "with 0.33 s no bandwidth wins at 16,000 tokens); at 5 GB/s fetch only prompts over "
        "34,000 tokens"
    )


def test_plain_numbers_say_the_same_as_the_deployment(one):
    assert one("bandwidth", **PLAIN).text == one("bandwidth", deployment=GLM).text


@pytest.mark.parametrize("overhead", [0.05, 0.2])
@pytest.mark.parametrize("tokens", [16_000, 64_000])
@pytest.mark.parametrize("rate", [0.9e9, 4e9, 40e9])
def test_figures_are_those_of_the_closed_form(one, overhead, tokens, rate):
    per_token, prefill = 48_408, 0.31 / 16_000
    changed = {"tokens": str(tokens), "overhead": f"{overhead} s", "bandwidth": f"{rate} B/s"}
    outcome = one("bandwidth", deployment=GLM, **changed)
    needed = per_token * tokens / (prefill * tokens - overhead)
    assert outcome.limit == pytest.approx(needed, rel=1e-12)
    assert outcome.met == (rate >= needed)
    percent, side = re.search(r"is ([0-9,]+)% (above|below)", outcome.text).groups()
    assert side == ("above" if rate > needed else "below")
    assert float(percent.replace(",", "")) / 100 == pytest.approx(abs(rate / needed - 1), rel=0.05)
    if not outcome.met:
        gain = prefill - per_token / rate
        advised = rate
        if gain <= 0:
            advised = next(
                step * 10**power
                for power in (8, 9, 10, 11)
                for step in (1, 2, 5)
                if step * 10**power > needed
            )
            gain = prefill - per_token / advised
        length = overhead / gain
        shown = round(length, 2 - math.floor(math.log10(length)))
        assert outcome.text.endswith(
            f"at {advised / 1e9:.4g} GB/s fetch only prompts over {shown:,.0f} tokens"
        )


def test_above_the_break_even_only_without_the_overhead(one):
    outcome = one("bandwidth", deployment=GLM, bandwidth="3 GB/s")
    assert not outcome.met
    assert "20% above the break-even of 2.50 GB/s only with the overhead left out" in outcome.text
    assert "no bandwidth wins at 16,000 tokens" in outcome.text
    assert outcome.limit is None


def test_a_headroom_is_asked_for_and_said(one):
    facts = {"deployment": GLM, "tokens": "64k", "bandwidth": "4 GB/s"}
    assert one("bandwidth", **facts, headroom="10%").met
    missed = one("bandwidth", **facts, headroom="30%")
    assert not missed.met
    # 64,000 x 48,408 B over 1.24 s - 0.33 s
    assert "the break-even of 3.40 GB/s at 64,000 tokens, 30% above it is required" in missed.text


def test_a_measured_bandwidth_takes_the_place_of_the_rates(one):
    outcome = one("bandwidth", deployment=GLM, tokens="64k", measured="5 GB/s")
    assert outcome.met
    assert outcome.text.startswith("measured bandwidth 5 GB/s is 47% above")


def test_no_bandwidth_at_any_length(one):
    facts = {**PLAIN, "prefill": ["1000=0.02s", "16000=0.02s"], "overhead": "1 s"}
    outcome = one("bandwidth", **facts)
    assert not outcome.met
    assert outcome.text.endswith("no bandwidth wins at any length")


# fits


def test_requests_that_fit_as_published(one):
    # 8 sequences of 65,793 tokens beside 141.2 GB on 4 x H100 of 80 GB (Biting the Bullet)
    outcome = one("fits", **NODE, requests=8)
    assert outcome.met
    assert outcome.text == "8 requests of 65,793 tokens fit on 4 x H100, 8 are required"


def test_requests_that_do_not_fit(one):
    outcome = one("fits", **NODE, requests=9)
    assert not outcome.met
    assert outcome.text.startswith(
        "8 requests of 65,793 tokens fit on 4 x H100, 9 are required: each takes 21.6 GB of the "
    )
    longest = int(outcome.text.split("fit up to ")[1].split(" tokens")[0].replace(",", ""))
    assert one("fits", **{**NODE, "tokens": longest}, requests=9).met
    assert not one("fits", **{**NODE, "tokens": longest + 1}, requests=9).met


def test_weights_that_do_not_fit_are_missed_not_bad(one):
    outcome = one("fits", **{**NODE, "gpus": 1}, requests=1)
    assert not outcome.met
    assert outcome.text == (
        "weights 141.2 GB exceed 80.0 GB of HBM on 1 x H100: use at least 2 accelerators or "
        "1 byte per weight"
    )


def test_copies_over_the_ranks_are_counted(one):
    # 8 KV heads over 16 ranks: two copies, so half as many requests
    keys = {**NODE, "gpus": 16, "hbm_share": "20%"}
    spread = one("fits", **{**keys, "tp": 8, "pp": 2}, requests=1)
    copied = one("fits", **keys, requests=1)
    assert copied.value == pytest.approx(spread.value / 2, abs=1)


def test_bytes_and_measured_capacity(one):
    assert one("fits", needed="80 GB", available="80 GB").met
    missed = one("fits", needed="95 GB", available="80 GB")
    assert missed.text == "95 GB needed is 19% above the 80 GB available"
    measured = {"tokens": "64k", "requests": 4, "measured": "250k"}
    assert one("fits", **measured).text == (
        "measured KV capacity of 250,000 tokens is 2.3% below the 256,000 tokens that 4 requests "
        "of 64,000 tokens take: 3 fit, or 4 up to 62,500 tokens each"
    )
    assert one("fits", **{**measured, "measured": "256k"}).met


# stable


def test_utilization_by_hand(one):
    assert one("stable", **QUEUE, max_utilization="90%").met  # 24 x 0.3 / 8 = 90%
    missed = one("stable", **{**QUEUE, "arrival_rate": "32 requests/s"}, max_utilization="90%")
    assert missed.text == (
        "utilization 120% exceeds the 90% allowed: 9.6 of 8 servers are kept busy, use at least "
        "11 servers or send at most 24 requests/s"
    )


def test_full_load_is_not_stable(one):
    missed = one("stable", servers=1, service_mean="1 s", arrival_rate="60/min", max_utilization=1)
    assert not missed.met
    assert "not below 100%" in missed.text
    assert "use at least 2 servers or send fewer than 1 requests/s" in missed.text
    assert one("stable", measured="85%", max_utilization="90%").met
    assert not one("stable", measured="95%", max_utilization="90%").met


# wait


def test_percentile_of_an_exponential_queue_by_hand(one):
    # M/M/1 at 50%: P(W > t) = 0.5 exp(-t / 2) with a mean service of 1 s
    facts = {"servers": 1, "service_mean": "1 s", "distribution": "exponential"}
    facts |= {"utilization": 0.5, "statistic": "p95"}
    exact = 2 * math.log(0.5 / 0.05)
    assert one("wait", **facts, max_wait=f"{exact * 1.0001} s").met
    outcome = one("wait", **facts, max_wait=f"{exact * 0.9999} s")
    assert not outcome.met
    assert outcome.value == pytest.approx(exact, rel=1e-9)
    assert outcome.text.endswith("; 2 servers would do")


def test_the_upper_end_of_a_range_counts(one):
    facts = {"servers": 8, "service_mean": "0.3 s", "service_scv": 4, "utilization": "90%"}
    outcome = one("wait", **facts, statistic="mean", max_wait="600 ms")
    assert not outcome.met
    assert outcome.text.startswith("mean wait up to 0.639 s is 6.4% above the 0.6 s allowed")
    assert one("wait", **facts, statistic="mean", max_wait="640 ms").met


def test_overload_is_missed_not_bad(one):
    facts = {**QUEUE, "arrival_rate": "40/s", "distribution": "deterministic"}
    outcome = one("wait", **facts, statistic="p99", max_wait="1 h")
    assert not outcome.met
    assert "grows without end" in outcome.text
    assert "use at least 13 servers" in outcome.text


def test_a_mean_alone_has_no_upper_end(one):
    outcome = one("wait", **QUEUE, statistic="mean", max_wait="1 h")
    assert not outcome.met
    assert outcome.text.startswith("mean wait has no upper end, 60 min is allowed")
    assert outcome.value is None


def test_a_burst_by_hand(one):
    # 40 at once on 4 servers of 1 s: waits 0 to 9, four of each: mean 4.5 s
    facts = {"servers": 4, "service_mean": "1 s", "distribution": "deterministic", "burst": 40}
    facts |= {"arrivals": "batch", "utilization": 0, "statistic": "mean"}
    assert one("wait", **facts, max_wait="4.5 s").met
    assert not one("wait", **facts, max_wait="4.49 s").met


def test_a_measured_wait(one):
    outcome = one("wait", measured="1.2 s", statistic="p99", max_wait="1 s")
    assert outcome.text == "measured p99 wait 1.2 s is 20% above the 1 s allowed"


# ttft


def test_ways_of_a_deployment(one):
    facts = {"kind": "ttft", "deployment": GLM}
    assert one(**facts, way="faster", max_ttft="310 ms").met
    assert one(**facts, way="recompute", max_ttft="310 ms").met
    missed = one(**facts, way="fetch", max_ttft="0.5 s")
    # 0.33 s and 16,000 x 48,408 B at 1.71 GB/s
    assert missed.value == pytest.approx(0.33 + 16_000 * 48_408 / 1.71e9, rel=1e-12)
    assert missed.text == (
        "TTFT 0.783 s by fetching 16,000 tokens is 57% above the 0.5 s allowed; recomputing takes "
        "0.310 s"
    )


def test_prefill_from_hardware(one):
    facts = {**PLAIN, "model": "llama-3.3-70b", "kv_dtype": "bf16", "accelerator": "h100"}
    facts |= {"gpus": 4, "mfu": "50%", "compute_dtype": "bf16", "way": "recompute"}
    for key in ("kv_bytes_per_token", "fixed_bytes_per_request", "prefill"):
        del facts[key]
    assert one("ttft", **facts, max_ttft="10 s").met
    assert not one("ttft", **facts, max_ttft="1 s").met


# bad input


@pytest.mark.parametrize(
    ("kind_", "keys", "said"),
    [
        ("bandwith", {}, "kind 'bandwith' is not known; the nearest are bandwidth"),
        ("bandwidth", {"deployment": "glm-5.3-8xb30"}, "the nearest are glm-5.3-8xb300"),
        ("bandwidth", {"deployment": "gone.toml"}, "gone.toml: No such file"),
        ("bandwidth", {"deployment": GLM, "overhed": "1 s"}, "key 'overhed' is not known; the nea"),
        ("bandwidth", {"deployment": GLM, "overhead": 0.33}, 'overhead 0.33 has no unit: write "0'),
        ("bandwidth", {"deployment": GLM, "bandwidth": True}, "bandwidth True must be text with"),
        ("bandwidth", {"deployment": GLM, "tokens": "64K"}, "tokens 64K may be in thousands"),
        ("bandwidth", {"deployment": GLM, "model": "llama-3.3-70b"}, "is not the model whose pref"),
        ("bandwidth", {**PLAIN, "shards": 2}, "shard_efficiency of a store of 2 shards"),
        ("bandwidth", {**PLAIN, "kv_dtype": "fp8"}, "kv_dtype fp8 would change nothing"),
        ("bandwidth", {**PLAIN, "measured": "5 GB/s"}, "bandwidth 1.71 GB/s would change nothing"),
        ("bandwidth", {**PLAIN, "prefill": "fast"}, "prefill fast must be tokens=time"),
        ("bandwidth", {**PLAIN, "prefill": []}, "prefill [] must be a list of texts"),
        ("bandwidth", {**PLAIN, "last_token": "yes"}, "last_token yes must be true or false"),
        ("bandwidth", {**PLAIN, "loading": "asink"}, "must be one of async, sync: the nearest is "),
        (
            "bandwidth",
            {
                **{key: PLAIN[key] for key in ("tokens", "overhead", "bandwidth")},
                **{key: NODE[key] for key in ("model", "kv_dtype", "accelerator")},
                **{"gpus": 1, "bytes_per_weight": 2, "mfu": 0.5, "compute_dtype": "bf16"},
            },
            "weights 141.2 GB exceed 80.0 GB of HBM",
        ),
        ("ttft", {"deployment": GLM, "way": "fetch"}, "key max_ttft of the budget is not known: a"),
        ("ttft", {"deployment": GLM, "max_ttft": "1 s"}, "key way of the budget"),
        ("ttft", {"deployment": GLM, "max_ttft": "0 s", "way": "fetch"}, "max_ttft 0 s must be ab"),
        ("fits", {**NODE}, "add requests = 8"),
        ("fits", {**NODE, "requests": 1.5}, "requests 1.5 must be a whole number"),
        ("fits", {**NODE, "requests": 4, "tp": 3}, "tp 3 must divide the 4 accelerators"),
        ("fits", {"needed": "95 GB"}, "key available of the budget"),
        ("fits", {"needed": "95 Gb", "available": "1 TB"}, "needed 95 Gb is a number of bits"),
        ("stable", {**QUEUE}, "key max_utilization of the budget"),
        ("stable", {**QUEUE, "max_utilization": "130%"}, "max_utilization 130% must be at most 1"),
        ("stable", {**QUEUE, "arrival_rate": 24, "max_utilization": 0.9}, 'write e.g. "24/s"'),
        ("wait", {**QUEUE, "max_wait": "1 s"}, "key statistic of the budget"),
        ("wait", {**QUEUE, "max_wait": "1 s", "statistic": "p98"}, "the nearest is p9"),
        ("wait", {**QUEUE, "max_wait": "1 s", "statistic": "p99"}, "add distribution"),
        (
            "wait",
            {**QUEUE, "max_wait": "1 s", "statistic": "mean", "utilization": 0.5},
            "arrival_rate 24/s does not go with utilization",
        ),
        (
            "wait",
            {**QUEUE, "max_wait": "1 s", "statistic": "mean", "distribution": "lognormall"},
            "the nearest are lognormal",
        ),
        (
            "wait",
            {**QUEUE, "max_wait": "1 s", "statistic": "mean", "service_scv": -1},
            "service_scv -1 must be a finite number of at least 0",
        ),
    ],
)
def test_bad_budgets_name_file_number_and_key(refused, kind_, keys, said):
    text = refused(kind_, **keys)
    assert text.startswith("budgets.toml:1: budget 1 (a budget): ")
    assert said in text
    assert "\n" not in text


@pytest.mark.parametrize("missing", sorted(PLAIN))
def test_nothing_defaults_silently(refused, missing):
    keys = {key: value for key, value in PLAIN.items() if key != missing}
    said = refused("bandwidth", **keys)
    assert "is not known: add " in said or "would change nothing" in said


@pytest.mark.parametrize("missing", sorted(set(NODE)))
def test_a_memory_budget_states_everything(refused, missing):
    keys = {key: value for key, value in NODE.items() if key != missing}
    assert "is not known: add " in refused("fits", **keys, requests=1)
