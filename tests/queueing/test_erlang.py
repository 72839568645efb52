"""M/M/c against fifty digits, tables in use, and other routes."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcost.errors import InvalidValueError, UnstableError
from kvcost.ops import poisson
from kvcost.queueing import (
    Exponential,
    PhaseType,
    erlang_b,
    erlang_c,
    formulas,
    mmc,
    mmc_mean_wait,
    mmc_wait_quantile,
    mphc,
)

SERVERS = [0.5, 1.0, 3.0, 10.0, 16.0, 17.3, 64.0, 1e3, 1e4, 1e5]
UTILIZATIONS = [0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999]


def exact_blocking(servers, load):
    c = mp.mpf(servers)
    point = mp.exp(c * mp.log(load) - load - mp.loggamma(c + 1))
    return point / mp.gammainc(c + 1, load, regularized=True)


@pytest.mark.parametrize("servers", SERVERS)
@pytest.mark.parametrize("utilization", UTILIZATIONS)
def test_against_fifty_digits(servers, utilization):
    with mp.workdps(50):
        rho = mp.mpf(utilization)
        blocked = exact_blocking(servers, servers * rho)
        if blocked < mp.mpf("1e-290"):
            assert mmc_mean_wait(servers=servers, utilization=utilization) < 1e-285
            return
        delayed = blocked / (1 - rho * (1 - blocked))
        mean = delayed / (servers * (1 - rho))
    value = mmc_mean_wait(servers=servers, utilization=utilization)
    array = mmc_mean_wait(servers=np.array([servers, 2.0]), utilization=utilization)
    assert value == pytest.approx(float(mean), rel=1e-12, abs=0)
    assert array[0] == pytest.approx(float(mean), rel=1e-12, abs=0)
    load = servers * utilization
    with mp.workdps(50):
        blocked = exact_blocking(servers, mp.mpf(load))
    assert erlang_b(servers=servers, offered_load=load) == pytest.approx(
        float(blocked), rel=1e-12, abs=0
    )


@pytest.mark.parametrize("load", [1.0, 12.0, 30.0, 3e3, 1e5])
def test_blocking_above_the_servers(load):
    """The recurrence of Erlang's formula is stable upwards and needs whole servers only."""
    inverse = 1.0
    for servers in range(1, 13):
        inverse = 1.0 + inverse * servers / load
        assert erlang_b(servers=servers, offered_load=load) == pytest.approx(1 / inverse, rel=1e-13)
        many = erlang_b(servers=np.array([servers]), offered_load=load)
        assert many[0] == pytest.approx(1 / inverse, rel=1e-13)


def test_numbers_in_use():
    """Loads at 1% blocking from the printed tables; a call centre with 14 agents for 10 erlangs."""
    assert erlang_b(servers=10, offered_load=4.461) == pytest.approx(0.01, abs=1e-5)
    assert erlang_b(servers=100, offered_load=84.06) == pytest.approx(0.01, abs=1e-5)
    assert erlang_c(servers=14, offered_load=10) == pytest.approx(0.174132, abs=1e-6)
    centre = mmc(servers=14, mean_service=180, utilization=10 / 14)
    assert centre.mean == pytest.approx(7.8, abs=0.05)
    assert 1 - centre.survival(20) == pytest.approx(0.888, abs=5e-4)


def test_formulas_are_the_functions():
    for servers in (1, 2, 17, 400, 2000):
        for utilization in (0.1, 0.7, 0.99):
            load = servers * utilization
            where = {"servers": servers, "utilization": utilization, "service_seconds": 0.3}
            assert formulas.erlang_b(servers=servers, offered_load=load) == pytest.approx(
                erlang_b(servers=servers, offered_load=load), rel=1e-11, abs=1e-290
            )
            assert formulas.mmc_mean_wait(**where) == pytest.approx(
                mmc_mean_wait(servers=servers, utilization=utilization, mean_service=0.3),
                rel=1e-11,
                abs=1e-290,
            )
            assert formulas.mmc_wait_percentile(**where, percentile=0.95) == pytest.approx(
                mmc(servers=servers, utilization=utilization, mean_service=0.3).p95, rel=1e-10
            )


def test_formulas_outside_whole_servers():
    for servers in (0.0, 1.5, 2001.0, -1.0, math.nan):
        assert math.isnan(formulas.erlang_c(servers=servers, utilization=0.5))
    assert formulas.erlang_c(servers=2, utilization=1.2) == 1.0
    assert formulas.mmc_mean_wait(servers=2, utilization=1.0, service_seconds=1) == math.inf
    assert math.isnan(formulas.mmc_mean_wait(servers=2, utilization=-0.1, service_seconds=1))


@pytest.mark.parametrize("servers", [1, 2, 7, 40])
def test_one_phase_is_the_same_queue(servers):
    one = PhaseType(initial=(1.0,), generator=((-2.0,),))
    by_chain = mphc(servers=servers, service=one, utilization=0.83)
    wait = mmc(servers=servers, mean_service=0.5, utilization=0.83)
    assert by_chain.mean == pytest.approx(wait.mean, rel=1e-12)
    assert by_chain.probability_of_wait == pytest.approx(wait.probability_of_wait, rel=1e-12)
    assert by_chain.second_moment == pytest.approx(wait.second_moment, rel=1e-12)
    for p in (0.5, 0.95, 0.9999):
        assert by_chain.quantile(p) == pytest.approx(wait.quantile(p), rel=1e-10, abs=1e-12)
    assert Exponential(mean=0.5).phase_type() == one


