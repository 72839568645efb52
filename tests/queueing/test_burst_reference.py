"""Bursts against the table of exact and simulated waits."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kvcost.queueing.burst import BatchSize, bulk, burst, cold_then_warm, copies
from kvcost.queueing.burst.recursion import DeterministicBurst
from kvcost.queueing.service import Deterministic, Erlang, Exponential, HyperExponential

TABLE = Path(__file__).parents[2] / "data" / "queueing" / "burst_reference.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))
LAWS = {
    "deterministic": Deterministic(mean=1.0),
    "Erlang-2": Erlang(mean=1.0, stages=2),
    "exponential": Exponential(mean=1.0),
    "hyperexponential balanced scv 4": HyperExponential.balanced(mean=1.0, scv=4.0),
}
TO_99 = 2.5758293035489 / 1.9599639845401
ON_GRID = "M_t/D/c recursion"  # the stated means are midpoint sums, not the integral: see below


@cache
def answer(number):
    row = ROWS[number]
    servers, requests = int(row["servers"]), int(row["requests"])
    if row["kind"].startswith("bulk"):
        size = BatchSize.fixed if row["kind"] == "bulk fixed" else BatchSize.geometric
        return bulk(
            servers=servers,
            service=LAWS[row["service"]],
            batch=size(requests),
            utilization=float(row["utilization"]),
        )
    window = float(row["window_seconds"])
    if row["kind"] in {"cold then warm", "copy"}:
        times = {
            "servers": servers,
            "requests": requests,
            "gap": window / requests,
            "cold_seconds": float(row["cold_seconds"]),
            "warm_seconds": float(row["warm_seconds"]),
        }
        if row["kind"] == "copy":
            return copies(**times, available_seconds=float(row["available_seconds"]))
        return cold_then_warm(**times)
    return burst(
        servers=servers,
        requests=requests,
        window_seconds=window,
        service=LAWS[row["service"]],
        arrivals=row["kind"],
        background_utilization=float(row["background_utilization"]),
    )


def half_digit(text):
    mantissa, _, power = text.lower().partition("e")
    places = len(mantissa.partition(".")[2]) - int(power or 0)
    return 0.5 * 10.0**-places


def test_every_answer_is_exact():
    assert {answer(i).error.kind for i in range(len(ROWS))} == {"exact"}


def test_rows_with_an_exact_formula():
    checked = 0
    for i, row in enumerate(ROWS):
        if not row["stated_is"].startswith("exact") or row["stated_by"] == ON_GRID:
            continue
        stated = float(row["stated_mean"])
        allowed = max(1e-7 * abs(stated), half_digit(row["stated_mean"]), 1e-12)
        assert abs(answer(i).mean - stated) <= allowed, row
        checked += 1
    assert checked == sum(row["stated_is"].startswith("exact") for row in ROWS) - 6


def test_longest_waits_of_deterministic_bursts():
    for i, row in enumerate(ROWS):
        fixed = row["kind"] in {"even", "cold then warm", "copy"}
        alone = row["background_utilization"] in {"", "0"}
        if fixed and alone and row["service"] == "deterministic":
            assert answer(i).maximum == pytest.approx(float(row["stated_longest"]), abs=1e-9)


def test_simulated_means():
    inside = total = 0
    for i, row in enumerate(ROWS):
        half = float(row["half_width_95"])
        if half == 0:
            continue
        total += 1
        inside += abs(answer(i).mean - float(row["simulated_mean"])) <= TO_99 * half
    assert total > 120
    assert inside >= 0.98 * total


def midpoint_even(model, points):
    times = np.arange(model.requests) * model.window / model.requests
    total = 0.0
    for rest in (np.arange(points) + 0.5) / points:
        for period in range(1, 40):
            chance = model.chances_at(period - rest, times, schedule=times).mean()
            total += (1 - chance) / points
            if 1 - chance < 1e-12:
                break
    return total


@pytest.mark.parametrize(
    ("servers", "requests", "window", "share", "points"),
    [(8, 16, 4.0, 0.6, 28), (8, 24, 8.0, 0.8, 27), (16, 64, 2.0, 0.7, 32)],
)
def test_stated_means_on_background_are_midpoint_sums(servers, requests, window, share, points):
    model = DeterministicBurst(servers, share * servers, requests, window)
    (row,) = (
        row
        for row in ROWS
        if row["stated_by"] == ON_GRID
        and row["kind"] == "even"
        and (int(row["servers"]), int(row["requests"])) == (servers, requests)
    )
    stated = float(row["stated_mean"])
    assert midpoint_even(model, points) == pytest.approx(stated, rel=1e-7)


def test_midpoint_sums_tend_to_the_exact_mean():
    model = DeterministicBurst(8, 4.8, 16, 4.0)
    times = np.arange(16) / 4
    truth = model.means_at(times, schedule=times).mean()
    coarse, fine = midpoint_even(model, 28), midpoint_even(model, 84)  # the error is quadratic
    assert fine + (fine - coarse) / 8 == pytest.approx(truth, rel=2e-8)
    assert abs(fine - truth) == pytest.approx(abs(coarse - truth) / 9, rel=0.01)
