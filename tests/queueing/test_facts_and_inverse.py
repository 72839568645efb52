"""From what is known to an answer, and back from an answer to what it takes."""

from __future__ import annotations

import math

import pytest

from kvcost.errors import InvalidValueError, MissingFactError, UnknownNameError, UnstableError
from kvcost.queueing import (
    Exponential,
    HyperExponential,
    Lognormal,
    Target,
    load_for_wait,
    mdc,
    mgc,
    mmc,
    moments_wait,
    mphc,
    named_law,
    queue,
    servers_for_wait,
    service_time_for_wait,
)
from kvcost.queueing.named import NAMES
from tests.queueing import simulated


def test_the_mean_alone_gives_a_range_without_upper_end():
    wait = queue(servers=8, utilization=0.9, service_mean=0.3)
    assert wait.mean is None
    assert wait.mean_low == mdc(servers=8, mean_service=0.3, utilization=0.9).mean
    assert wait.mean_high == math.inf
    assert wait.error.kind == "range"
    with pytest.raises(MissingFactError):
        wait.quantile(0.95)


@pytest.mark.parametrize(("servers", "rho", "scv"), [(8, 0.8, 4.0), (2, 0.5, 2.0), (32, 0.9, 9.0)])
def test_two_moments_give_the_range_of_two_exact_waits(servers, rho, scv):
    wait = queue(servers=servers, utilization=rho, service_mean=0.3, service_scv=scv)
    ends = [
        mphc(servers=servers, service=make(mean=0.3, scv=scv), utilization=rho).mean
        for make in (HyperExponential.lognormal_like, HyperExponential.gamma_like)
    ]
    assert (wait.mean, wait.mean_low, wait.mean_high) == (None, *sorted(ends))
    assert "not a bound" in wait.error.text
    assert wait.warnings


def test_one_server_needs_two_moments_only():
    wait = queue(servers=1, utilization=0.8, service_mean=0.5, service_scv=3.0)
    assert wait.mean == pytest.approx(0.8 * 4 / (2 * 0.2) * 0.5, rel=1e-14)
    assert wait.error.kind == "exact"


@pytest.mark.parametrize(
    "row",
    [row for row in simulated.rows() if row["law"] != "bounded-pareto" and row["servers"] <= 16],
    ids=lambda row: "{law}-{parameter:g}-c{servers:g}-{utilization:g}".format(**row),
)
def test_three_moments(row):
    law = simulated.law_of(row)
    wait = moments_wait(
        servers=int(row["servers"]),
        mean_service=1.0,
        scv=law.scv,
        third_moment=law.moment(3),
        utilization=row["utilization"],
    )
    off = abs(wait.mean - row["mean_wait"])
    assert off <= (0.016 if law.scv <= 1 else 0.04) * row["mean_wait"] + row["half_width_95"]


def test_a_bounded_pareto_law_is_inside_the_range_of_its_three_moments():
    for row in simulated.rows():
        if row["law"] == "bounded-pareto":
            law = simulated.law_of(row)
            wait = moments_wait(
                servers=int(row["servers"]),
                mean_service=1.0,
                scv=law.scv,
                third_moment=law.moment(3),
                utilization=row["utilization"],
            )
            assert wait.mean_low <= row["mean_wait"] * 1.01 + row["half_width_95"]
            assert row["mean_wait"] <= wait.mean_high


def test_impossible_moments_are_refused():
    with pytest.raises(InvalidValueError, match="must not be below"):
        queue(servers=2, utilization=0.5, service_mean=1.0, service_scv=4.0, third_moment=20.0)
    with pytest.raises(InvalidValueError, match="little without"):
        queue(servers=2, utilization=0.5, service_mean=1.0, third_moment=20.0)
    with pytest.raises(InvalidValueError, match="scv"):
        queue(servers=2, utilization=0.5, service_mean=1.0, service_scv=-1.0)
    with pytest.raises(UnstableError, match="falls short"):
        queue(servers=2, arrival_rate=3.0, service_mean=1.0, service_scv=4.0)