def test_arrays_are_loops_of_scalars():
    servers = np.array([1.0, 2.5, 30.0, 1000.0])[:, None]
    utilization = np.array([0.0, 0.2, 0.9, 1.0, 1.5])
    mean = mmc_mean_wait(servers=servers, utilization=utilization, mean_service=2.0)
    tail = mmc_wait_quantile(
        servers=servers, utilization=utilization, quantile=0.9, mean_service=2.0
    )
    assert mean.shape == tail.shape == (4, 5)
    for i, c in enumerate(servers[:, 0]):
        for j, rho in enumerate(utilization):
            one = mmc_mean_wait(servers=float(c), utilization=float(rho), mean_service=2.0)
            assert mean[i, j] == pytest.approx(one, rel=1e-13)
            if 0 < rho < 1:
                wait = mmc(servers=float(c), utilization=float(rho), mean_service=2.0)
                assert tail[i, j] == pytest.approx(wait.quantile(0.9), rel=1e-12)
    assert np.all(np.isinf(tail[:, 3:]))


def test_large_arrays_equal_small_ones():
    rng = np.random.default_rng(3)
    servers, utilization = rng.uniform(0.5, 900, 150_000), rng.uniform(0, 1.1, 150_000)
    whole = mmc_mean_wait(servers=servers, utilization=utilization)
    part = mmc_mean_wait(servers=servers[70_000:70_010], utilization=utilization[70_000:70_010])
    np.testing.assert_array_equal(whole[70_000:70_010], part)


def test_values_outside_the_domain():
    assert math.isnan(erlang_b(servers=-1, offered_load=1))
    assert math.isnan(erlang_b(servers=1, offered_load=-1))
    assert math.isnan(erlang_c(servers=0, offered_load=1))
    assert math.isnan(mmc_mean_wait(servers=math.inf, utilization=0.5))
    assert math.isnan(mmc_mean_wait(servers=2, utilization=0.5, mean_service=-1))
    assert erlang_b(servers=3, offered_load=0) == 0.0
    assert erlang_c(servers=3, offered_load=3) == 1.0
    values = erlang_b(servers=np.array([-1.0, 3.0, 3.0, np.nan]), offered_load=[1.0, -1.0, 0.0, 1])
    np.testing.assert_array_equal(np.isnan(values), [True, True, False, True])
    assert values[2] == 0.0


@given(
    servers=st.integers(1, 400),
    utilization=st.floats(0.01, 0.999),
    extra=st.integers(1, 5),
)
def test_more_servers_at_the_same_load_wait_less(servers, utilization, extra):
    load = servers * utilization
    assert erlang_c(servers=servers + extra, offered_load=load) <= erlang_c(
        servers=servers, offered_load=load
    )


def test_errors_say_what_is_missing():
    with pytest.raises(UnstableError) as caught:
        mmc(servers=8, mean_service=0.3, arrival_rate=32)
    assert caught.value.servers_needed == 10
    assert caught.value.short_by == pytest.approx(1.6)
    assert "9.6" in str(caught.value)
    assert "at least 10 servers" in str(caught.value)
    with pytest.raises(UnstableError):
        mmc(servers=8, mean_service=0.3, utilization=1.0)
    for bad in (0, -2, math.nan, math.inf, "8", True, None):
        with pytest.raises(InvalidValueError):
            mmc(servers=bad, mean_service=0.3, utilization=0.5)
    with pytest.raises(InvalidValueError):
        mmc(servers=8, mean_service=-0.3, utilization=0.5)
    with pytest.raises(InvalidValueError):
        mmc(servers=8, mean_service=0.3, utilization=0.5, arrival_rate=1)
    with pytest.raises(InvalidValueError):
        mmc(servers=8, mean_service=0.3)
    wait = mmc(servers=8, mean_service=0.3, utilization=0.5)
    for p in (0, 1, -0.1, 95, math.nan):
        with pytest.raises(InvalidValueError):
            wait.quantile(p)
    with pytest.raises(InvalidValueError):
        wait.survival(-1)


def test_poisson_edges():
    assert poisson.pmf(0.0, 0.0) == 1.0
    assert poisson.pmf(-1.0, 2.0) == 0.0
    assert poisson.cdf(-1.0, 2.0) == 0.0
    assert math.isnan(poisson.pmf(1.0, -1.0))
    assert math.isnan(poisson.cdf(math.inf, 1.0))
    many = poisson.pmf(np.array([-1.0, 0.0, 2.0]), np.array([2.0, 2.0, 2.0]))
    np.testing.assert_allclose(many, [0.0, math.exp(-2), 2 * math.exp(-2)], rtol=1e-14)
    assert math.isnan(poisson.deviance(-2.0))
    assert poisson.deviance(-1.0) == math.inf
    with mp.workdps(40):
        for d in (-0.9, -0.31, -0.29, -0.05, -1e-3, 1e-9, 1e-3, 0.02, 0.28, 0.5, 40.0):
            truth = float(mp.mpf(d) - mp.log1p(mp.mpf(d)))
            assert poisson.deviance(d) == pytest.approx(truth, rel=4e-15)
            assert poisson.deviance(np.array([d]))[0] == pytest.approx(truth, rel=4e-15)
