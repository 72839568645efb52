"""G/G/c: special cases that are exact, errors as stated, the bound, and dispersion."""

from __future__ import annotations

import numpy as np
import pytest

from kvcost.errors import InvalidValueError, MissingFactError, UnstableError
from kvcost.queueing import (
    Deterministic,
    Exponential,
    Gamma,
    HyperExponential,
    Lognormal,
    TwoRates,
    effective_scv,
    ggc,
    ggc_bound,
    gimc,
    index_of_dispersion,
    mg1,
    mgc,
)
from kvcost.simulation.kiefer_wolfowitz import simulate_queue

SERVICES = (Deterministic(mean=1.0), Gamma(mean=1.0, scv=0.5), Lognormal(mean=1.0, scv=2.0))
BURSTY = (Gamma, Lognormal)


def simulated(servers, service, gaps, seed):
    return simulate_queue(servers=servers, service=service, gaps=gaps, customers=300_000, seed=seed)


def inside(wait, truth):
    return wait.mean_low <= truth.mean_high and truth.mean_low <= wait.mean_high


def test_poisson_arrivals_are_the_poisson_queue():
    law = Lognormal(mean=1.0, scv=2.0)
    assert ggc(servers=4, service=law, utilization=0.8, arrival_scv=1.0) == mgc(
        servers=4, service=law, utilization=0.8
    )
    near = ggc(servers=4, service=law, gaps=Gamma(mean=0.3125, scv=1.001))
    assert near.mean == pytest.approx(mgc(servers=4, service=law, utilization=0.8).mean, rel=2e-3)


def test_exponential_service_is_exact():
    gaps = HyperExponential.balanced(mean=0.2, scv=4.0)
    service = Exponential(mean=1.0)
    assert ggc(servers=8, service=service, gaps=gaps) == gimc(
        servers=8, gaps=gaps, mean_service=1.0
    )


@pytest.mark.parametrize("service", SERVICES, ids=str)
@pytest.mark.parametrize(("servers", "rho"), [(2, 0.8), (8, 0.7), (4, 0.5)])
def test_bursty_gaps_are_inside_the_stated_error(service, servers, rho):
    for seed, family in enumerate(BURSTY):
        gaps = family(mean=1.0 / (servers * rho), scv=4.0)
        truth = simulated(servers, service, gaps, seed)
        assert inside(ggc(servers=servers, service=service, gaps=gaps), truth)
        by_scv = ggc(servers=servers, service=service, utilization=rho, arrival_scv=4.0)
        assert inside(by_scv, truth)
        assert (
            truth.mean
            < ggc_bound(
                servers=servers,
                mean_service=1.0,
                service_scv=service.scv,
                arrival_scv=4.0,
                utilization=rho,
            ).mean_high
        )


@pytest.mark.parametrize("service", SERVICES, ids=str)
def test_regular_gaps_are_inside_the_stated_error(service):
    gaps = Gamma(mean=1.0 / 6.4, scv=0.25)
    truth = simulated(8, service, gaps, 5)
    wait = ggc(servers=8, service=service, gaps=gaps)
    assert inside(wait, truth)
    assert wait.mean < mgc(servers=8, service=service, utilization=0.8).mean


@pytest.mark.parametrize(("servers", "rho"), [(2, 0.8), (8, 0.7)])
def test_correlated_arrivals_are_inside_the_stated_range(servers, rho):
    rate = servers * rho
    stream = TwoRates(
        quiet_rate=0.5 * rate, busy_rate=1.5 * rate, quiet_seconds=5.0, busy_seconds=5.0
    )
    service = Gamma(mean=1.0, scv=0.5)
    truth = simulated(servers, service, stream, 3)
    wait = ggc(servers=servers, service=service, utilization=rho, dispersion=stream.dispersion)
    assert inside(wait, truth)
    assert wait.warnings


def test_dispersion_of_two_rates():
    stream = TwoRates(quiet_rate=1.0, busy_rate=5.0, quiet_seconds=3.0, busy_seconds=1.0)
    assert stream.rate == 2.0
    # 1 + 2 (5 - 1)^2 (3/4)(1/4) / (2 (1/3 + 1)), by hand
    assert stream.dispersion(1e9) == pytest.approx(1.0 + 2.0 * 3.0 / (2.0 * 4.0 / 3.0), rel=1e-8)
    assert stream.dispersion(1e-9) == pytest.approx(1.0, abs=1e-8)
    gaps = stream.sample(np.random.default_rng(1), 400_000)
    found = index_of_dispersion(np.cumsum(gaps), window=4.0)
    assert found == pytest.approx(stream.dispersion(4.0), rel=0.05)
    assert gaps.mean() == pytest.approx(stream.mean, rel=0.02)


def test_constant_dispersion_is_an_scv():
    for index in (0.3, 1.0, 5.0):
        for rho in (0.3, 0.9, 0.99):
            seen = effective_scv(
                dispersion=lambda t, index=index: index,
                arrival_rate=2.0,
                utilization=rho,
                service_scv=0.5,
            )
            assert seen == pytest.approx(index, rel=1e-6)


def test_a_busier_queue_sees_more_of_the_memory():
    stream = TwoRates(quiet_rate=1.0, busy_rate=5.0, quiet_seconds=30.0, busy_seconds=10.0)
    seen = [
        effective_scv(
            dispersion=stream.dispersion, arrival_rate=stream.rate, utilization=rho, service_scv=1.0
        )
        for rho in (0.3, 0.6, 0.9, 0.99)
    ]
    assert seen == sorted(seen)
    assert seen[-1] < stream.dispersion(1e9)


def test_the_bound_holds_for_one_server():
    for scv in (0.0, 1.0, 4.0):
        law = Gamma(mean=1.0, scv=scv) if scv else Deterministic(mean=1.0)
        bound = ggc_bound(
            servers=1, mean_service=1.0, service_scv=scv, arrival_scv=1.0, utilization=0.8
        )
        exact = mg1(service=law, utilization=0.8).mean
        assert exact < bound.mean_high < 1.6 * exact
        assert bound.error.kind == "bound"


def test_what_is_missing_or_contradicts_is_said():
    law = Exponential(mean=1.0)
    with pytest.raises(MissingFactError, match="variability"):
        ggc(servers=2, service=law, utilization=0.5)
    with pytest.raises(InvalidValueError, match="exactly one"):
        ggc(servers=2, service=law, utilization=0.5, arrival_scv=2.0, dispersion=2.0)
    with pytest.raises(InvalidValueError, match="exactly one"):
        ggc(servers=2, service=law, utilization=0.5, gaps=law)
    with pytest.raises(UnstableError):
        ggc(servers=2, service=law, gaps=Exponential(mean=0.4))
    with pytest.raises(InvalidValueError, match="windows"):
        index_of_dispersion([0.0, 1.0], window=1.0)
    with pytest.raises(InvalidValueError, match="finite times"):
        index_of_dispersion([], window=1.0)
