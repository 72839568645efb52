"""Speed of M/G/c: first and later fits, the anchors, many servers, and the simulation."""

from __future__ import annotations

import pytest

from kvcost.queueing import Lognormal, Uniform, mgc, mmc_mean_wait
from kvcost.queueing.coxian_fit import fit_phases
from kvcost.simulation.kiefer_wolfowitz import simulate_queue

CUSTOMERS = 1_000_000


@pytest.mark.parametrize("servers", [4, 8, 16, 64])
@pytest.mark.parametrize("scv", [2.0, 4.0, 9.0])
def bench_first_fit(benchmark, servers, scv):
    def forget():
        fit_phases.cache_clear()

    law = Lognormal(mean=0.3, scv=scv)
    benchmark.pedantic(
        mgc,
        kwargs={"servers": servers, "service": law, "utilization": 0.8},
        setup=forget,
        rounds=5,
        warmup_rounds=1,
    )


@pytest.mark.parametrize("servers", [4, 8, 16])
def bench_later_fit(benchmark, servers):
    law = Lognormal(mean=0.3, scv=4.0)
    loads = iter(0.5 + k * 1e-6 for k in range(1_000_000))

    def run():
        return mgc(servers=servers, service=law, utilization=next(loads))

    benchmark(run)


@pytest.mark.parametrize("servers", [4, 16, 1000, 10_000])
def bench_anchors(benchmark, servers):
    law = Uniform(low=0.0, high=1.0)
    loads = iter(0.9 + k * 1e-7 for k in range(900_000))

    def run():
        return mgc(servers=servers, service=law, utilization=next(loads))

    assert benchmark(run).mean < mmc_mean_wait(servers=servers, utilization=0.99)


@pytest.mark.parametrize("servers", [1, 4, 16, 64])
def bench_simulation(benchmark, servers):
    benchmark.extra_info["customers"] = CUSTOMERS * 11 // 10
    benchmark.pedantic(
        simulate_queue,
        kwargs={
            "servers": servers,
            "service": Lognormal(mean=1.0, scv=4.0),
            "utilization": 0.8,
            "customers": CUSTOMERS,
            "seed": 1,
        },
        rounds=5,
        warmup_rounds=1,
    )