@pytest.mark.parametrize("name", NAMES)
def test_named_laws_have_the_moments_asked_for(name):
    fixed = {"deterministic": None, "exponential": 1.0, "erlang": 0.25}
    scv = fixed.get(name, 0.3 if name in ("uniform", "shifted-exponential") else 3.0)
    third = 100.0 * 0.5**3 if name == "hyperexponential" else None
    law = named_law(name.replace("-", " ").title(), mean=0.5, scv=scv, third_moment=third)
    assert law.mean == pytest.approx(0.5, rel=1e-12)
    assert law.scv == pytest.approx(scv or 0.0, rel=1e-9)
    if third is not None:
        assert law.moment(3) == pytest.approx(third, rel=1e-9)


def test_names_and_facts_that_do_not_fit_are_refused():
    with pytest.raises(UnknownNameError, match="lognormal"):
        named_law("lognorm", mean=1.0, scv=2.0)
    for name, scv in (("uniform", 1.0), ("erlang", 0.3), ("exponential", 2.0), ("pareto", None)):
        with pytest.raises((InvalidValueError, MissingFactError)):
            named_law(name, mean=1.0, scv=scv)
    with pytest.raises(InvalidValueError, match="third_moment"):
        named_law("lognormal", mean=1.0, scv=2.0, third_moment=5.0)
    with pytest.raises(MissingFactError, match="mean"):
        queue(servers=2, utilization=0.5)
    with pytest.raises(InvalidValueError, match="law alone"):
        queue(servers=2, utilization=0.5, service_mean=1.0, distribution=Exponential(mean=1.0))
    with pytest.raises(InvalidValueError, match="law of service"):
        queue(servers=2, utilization=0.5, service_mean=1.0, arrival_scv=4.0)


TARGETS = (
    Target(mean=0.05),
    Target(percentile=0.95, wait=0.2),
    Target(probability_of_wait=0.2),
)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("law", ["exponential", Lognormal(mean=0.3, scv=4.0)], ids=str)
def test_the_fewest_servers(target, law):
    known = {"service_mean": 0.3} if isinstance(law, str) else {}
    answer = servers_for_wait(target, arrival_rate=24.0, distribution=law, **known)
    assert target.met_by(answer.wait)
    less = queue(servers=answer.value - 1, arrival_rate=24.0, distribution=law, **known)
    assert not target.met_by(less)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_the_highest_load(target):
    answer = load_for_wait(target, servers=8, service_mean=0.3, distribution="exponential")
    above = mmc(servers=8, mean_service=0.3, arrival_rate=answer.value * (1 + 1e-6))
    assert target.met_by(answer.wait)
    assert not target.met_by(above)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_the_longest_service(target):
    law = Exponential(mean=5.0)
    answer = service_time_for_wait(target, servers=8, arrival_rate=24.0, distribution=law)
    above = mmc(servers=8, mean_service=answer.value * (1 + 1e-6), arrival_rate=24.0)
    assert target.met_by(answer.wait)
    assert not target.met_by(above)
    named = service_time_for_wait(target, servers=8, arrival_rate=24.0, distribution="exponential")
    assert named.value == pytest.approx(answer.value, rel=1e-8)


def test_a_range_is_judged_by_its_upper_end():
    target = Target(mean=0.1)
    answer = servers_for_wait(target, arrival_rate=24.0, service_mean=0.3, service_scv=4.0)
    assert answer.wait.mean is None
    assert answer.wait.mean_high <= 0.1


def test_targets_that_cannot_be_met_or_are_no_targets():
    with pytest.raises(MissingFactError, match="scv"):
        servers_for_wait(Target(mean=0.1), arrival_rate=24.0, service_mean=0.3)
    with pytest.raises(MissingFactError, match="distribution"):
        servers_for_wait(
            Target(percentile=0.95, wait=0.1), arrival_rate=24.0, service_mean=0.3, service_scv=4.0
        )
    with pytest.raises(InvalidValueError, match="hardly anyone waits"):
        load_for_wait(
            Target(percentile=0.99999, wait=0.0),
            servers=1,
            service_mean=1.0,
            distribution="exponential",
        )
    for wrong in (
        {},
        {"mean": 1.0, "probability_of_wait": 0.5},
        {"percentile": 0.95},
        {"mean": 0.0},
        {"percentile": 1.0, "wait": 1.0},
    ):
        with pytest.raises(InvalidValueError):
            Target(**wrong)


@pytest.mark.parametrize("law", [3, None, "lognormal"])
def test_what_is_no_law_is_refused(law):
    with pytest.raises(InvalidValueError, match="must be a law of service times"):
        mgc(servers=2, service=law, utilization=0.5)
