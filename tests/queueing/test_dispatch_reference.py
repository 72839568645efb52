"""Dispatch laws against the table of exact and simulated waits, and against own simulations."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pytest

from kvcost.queueing.dispatch import (
    join_shortest_queue,
    least_work_left,
    power_of_d,
    random_split,
    round_robin,
    sticky_homes,
)
from kvcost.queueing.dispatch.choices import mean_field_tails, refinement
from kvcost.queueing.dispatch.shortest_chain import shortest_queue_chain
from kvcost.queueing.service import Deterministic, Erlang, Exponential, HyperExponential
from tests.queueing import dispatch_simulated

TABLE = Path(__file__).parents[2] / "data" / "queueing" / "routing_reference.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))
LAWS = {
    "deterministic": Deterministic(mean=1.0),
    "Erlang-2": Erlang(mean=1.0, stages=2),
    "exponential": Exponential(mean=1.0),
    "hyperexponential balanced scv 4": HyperExponential.balanced(mean=1.0, scv=4.0),
}
TO_99 = 2.5758293035489 / 1.9599639845401


def having(*columns):
    return [
        pytest.param(row, id=f"{row['policy']}-{row['servers']}-{row['utilization']}-{number}")
        for number, row in enumerate(ROWS)
        if all(row[column] for column in columns)
    ]


def close(found, printed):
    """Compare to 1e-7, or to half of the last printed digit."""
    digits = len(printed.partition(".")[2])
    return abs(found - float(printed)) <= max(1e-7 * float(printed), 0.5000001 * 10**-digits)


@cache
def waits(key):
    policy, servers, utilization, service, choices, threshold, hot_home = key
    at = {"servers": int(servers), "utilization": float(utilization)}
    if policy == "sticky":
        shares = dispatch_simulated.hot_shares(**at, hot_home=float(hot_home or 0))
        return sticky_homes(
            **at, threshold=int(threshold), mean_service=1.0, home_shares=shares
        ).wait
    if policy == "power of d":
        return power_of_d(**at, choices=int(choices), service=LAWS[service])
    method = {
        "random split": random_split,
        "round robin": round_robin,
        "shortest queue": join_shortest_queue,
        "shortest queue chain": join_shortest_queue,
    }[policy]
    return method(**at, service=LAWS[service])


def answer(row):
    names = (
        "policy", "servers", "utilization", "service", "choices", "threshold", "hot_home",
    )  # fmt: skip
    return waits(tuple(row[name] for name in names))


@pytest.mark.parametrize("row", having("exact"))
def test_exact_rows(row):
    if row["policy"] == "shortest queue chain":
        # the table's chains pause a server that would fall too far behind
        chain = shortest_queue_chain(
            servers=int(row["servers"]),
            utilization=float(row["utilization"]),
            spread=int(row["spread"]),
            truncation="blocking",
        )
        assert close(float(chain.tails.sum()), row["exact"])
        assert float(chain.tails[0]) == pytest.approx(float(row["probability_of_wait"]), abs=1e-8)
        return
    assert answer(row).error.kind == "exact"
    assert close(answer(row).mean, row["exact"])


@pytest.mark.parametrize("row", having("least_work"))
def test_least_work_left_is_one_queue(row):
    pooled = least_work_left(
        servers=int(row["servers"]),
        utilization=float(row["utilization"]),
        service=LAWS[row["service"]],
    )
    assert close(pooled.mean, row["least_work"])


@pytest.mark.parametrize("row", having("choices", "refined"))
def test_mean_field_and_its_corrections(row):
    choices, rho = int(row["choices"]), float(row["utilization"])
    base = mean_field_tails(choices=choices, utilization=rho)
    for column, extra in (
        ("mean_field", 0.0),
        ("refined_replacing", refinement(choices=choices, utilization=rho, replacement=True)),
        ("refined", refinement(choices=choices, utilization=rho)),
    ):
        mean = float((base + extra / int(row["servers"]))[1:].sum()) / rho - 1
        assert close(mean, row[column]), column


@pytest.mark.parametrize("row", having("threshold"))
def test_sticky_is_not_below_endless_servers(row):
    wait = answer(row)
    if int(row["threshold"]) > 1:
        assert close(wait.mean_low, row["mean_field"])


def simulated():
    return [row for row in ROWS if row["simulated_mean"] and row["half_width_95"]]


def test_exact_answers_lie_in_the_intervals():
    outside, count = [], 0
    for row in simulated():
        if row["policy"] == "shortest queue chain":
            continue
        wait = answer(row)
        if wait.error.kind not in {"exact", "bound"}:
            continue
        count += 1
        miss = abs(wait.mean - float(row["simulated_mean"]))
        if miss > TO_99 * float(row["half_width_95"]):
            outside.append((row, wait.mean))
    assert count >= 30
    assert len(outside) <= 0.02 * count, outside


def test_approximations_lie_in_the_intervals_or_their_stated_errors():
    count = 0
    for row in simulated():
        wait = answer(row)
        if row["policy"] == "shortest queue chain" or wait.error.kind != "approximation":
            continue
        count += 1
        truth, room = float(row["simulated_mean"]), TO_99 * float(row["half_width_95"])
        assert abs(wait.mean - truth) <= max(room, wait.error.relative * truth), row
        assert wait.mean_low - room <= truth <= wait.mean_high + room, row
    assert count >= 40


OWN = dispatch_simulated.rows()


def own_answer(row):
    at = {"servers": int(row["servers"]), "utilization": float(row["utilization"])}
    if row["policy"] == "sticky":
        shares = dispatch_simulated.hot_shares(**at, hot_home=float(row["hot_home"] or 0))
        return sticky_homes(
            **at, threshold=int(row["threshold"]), mean_service=1.0, home_shares=shares
        ).wait
    service = dispatch_simulated.LAWS[row["service"]]
    if row["policy"] == "power_of_d":
        return power_of_d(**at, choices=int(row["choices"]), service=service)
    return join_shortest_queue(**at, service=service)


def quick(row):
    """Leave out laws whose M/G/c must first be fitted, and chains that take seconds."""
    fitted = row["service"].startswith(("LN", "G")) and row["policy"] == "shortest_queue"
    return not fitted and (row["policy"] != "sticky" or int(row["servers"]) != 16)


def test_stated_errors_hold_in_own_simulations():
    rows = [row for row in OWN if quick(row)]
    missed = []
    for row in rows:
        wait, truth = own_answer(row), float(row["mean_wait"])
        miss = abs(wait.mean - truth)
        allowed = 0.0 if wait.error.kind == "exact" else wait.error.relative * truth
        if miss > allowed + float(row["half_width_99"]):
            missed.append((row, wait.mean, wait.error))
    assert len(missed) <= 0.01 * len(rows), missed


@pytest.mark.parametrize("policy", ["shortest_queue", "power_of_d", "sticky"])
def test_a_row_is_made_again(policy):
    shortest = min(
        (row for row in OWN if row["policy"] == policy), key=lambda r: float(r["servers"])
    )
    again = dispatch_simulated.run(shortest, requests=300_000, seed=7)
    room = again.half_width_99 + float(shortest["half_width_99"])
    assert abs(again.mean - float(shortest["mean_wait"])) <= 1.3 * room
