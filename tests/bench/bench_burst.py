"""Speed of bursts."""

from __future__ import annotations

import pytest

from kvcost.queueing.burst import BatchSize, bulk, burst
from kvcost.queueing.service import Deterministic, Erlang, HyperExponential

LAWS = {
    "deterministic": Deterministic(mean=1.0),
    "erlang": Erlang(mean=1.0, stages=2),
    "hyperexponential": HyperExponential.balanced(mean=1.0, scv=4.0),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("arrivals", ["even", "uniform", "poisson_window"])
@pytest.mark.parametrize("share", [0.0, 0.7])
def bench_burst(benchmark, law, arrivals, share):
    answer = benchmark(
        burst,
        servers=16,
        requests=64,
        window_seconds=2.0,
        service=LAWS[law],
        arrivals=arrivals,
        background_utilization=share,
    )
    assert answer.error.kind == "exact"


@pytest.mark.parametrize("law", LAWS)
def bench_bulk(benchmark, law):
    batch = BatchSize.geometric(4.0)
    answer = benchmark(bulk, servers=16, service=LAWS[law], batch=batch, utilization=0.85)
    assert answer.error.kind == "exact"
