"""M/D/c: three routes to the mean, two to the distribution."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from kvcost.errors import InvalidValueError, UnstableError
from kvcost.queueing import Deterministic, mdc, mgc, mmc
from kvcost.queueing.deterministic import queue_by_roots, queue_by_sums
from kvcost.queueing.deterministic_law import tail_root, unit_law
from kvcost.queueing.single import LatticeWait

BOTH = [(1, 0.5), (2, 0.8), (16, 0.9), (64, 0.95), (100, 0.97), (1000, 0.975), (1000, 0.99)]


@pytest.mark.parametrize(("servers", "utilization"), BOTH)
def test_roots_sums_and_transforms_agree(servers, utilization):
    roots = queue_by_roots(servers=servers, utilization=utilization)
    sums = queue_by_sums(servers=servers, utilization=utilization)
    tails = unit_law(servers=servers, utilization=utilization)._tails.sum()
    assert roots == pytest.approx(sums, rel=2e-12)
    assert tails == pytest.approx(sums, rel=2e-12)


@pytest.mark.parametrize(
    ("servers", "utilization"), [(10_000, 0.98), (10_000, 0.99), (10_000, 0.994), (10_000, 0.9995)]
)
def test_ten_thousand_servers(servers, utilization):
    wait = mdc(servers=servers, mean_service=1.0, utilization=utilization)
    tails = unit_law(servers=servers, utilization=utilization)._tails.sum()
    assert wait.mean == pytest.approx(tails / (servers * utilization), rel=1e-12)


@pytest.mark.parametrize(("servers", "utilization"), [(1, 0.3), (4, 0.5), (16, 0.3), (64, 0.5)])
def test_sums_where_roots_cancel(servers, utilization):
    with mp.workdps(40):
        rho = mp.mpf(utilization)
        total = mp.mpf(0)
        for order in range(1, 400):
            count = order * servers
            mean = rho * count
            beyond = mp.gammainc(count, 0, mean, regularized=True)
            further = mp.gammainc(count + 1, 0, mean, regularized=True)
            term = (mean * beyond - count * further) / order
            total += term
            if term < total * mp.mpf(10) ** -20:
                break
        truth = float(total)
    assert queue_by_sums(servers=servers, utilization=utilization) == pytest.approx(
        truth, rel=1e-13, abs=0
    )


@pytest.mark.parametrize(("servers", "utilization"), [(2, 0.9999), (64, 0.9999), (1000, 0.999)])
def test_roots_in_heavy_traffic(servers, utilization):
    with mp.workdps(40):
        rho = mp.mpf(utilization)
        total = rho / (2 * (1 - rho)) - (servers + servers * rho - 1) / 2
        for k in range(1, servers):
            w = mp.expjpi(mp.mpf(2 * k) / servers)
            total += 1 / (1 + mp.lambertw(-rho * w * mp.exp(-rho)) / rho)
        truth = float(mp.re(total))
    assert queue_by_roots(servers=servers, utilization=utilization) == pytest.approx(
        truth, rel=1e-13
    )
    tails = unit_law(servers=servers, utilization=utilization)._tails.sum()
    assert tails == pytest.approx(truth, rel=1e-11)


def test_one_server_by_erlang_1909():
    """``P(W <= t)`` of M/D/1 as the alternating sum, in fifty digits."""
    rho, wait = 0.8, mdc(servers=1, mean_service=1.0, utilization=0.8)
    with mp.workdps(50):
        for t in (0.0, 0.3, 1.0, 2.5, 7.0, 12.4):
            total = mp.mpf(0)
            for k in range(math.floor(t) + 1):
                x = mp.mpf(rho) * (k - mp.mpf(t))
                total += x**k / mp.factorial(k) * mp.exp(-x)
            truth = 1 - (1 - mp.mpf(rho)) * total
            assert wait.survival(t) == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize("utilization", [0.3, 0.8, 0.95])
def test_one_server_on_a_lattice(utilization):
    exact = mdc(servers=1, mean_service=1.0, utilization=utilization)
    lattice = LatticeWait(service=Deterministic(mean=1.0), arrival_rate=utilization)
    for p in (0.8, 0.95, 0.999):
        assert lattice.quantile(p) == pytest.approx(exact.quantile(p), rel=1e-6)


@pytest.mark.parametrize(("servers", "utilization"), [(3, 0.9), (16, 0.95), (64, 0.98)])
def test_mean_is_the_area_below_the_tail(servers, utilization):
    """Little's law the other way round, over the pieces between whole services."""
    wait = mdc(servers=servers, mean_service=1.0, utilization=utilization)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    area, start = 0.0, 0.0
    while wait.survival(start) > 1e-14:
        points = start + (nodes + 1) / 2
        area += sum(w * wait.survival(t) for t, w in zip(points, weights, strict=True)) / 2
        start += 1.0
    assert area == pytest.approx(wait.mean, rel=1e-10)


def test_units_scale():
    one = mdc(servers=8, mean_service=1.0, utilization=0.9)
    short = mdc(servers=8, mean_service=0.25, arrival_rate=28.8)
    assert short.mean == pytest.approx(one.mean / 4, rel=1e-13)
    assert short.p99 == pytest.approx(one.p99 / 4, rel=1e-12)
    assert short.survival(0.1) == pytest.approx(one.survival(0.4), rel=1e-12)
    assert mgc(servers=8, service=Deterministic(mean=1.0), utilization=0.9) == one


def test_quantile_inverts_survival():
    for servers, utilization in ((1, 0.99), (50, 0.9), (3000, 0.995)):
        wait = mdc(servers=servers, mean_service=1.0, utilization=utilization)
        for p in (0.5, 0.9, 0.999, 1 - 1e-9):
            t = wait.quantile(p)
            if t > 0:
                assert wait.survival(t) == pytest.approx(1 - p, rel=1e-9)


def test_tail_falls_at_its_rate():
    for utilization in (0.05, 0.5, 0.9, 0.999):
        z = 1 + tail_root(utilization)
        assert math.log(z) == pytest.approx(utilization * (z - 1), rel=1e-12)
    law = unit_law(servers=4, utilization=0.9)
    far, further = law.survival(60.0), law.survival(61.0)
    assert math.log(far / further) == pytest.approx(4 * 0.9 * tail_root(0.9), rel=1e-6)


def test_half_of_exponential_in_heavy_traffic():
    wait = mdc(servers=64, mean_service=1.0, utilization=0.9999)
    assert wait.mean == pytest.approx(
        mmc(servers=64, mean_service=1.0, utilization=0.9999).mean / 2, rel=1e-2
    )


def test_beyond_the_largest_utilization_only_the_mean():
    wait = mdc(servers=4, mean_service=1.0, utilization=0.99999)
    assert wait.law is None
    assert wait.probability_of_wait is None
    assert wait.warnings
    assert wait.mean > 1e4


def test_errors():
    with pytest.raises(InvalidValueError):
        mdc(servers=2.5, mean_service=1.0, utilization=0.5)
    with pytest.raises(InvalidValueError):
        mdc(servers=2, mean_service=0.0, utilization=0.5)
    with pytest.raises(UnstableError):
        mdc(servers=2, mean_service=1.0, arrival_rate=2.0)
