"""The simulation against exact waits, by intervals over replications."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from kvcost.errors import InvalidValueError, UnstableError
from kvcost.queueing import (
    Deterministic,
    Exponential,
    Gamma,
    HyperExponential,
    Pareto,
    gimc,
    mgc,
)
from kvcost.simulation import kiefer_wolfowitz
from kvcost.simulation.kiefer_wolfowitz import simulate_queue

CASES = (
    (1, Exponential(mean=1.0), 0.8),
    (4, Deterministic(mean=1.0), 0.9),
    (16, HyperExponential.lognormal_like(mean=1.0, scv=4.0), 0.8),
    (64, Exponential(mean=1.0), 0.9),
)


@pytest.mark.parametrize(("servers", "law", "rho"), CASES, ids=str)
def test_intervals_hold_the_exact_mean(servers, law, rho):
    """Of 20 intervals of 95%, 16 or more hold the truth (fewer: once in 400 times)."""
    exact = mgc(servers=servers, service=law, utilization=rho)
    runs = [
        simulate_queue(servers=servers, service=law, utilization=rho, customers=100_000, seed=seed)
        for seed in range(20)
    ]
    held = sum(run.mean_low <= exact.mean <= run.mean_high for run in runs)
    assert held >= 16
    delayed = np.mean([run.probability_of_wait for run in runs])
    assert delayed == pytest.approx(exact.probability_of_wait, rel=0.02)
    assert np.mean([run.p95 for run in runs]) == pytest.approx(exact.p95, rel=0.05)
    assert np.mean([run.survival(exact.p95) for run in runs]) == pytest.approx(0.05, rel=0.1)


def test_other_arrivals():
    gaps = Gamma(mean=0.2, scv=4.0)
    exact = gimc(servers=8, gaps=gaps, mean_service=1.0)
    run = simulate_queue(
        servers=8, service=Exponential(mean=1.0), gaps=gaps, customers=1_000_000, seed=11
    )
    assert run.mean_low - 0.02 * exact.mean <= exact.mean <= run.mean_high + 0.02 * exact.mean
    assert run.method.startswith("G/G/c")


def test_a_seed_is_a_run():
    def run(seed):
        return simulate_queue(
            servers=3, service=Exponential(mean=1.0), utilization=0.7, customers=5000, seed=seed
        )

    assert run(5) == run(5)
    assert run(5) != run(6)


def test_the_plain_code_is_the_compiled_code(monkeypatch):
    def run():
        return [
            simulate_queue(
                servers=servers,
                service=Exponential(mean=1.0),
                utilization=0.7,
                customers=2000,
                seed=1,
            ).mean
            for servers in (3, 50)
        ]

    compiled = run()
    real = builtins.__import__

    def without_numba(name, *args, **kwargs):
        if name == "numba":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_numba)
    kiefer_wolfowitz._kernel.cache_clear()
    try:
        assert run() == pytest.approx(compiled, rel=1e-12)
    finally:
        kiefer_wolfowitz._kernel.cache_clear()


def test_what_cannot_be_simulated_is_refused():
    law = Exponential(mean=1.0)
    with pytest.raises(UnstableError):
        simulate_queue(servers=2, service=law, arrival_rate=2.0, seed=1)
    with pytest.raises(InvalidValueError, match="finite variance"):
        simulate_queue(servers=2, service=Pareto(exponent=1.5, low=1.0), utilization=0.5, seed=1)
    with pytest.raises(InvalidValueError, match="customers"):
        simulate_queue(servers=2, service=law, utilization=0.5, customers=10, seed=1)
    with pytest.raises(InvalidValueError, match="exactly one"):
        simulate_queue(servers=2, service=law, utilization=0.5, gaps=law, seed=1)
