"""M/G/c without an exact method, against stored simulations and between its own routes."""

from __future__ import annotations

import math

import pytest

from kvcost.errors import InvalidValueError
from kvcost.queueing import (
    Atoms,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    Lognormal,
    Pareto,
    Uniform,
    mgc,
    mmc_mean_wait,
    mphc,
)
from kvcost.queueing.coxian import fitted_coxian
from kvcost.queueing.coxian_fit import fit_phases, shortest_rest
from kvcost.queueing.large import continued, large_servers, mean_at
from kvcost.queueing.moments import moments_wait
from kvcost.queueing.skew import scv_at_most_one
from tests.queueing import simulated

ROWS = simulated.rows()
LIGHT = [row for row in ROWS if simulated.law_of(row).scv <= 1]
HEAVY = [row for row in ROWS if simulated.law_of(row).scv > 1]


def name(row):
    return "{law}-{parameter:g}-c{servers:g}-{utilization:g}".format(**row)


def answer(row):
    return mgc(
        servers=int(row["servers"]),
        service=simulated.law_of(row),
        utilization=row["utilization"],
    )


def test_the_table_is_the_list_of_cases():
    found = [
        (row["law"], row["parameter"], row["servers"], row["utilization"], row["customers"])
        for row in ROWS
    ]
    assert found == list(simulated.CASES)


@pytest.mark.parametrize("row", LIGHT, ids=name)
def test_scv_at_most_one(row):
    wait = answer(row)
    assert wait.error.kind == "approximation"
    off = abs(wait.mean - row["mean_wait"])
    assert off <= 0.016 * row["mean_wait"] + row["half_width_95"]
    assert wait.probability_of_wait == pytest.approx(row["probability_of_wait"], rel=0.01)
    for p in ("p95", "p99"):
        assert getattr(wait, p) == pytest.approx(row[p], rel=0.04, abs=0.01)


@pytest.mark.parametrize("row", HEAVY, ids=name)
def test_scv_above_one(row):
    wait = answer(row)
    assert wait.error.kind == "approximation"
    off = abs(wait.mean - row["mean_wait"])
    assert off <= 0.02 * row["mean_wait"] + row["half_width_95"]
    assert wait.mean_low <= row["mean_wait"] + row["half_width_95"]
    assert row["mean_wait"] - row["half_width_95"] <= wait.mean_high
    assert wait.probability_of_wait == pytest.approx(row["probability_of_wait"], rel=0.01)
    loose = row["law"] == "bounded-pareto" or row["parameter"] == 9.0
    assert wait.p95 == pytest.approx(row["p95"], rel=0.07 if loose else 0.025)
    assert wait.p99 == pytest.approx(row["p99"], rel=0.08 if loose else 0.04)


def test_a_poor_fit_warns():
    law = simulated.LAWS["bounded-pareto"](1000.0)
    wait = fitted_coxian(servers=8, service=law, utilization=0.8)
    assert any("poorly" in text for text in wait.warnings)
    assert wait.error.relative == 0.06
    fine = fitted_coxian(servers=8, service=Gamma(mean=1.0, scv=4.0), utilization=0.8)
    assert fine.warnings == ()


@pytest.mark.parametrize("scv", [2.0, 4.0, 9.0])
def test_a_coxian_law_is_found_again(scv):
    law = HyperExponential.gamma_like(mean=1.0, scv=scv)
    for servers, rho in ((4, 0.9), (8, 0.6), (16, 0.8)):
        exact = mphc(servers=servers, service=law, utilization=rho)
        found = fitted_coxian(servers=servers, service=law, utilization=rho)
        assert found.mean == pytest.approx(exact.mean, rel=2e-3)
        assert found.p95 == pytest.approx(exact.p95, rel=1e-2)


def test_the_fit_keeps_the_moments():
    law = Lognormal(mean=1.0, scv=4.0)
    for phases in (2, 3, 4):
        fit = fit_phases(law, servers=8, phases=phases).law
        assert fit.mean == pytest.approx(1.0, rel=1e-12)
        assert fit.scv == pytest.approx(4.0, rel=1e-2)
    assert shortest_rest(fit, 8) == pytest.approx(shortest_rest(law, 8), rel=1e-2)


def test_rests_of_known_laws():
    assert shortest_rest(Exponential(mean=2.0), 5) == pytest.approx(0.4, rel=1e-6)
    assert shortest_rest(Deterministic(mean=1.0), 4) == pytest.approx(0.2, rel=1e-4)
    law = Lognormal(mean=1.0, scv=3.0)
    assert shortest_rest(law, 1) == pytest.approx(2.0, rel=1e-6)


def test_erlang_4_between_its_anchors():
    law = Erlang(stages=4, mean=1.0)
    for servers, rho in ((2, 0.3), (4, 0.8), (8, 0.5), (10, 0.95)):
        exact = mphc(servers=servers, service=law, utilization=rho)
        found = scv_at_most_one(servers=servers, service=law, utilization=rho)
        assert found.mean == pytest.approx(exact.mean, rel=2e-3)
        assert found.survival(exact.p99) == pytest.approx(0.01, rel=0.05)


def test_anchors_are_met():
    for scv, law in ((0.0, Deterministic(mean=1.0)), (0.5, Erlang(stages=2, mean=1.0))):
        exact = mgc(servers=6, service=law, utilization=0.8).mean
        found = moments_wait(servers=6, mean_service=1.0, scv=scv, utilization=0.8).mean
        assert found == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("servers", [1000, 10_000])
