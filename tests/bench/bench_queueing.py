"""Speed of the queueing layer beside named peers; reported with the machine, never asserted.

Peers come with the ``bench`` extra; one that is not installed is left out. Each group of the table
is one question, asked of kvcost and of the peers that can answer it.
"""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

from kvcost import queueing
from kvcost.queueing import Deterministic, HyperExponential, erlang_c, mdc, mmc, mmc_mean_wait, mphc
from kvcost.queueing.approximations import kimura_wait
from kvcost.queueing.deterministic import _law, _mean_queue
from kvcost.queueing.qbd import _solve
from kvcost.queueing.single import LatticeWait, mg1

H2 = HyperExponential.balanced(mean=1.0, scv=4.0)


def peer(name):
    """Return a peer's module, or leave its rows out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(reason=f"{name} cannot be imported ({error}): pip install kvcost[bench]")


# One M/M/c


@pytest.mark.benchmark(group="M/M/c, one call, 64 servers")
class TestScalar:
    def test_kvcost_mean(self, benchmark):
        found = benchmark(mmc_mean_wait, servers=64, utilization=0.9)
        assert found == pytest.approx(0.048541143, rel=1e-8)

    def test_kvcost_erlang_c(self, benchmark):
        benchmark(erlang_c, servers=64, offered_load=57.6)

    def test_kvcost_result_with_percentiles(self, benchmark):
        benchmark(mmc, servers=64, mean_service=1.0, utilization=0.9)

    def test_line_solver(self, benchmark):
        api = peer("line_solver.api.qsys")
        benchmark(api.qsys_mmk, 57.6, 1.0, 64)

    def test_pyworkforce(self, benchmark):
        queuing = peer("pyworkforce.queuing")
        model = queuing.ErlangC(transactions=57.6, aht=1.0, interval=1, asa=1.0, shrinkage=0.0)
        benchmark(model.waiting_probability, positions=64)

    def test_loop_recurrence(self, benchmark):
        def recurrence():
            inverse = 1.0
            for n in range(1, 65):
                inverse = 1.0 + inverse * n / 57.6
            return 1 / (1 + (inverse - 1) * (1 - 0.9))

        benchmark(recurrence)


@pytest.mark.benchmark(group="M/M/c, array of 1e6")
def test_kvcost_array(benchmark):
    rng = np.random.default_rng(1)
    servers = np.floor(rng.random(1_000_000) * 1000) + 1
    utilization = rng.random(1_000_000) * 0.999
    benchmark(mmc_mean_wait, servers=servers, utilization=utilization)


@pytest.mark.benchmark(group="map of 10,000 cells (c, rho, scv), Kimura")
def test_kvcost_map(benchmark):
    servers = np.arange(1.0, 26.0)[:, None, None]
    utilization = np.linspace(0.05, 0.98, 20)[None, :, None]
    scv = np.linspace(0.0, 9.0, 20)
    benchmark(
        kimura_wait,
        servers=servers,
        utilization=utilization,
        service_seconds=1.0,
        service_scv=scv,
    )


# M/D/c


def _forget():
    _mean_queue.cache_clear()
    _law.cache_clear()
    _solve.cache_clear()


@pytest.mark.benchmark(group="M/D/c mean, 64 servers, rho 0.9")
class TestDeterministic:
    def test_kvcost(self, benchmark):
        benchmark.pedantic(lambda: _mean_queue(64, 0.9), setup=_forget, rounds=200, warmup_rounds=5)

    def test_kvcost_with_distribution(self, benchmark):
        benchmark.pedantic(
            lambda: mdc(servers=64, mean_service=1.0, utilization=0.9).p99,
            setup=_forget,
            rounds=100,
            warmup_rounds=5,
        )

    def test_line_solver(self, benchmark):
        api = peer("line_solver.api.qsys")
        benchmark.pedantic(api.qsys_mdc_crommelin, args=(57.6, 1.0, 64), rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group="M/D/c mean, 10,000 servers, rho 0.99")
def test_kvcost_ten_thousand(benchmark):
    benchmark.pedantic(lambda: _mean_queue(10_000, 0.99), setup=_forget, rounds=50, warmup_rounds=2)


# M/H2/c


@pytest.mark.parametrize("servers", [10, 16, 64])
def test_kvcost_hyperexponential(benchmark, servers):
    benchmark.group = f"M/H2/c exact, scv 4, {servers} servers, rho 0.9"
    benchmark.pedantic(
        lambda: mphc(servers=servers, service=H2, utilization=0.9),
        setup=_forget,
        rounds=30,
        warmup_rounds=3,
    )


@pytest.mark.parametrize("servers", [10, 16, 64])
def test_line_solver_hyperexponential(benchmark, servers):
    benchmark.group = f"M/H2/c exact, scv 4, {servers} servers, rho 0.9"
    api = peer("line_solver.api.qsys")
    law = H2.phase_type()
    rate = 0.9 * servers
    arrivals = (np.array([[-rate]]), np.array([[rate]]))

    def solve():
        return api.qsys_mapphc(*arrivals, law.alpha, law.matrix, servers, num_w_moms=1)

    try:
        solve()
    except Exception as error:  # whatever the peer raises is what it has to say
        pytest.skip(reason=f"line-solver raises {type(error).__name__}: {error}")
    benchmark.pedantic(solve, rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group="M/H2/10 p99 after the mean")
def test_kvcost_percentile(benchmark):
    wait = mphc(servers=10, service=H2, utilization=0.9)
    assert benchmark(wait.quantile, 0.99) > 0


@pytest.mark.benchmark(group="M/G/1 p99, lognormal scv 4")
def test_kvcost_single(benchmark):
    law = queueing.Lognormal(mean=1.0, scv=4.0)
    benchmark(lambda: LatticeWait(service=law, arrival_rate=0.8).quantile(0.99))
    assert mg1(service=Deterministic(mean=1.0), utilization=0.5).mean == pytest.approx(0.5)