def test_many_servers_against_exact_deterministic_service(servers):
    """The figures that `continued` states, and that the method with a parabola is better."""
    law = Deterministic(mean=1.0)

    def ratio(count, rho):
        exact = mgc(servers=count, service=law, utilization=rho).mean
        return exact / mmc_mean_wait(servers=count, utilization=rho)

    stated = {1000: (0.0017, 4e-5), 10_000: (0.0028, 1e-4)}[servers]
    for beta in (0.01, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0):
        rho = 1.0 - beta / math.sqrt(servers)
        truth = ratio(servers, rho)
        for anchors, error in (((64, 128), stated[0]), ((64, 128, 256), stated[1])):
            found = continued(ratio, servers=servers, utilization=rho, anchors=anchors)
            assert found == pytest.approx(truth, rel=error)


@pytest.mark.parametrize("servers", [1000, 10_000])
def test_many_servers_against_exact_exponential_service(servers):
    """Unscaled by M/M/c itself, whose ratio would be 1, so that the extrapolation shows."""

    def scaled(count, rho):
        return mmc_mean_wait(servers=count, utilization=rho) * math.sqrt(count)

    for beta in (0.01, 0.1, 0.5, 1.0, 1.5):
        rho = 1.0 - beta / math.sqrt(servers)
        found = continued(scaled, servers=servers, utilization=rho, anchors=(64, 128))
        stated = {1000: 0.0046, 10_000: 0.0076}[servers]
        assert found == pytest.approx(scaled(servers, rho), rel=stated)
    assert mean_at(Exponential(mean=1.0), servers, 0.99) == pytest.approx(
        mmc_mean_wait(servers=servers, utilization=0.99), rel=1e-12
    )


@pytest.mark.parametrize(
    "law", [Erlang(stages=2, mean=1.0), HyperExponential.lognormal_like(mean=1.0, scv=9.0)], ids=str
)
def test_many_servers_against_exact_two_phases(law):
    for beta in (0.5, 2.0):
        rho = 1.0 - beta / math.sqrt(192)
        exact = mphc(servers=192, service=law, utilization=rho)
        found = large_servers(servers=192, service=law, utilization=rho)
        assert found.mean == pytest.approx(exact.mean, rel=5e-4)
        assert found.probability_of_wait == pytest.approx(exact.probability_of_wait, rel=5e-3)


def test_ten_thousand_servers_of_every_law():
    for law in (
        Erlang(stages=2, mean=1.0),
        HyperExponential.balanced(mean=1.0, scv=4.0),
        Uniform(low=0.0, high=2.0),
        Lognormal(mean=1.0, scv=4.0),
    ):
        wait = mgc(servers=10_000, service=law, utilization=0.99)
        ratio = wait.mean / mmc_mean_wait(servers=10_000, utilization=0.99)
        assert min(1.0, (1 + law.scv) / 2) * 0.5 < ratio < max(1.0, (1 + law.scv) / 2)
        assert wait.error.kind == "approximation"
        assert wait.p99 > 0


def test_units_of_time_do_not_matter():
    for law in (Uniform(low=0.0, high=2.0), Lognormal(mean=1.0, scv=4.0)):
        for servers in (4, 12, 40):
            one = mgc(servers=servers, service=law, utilization=0.8)
            two = mgc(servers=servers, service=law.scaled(0.003), utilization=0.8)
            assert two.mean == pytest.approx(0.003 * one.mean, rel=1e-6)
            assert two.p95 == pytest.approx(0.003 * one.p95, rel=1e-6)


def test_cold_and_warm_prefills_and_a_sample():
    cold_or_warm = Atoms(values=(8.0, 0.3), weights=(0.1, 0.9))
    wait = mgc(servers=4, service=cold_or_warm, utilization=0.7)
    assert wait.mean_low < wait.mean < wait.mean_high
    sample = Empirical([0.2, 0.3, 0.3, 0.5, 1.0])
    assert mgc(servers=4, service=sample, utilization=0.7).mean > 0


def test_infinite_moments_are_refused():
    with pytest.raises(InvalidValueError, match="finite variance"):
        mgc(servers=4, service=Pareto(exponent=1.5, low=1.0), utilization=0.5)
    with pytest.raises(InvalidValueError, match="third moment"):
        mgc(servers=4, service=Pareto(exponent=2.5, low=1.0), utilization=0.5)


def test_where_nobody_waits():
    for law in (Uniform(low=0.0, high=2.0), Lognormal(mean=1.0, scv=4.0)):
        wait = mgc(servers=10_000, service=law, utilization=0.3)
        assert (wait.mean, wait.p99, wait.survival(0.1)) == (0.0, 0.0, 0.0)
        few = mgc(servers=40, service=law, utilization=0.05)
        assert 0.0 <= few.mean < 1e-12


def test_large_third_moments_at_low_variability():
    long_tail = Pareto(exponent=3.02, low=1.0)
    wait = mgc(servers=4, service=long_tail, utilization=0.8)
    assert wait.error.relative == 0.15
    assert wait.warnings
    with pytest.raises(InvalidValueError, match="must not be below"):
        moments_wait(servers=4, mean_service=1.0, scv=0.5, third_moment=2.0, utilization=0.8)
