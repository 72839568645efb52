"""Each exact method of bursts against a second route: another formula, or a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcost.errors import InvalidValueError, UnstableError
from kvcost.queueing.burst import (
    BatchSize,
    bulk,
    burst,
    cold_then_warm,
    cold_then_warm_waits,
    copies,
    copy_waits,
    fluid_burst,
)
from kvcost.queueing.burst import formulas as f
from kvcost.queueing.burst.bulk_deterministic import unit_queue, unit_queue_mean
from kvcost.queueing.burst.chain import BurstChain
from kvcost.queueing.burst.laws import DepartureLaw
from kvcost.queueing.burst.recursion import DeterministicBurst
from kvcost.queueing.burst.replications import replicate
from kvcost.queueing.burst.spitzer import crossing_cdf, poisson_means, uniform_means
from kvcost.queueing.service import (
    Deterministic,
    Erlang,
    Exponential,
    HyperExponential,
    Lognormal,
    PhaseType,
)

ONE = Deterministic(mean=1.0)
MIX = HyperExponential.balanced(mean=1.0, scv=4.0)
NONE = np.zeros(0)


def ask(**changed):
    given_facts = {
        "servers": 4,
        "requests": 24,
        "window_seconds": 4.0,
        "service": ONE,
        "arrivals": "even",
        "background_utilization": 0.0,
    }
    return burst(**{**given_facts, **changed})


# Deterministic service


@given(
    servers=st.integers(1, 9),
    requests=st.integers(1, 60),
    gap=st.floats(0, 0.4),
    service=st.floats(0.1, 3),
)
def test_even_formula_is_the_request_by_request_recursion(servers, requests, gap, service):
    free = [0.0] * servers
    waits = []
    for k in range(requests):
        first = min(range(servers), key=free.__getitem__)
        start = max(free[first], k * gap)
        waits.append(start - k * gap)
        free[first] = start + service
    facts = {
        "burst_requests": requests,
        "servers": servers,
        "arrival_gap": gap,
        "service_seconds": service,
    }
    assert f.even_burst_mean_wait(**facts) == pytest.approx(np.mean(waits), abs=1e-9)
    assert f.even_burst_longest_wait(**facts) == pytest.approx(max(waits), abs=1e-9)


def test_both_spacings():
    ends = ask(spacing="window/(requests-1)", window_seconds=2.3)
    longer = ask(window_seconds=2.4)
    assert ends.mean == pytest.approx(longer.mean, rel=1e-12)
    assert ends.arrivals == longer.arrivals == "evenly spaced, every 0.1 s"


@pytest.mark.parametrize(("servers", "requests", "window"), [(4, 24, 2.5), (3, 17, 6.2)])
def test_uniform_arrivals_by_spitzer_and_by_cauchy(servers, requests, window):
    model = DeterministicBurst(servers, 0.0, requests, window)
    sums = uniform_means(servers=servers, requests=requests, service=1.0, window=window).mean()
    assert model.uniform(model.window_mean) == pytest.approx(sums, rel=1e-9)
    for x in (0.0, 0.3, 1.6):
        facts = {"servers": servers, "requests": requests, "service": 1.0}
        rate = requests / window
        crossing = crossing_cdf(x, **facts, rate=rate, window=window).mean()
        recursion = model.uniform(lambda extra, x=x: model.window_chance(x, extra))
        assert recursion == pytest.approx(crossing, abs=1e-9)


def test_poisson_window_is_a_mixture_of_uniform_bursts():
    mean, window = 20, 2.5
    weight = math.exp(-mean)
    total = 0.0
    for number in range(1, 120):
        weight *= mean / number
        waits = uniform_means(servers=4, requests=number, service=1.0, window=window)
        total += weight * waits.sum()
    model = DeterministicBurst(4, 0.0, mean, window)
    assert model.window_mean(mean / window) == pytest.approx(total / mean, rel=1e-10)


@pytest.mark.parametrize("window", [None, 6.0])
def test_mean_is_the_integral_of_the_crossing_tail(window):
    facts = {"servers": 3, "requests": 20, "service": 1.0}
    rate = 20 / 6.0
    if window is None:
        means = poisson_means(**facts, rate=rate)
    else:
        means = uniform_means(**facts, window=window)
    total = np.zeros(20)
    node, weight = np.polynomial.legendre.leggauss(12)
    for low in np.arange(0, 7, 0.25):
        for x, share in zip(low + (node + 1) / 8, weight / 8, strict=True):
            total += share * (1 - crossing_cdf(x, **facts, rate=rate, window=window))
    np.testing.assert_allclose(total, means, atol=1e-7)


def test_recursion_without_background_is_the_even_formula():
    times = np.arange(30) * 0.2
    model = DeterministicBurst(4, 0.0, 30, times[-1])
    waits = (np.arange(30) // 4) * 0.2
    np.testing.assert_allclose(model.means_at(times, schedule=times), waits, atol=1e-12)


@pytest.mark.parametrize(("servers", "share"), [(1, 0.5), (4, 0.8), (16, 0.7), (64, 0.95)])
def test_recursion_without_burst_stays_at_the_stationary_wait(servers, share):
    model = DeterministicBurst(servers, share * servers, 1, 3.0)
    waits = model.means_at(np.array([0.0, 0.37, 2.9]), schedule=NONE)
    single = np.array([0.0, 1.0])
    queue = unit_queue_mean(servers=servers, batches=share * servers, sizes=single)
    np.testing.assert_allclose(waits, queue / (share * servers), rtol=1e-9)


def test_recursion_mean_is_the_integral_of_its_tail():
    answer = ask(background_utilization=0.6, arrivals="poisson_window", requests=10)
    node, weight = np.polynomial.legendre.leggauss(6)
    total = 0.0
    for low in np.arange(0, 8, 0.5):
        for x, share in zip(low + (node + 1) / 4, weight / 4, strict=True):
            total += share * answer.survival(x)
    assert total == pytest.approx(answer.mean, rel=1e-6)


# Phase-type service


def test_batch_of_exponential_services_in_closed_form():
    answer = ask(service=Exponential(mean=2.0), arrivals="batch", window_seconds=0.0)
    turns = np.maximum(np.arange(24) - 3, 0) / 4 * 2.0
    np.testing.assert_allclose(answer.request_means, turns, rtol=1e-12)


@pytest.mark.parametrize("service", [Erlang(mean=1.0, stages=2), MIX])
def test_batch_by_departures_and_by_the_chain(service):
    quick = ask(service=service, arrivals="batch", window_seconds=0.0)
    chain = BurstChain(4, service.phase_type(), 24, 0.0, 0.0)
    times = chain.occupancy.departure_times(chain.places + 1)
    slow = [float((chain.waiting(law) * times).sum()) for law in chain.seen_even(0.0)]
    np.testing.assert_allclose(quick.request_means, slow, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("arrivals", ["even", "uniform", "poisson", "poisson_window"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_phases_that_do_not_matter_change_nothing(arrivals, share):
    plain = ask(service=Exponential(mean=1.0), arrivals=arrivals, background_utilization=share)
    law = PhaseType(initial=(0.3, 0.7), generator=((-1.0, 0.0), (0.0, -1.0)))
    split = ask(service=law, arrivals=arrivals, background_utilization=share)
    assert split.mean == pytest.approx(plain.mean, rel=1e-9)
    assert split.p95 == pytest.approx(plain.p95, rel=1e-7)
    assert split.probability_of_wait == pytest.approx(plain.probability_of_wait, rel=1e-9)


@pytest.mark.parametrize("arrivals", ["even", "uniform", "poisson", "poisson_window"])
def test_many_stages_tend_to_deterministic_service(arrivals):
    share = 0.0 if arrivals == "poisson" else 0.4  # the one case that is simulated otherwise
    facts = {"arrivals": arrivals, "servers": 2, "requests": 9, "background_utilization": share}
    few, more = (ask(service=Erlang(mean=1.0, stages=k), **facts).mean for k in (8, 16))
    assert 2 * more - few == pytest.approx(ask(**facts).mean, rel=0.01)


@pytest.mark.parametrize("service", [Erlang(mean=1.0, stages=2), MIX])
def test_mean_by_departures_and_by_ticks(service):
    answer = ask(service=service, arrivals="uniform", background_utilization=0.3)
    assert isinstance(answer.law, DepartureLaw)
    assert answer.law.moment(1) == pytest.approx(answer.mean, rel=1e-11)


def test_background_alone_is_the_stationary_mmc():
    chain = BurstChain(5, Exponential(mean=1.0).phase_type(), 1, 4.0, 0.0)
    (law,) = chain.seen_even(0.0)
    times = chain.occupancy.departure_times(chain.places + 1)
    erlang_b = (4**5 / 120) / sum(4**n / math.factorial(n) for n in range(6))
    erlang_c = erlang_b / (1 - 0.8 * (1 - erlang_b))
    assert float((chain.waiting(law) * times).sum()) == pytest.approx(erlang_c, rel=1e-12)


@pytest.mark.parametrize("phases", [Erlang(mean=1.0, stages=4), MIX])
def test_geometric_ticks_by_solving_and_by_series(phases, monkeypatch):
    chain = BurstChain(3, phases.phase_type(), 12, 1.5, 3.0)
    solved = np.array(list(chain.seen_poisson(4.0)))
    monkeypatch.setattr("kvcost.queueing.burst.chain._SOLVED_BY_SERIES", 0)
    np.testing.assert_allclose(np.array(list(chain.seen_poisson(4.0))), solved, atol=1e-13)


def test_uniform_means_average_to_a_mixture_like_the_window():
    facts = {"service": MIX, "servers": 3, "window_seconds": 3.0}
    window = ask(arrivals="poisson_window", requests=8, **facts).mean
    weight, total = math.exp(-8), 0.0
    for number in range(1, 40):
        weight *= 8 / number
        total += weight * number * ask(arrivals="uniform", requests=number, **facts).mean
    assert total / 8 == pytest.approx(window, rel=1e-9)


# Distributions against simulation


@pytest.mark.parametrize("arrivals", ["even", "uniform", "poisson", "poisson_window", "batch"])
@pytest.mark.parametrize("share", [0.0, 0.6])
@pytest.mark.parametrize("service", [ONE, Erlang(mean=1.0, stages=2), MIX])
def test_percentiles_and_means_against_simulation(arrivals, share, service):
    window = 0.0 if arrivals == "batch" else 4.0
    answer = ask(
        arrivals=arrivals, background_utilization=share, service=service, window_seconds=window
    )
    if answer.error.kind == "simulated":
        assert (arrivals, share, service) == ("poisson", 0.6, ONE)
        return
    made = replicate(
        servers=4,
        service=service,
        requests=24,
        window=window,
        arrivals=arrivals,
        gap=window / 24 if arrivals == "even" else 0.0,
        background_rate=share * 4,
        replications=3000,
        seed=20,
    )
    # half-widths at 1.96 deviations; three of them, for 60 comparisons and more
    assert abs(made.mean - answer.mean) <= 3 / 1.96 * made.half_width + 1e-9
    slow = service is ONE and arrivals == "uniform" and share > 0
    for p in (0.9,) if slow else (0.5, 0.95, 0.99):
        at = answer.quantile(p)
        below = made.waits <= at * (1 + 1e-9) + 1e-9
        share_below = (below & ~np.isnan(made.waits)).sum() / (~np.isnan(made.waits)).sum()
        half = 3 / 1.96 * made.share_half_width(below)
        assert share_below + half >= p - 1e-9
        assert abs(share_below - (1 - answer.survival(at * (1 + 1e-9) + 1e-9))) <= half + 1e-9
    longest = made.extremes
    assert answer.largest_mean <= longest.maximum * 1.05 + 1e-9


def test_other_laws_are_simulated_and_say_so():
    answer = ask(service=Lognormal(mean=1.0, scv=1.0), replications=500)
    assert answer.error.kind == "simulated"
    assert answer.mean_low < answer.mean < answer.mean_high
    near = ask(service=Exponential(mean=1.0))
    assert answer.mean == pytest.approx(near.mean, rel=0.2)
    assert answer.drain_seconds == answer.request_means[-1]


def test_huge_bursts_fall_back_to_simulation():
    facts = {"servers": 200, "requests": 40_000, "window_seconds": 50.0, "replications": 2}
    assert ask(service=MIX, **facts).error.kind == "simulated"


# What else an answer holds


def test_build_up_and_drain():
    answer = ask(requests=40, window_seconds=0.0, background_utilization=0.5)
    assert answer.recovery_seconds == pytest.approx(2 * answer.drain_seconds)
    assert answer.drain_seconds == answer.request_means[-1] == answer.largest_mean
    alone = ask(requests=40, window_seconds=0.0)
    assert (alone.peak_backlog, alone.drain_seconds, alone.maximum) == (36.0, 9.0, 9.0)
    assert f.recovery_seconds(
        waiting_requests=36, servers=4, service_seconds=1, background_utilization=0
    ) == pytest.approx(alone.drain_seconds)
    assert alone.extremes.error.kind == "exact"
    assert answer.extremes.error.kind == "simulated"


def test_nobody_waits_when_servers_are_as_many():
    answer = ask(requests=4, service=Lognormal(mean=1.0, scv=9.0), window_seconds=0.0)
    assert (answer.mean, answer.p99, answer.maximum, answer.peak_backlog) == (0, 0, 0, 0)
    assert answer.error.kind == "exact"


# Cold services and copies


@given(
    servers=st.integers(1, 8),
    requests=st.integers(1, 80),
    gap=st.floats(0, 0.1),
    cold=st.floats(0.5, 9),
    warm=st.floats(0.71, 2),
)
def test_cold_then_warm_by_slots_and_in_closed_form(servers, requests, gap, cold, warm):
    waits, saturated = cold_then_warm_waits(
        servers=servers, requests=requests, gap=gap, cold_seconds=cold, warm_seconds=warm
    )
    closed = f.cold_then_warm_wait(
        earlier_requests=np.arange(requests),
        servers=servers,
        arrival_gap=gap,
        cold_seconds=cold,
        warm_seconds=warm,
    )
    if saturated:
        np.testing.assert_allclose(waits, closed, atol=1e-9)


@given(servers=st.integers(1, 6), requests=st.integers(1, 40), gap=st.floats(0, 1))
def test_equal_cold_and_warm_services_are_the_even_burst(servers, requests, gap):
    answer = cold_then_warm(
        servers=servers, requests=requests, gap=gap, cold_seconds=1.0, warm_seconds=1.0
    )
    plain = f.even_burst_mean_wait(
        burst_requests=requests, servers=servers, arrival_gap=gap, service_seconds=1.0
    )
    assert answer.mean == pytest.approx(plain, abs=1e-9)


def test_copies_that_come_late_or_early():
    facts = {"requests": 64, "gap": 0.0, "cold_seconds": 8.0, "warm_seconds": 0.3}
    never, _ = copy_waits(servers=8, available_seconds=math.inf, **facts)
    alone, _ = copy_waits(servers=1, available_seconds=0.0, **facts)
    np.testing.assert_allclose(never, alone, rtol=1e-13)
    soon = copies(servers=8, available_seconds=9.0, **facts)
    assert soon.mean == pytest.approx(9.7328125, rel=1e-12)
    fluid = f.copy_batch_mean_wait(
        burst_requests=64, servers=8, cold_seconds=8, warm_seconds=0.3, copy_ready_seconds=9
    )
    assert fluid == pytest.approx(soon.mean, rel=5e-3)


def test_idle_servers_are_followed_one_by_one():
    waits, saturated = cold_then_warm_waits(
        servers=2, requests=6, gap=1.0, cold_seconds=2.5, warm_seconds=0.5
    )
    assert not saturated
    np.testing.assert_allclose(waits, [0, 0, 0.5, 0, 0, 0])


# The fluid estimate


def test_fluid_estimate_keeps_its_stated_range():
    rng = np.random.default_rng(8)
    laws = [ONE, Erlang(mean=1.0, stages=2), Exponential(mean=1.0), MIX]
    asked = 0
    while asked < 40:
        servers = int(rng.choice([2, 4, 8, 16]))
        law = laws[rng.integers(4)]
        facts = {
            "servers": servers,
            "requests": int(rng.integers(servers, 10 * servers)),
            "window_seconds": float(rng.choice([1.0, 2.0, 4.0])),
            "background_utilization": float(rng.choice([0.0, 0.2, 0.5, 0.8])),
        }
        try:
            fluid = fluid_burst(mean_service=1.0, scv=law.scv, **facts)
        except InvalidValueError:
            continue
        asked += 1
        arrivals = ["even", "poisson_window"][asked % 2]
        exact = burst(service=law, arrivals=arrivals, **facts).mean
        assert fluid.mean_low <= exact <= fluid.mean_high, (facts, law, fluid, exact)


def test_fluid_formula_on_a_simulated_burst():
    # 8 servers, 64 Erlang-2 requests in 4 s on 60%: simulated 3.0074 +- 0.0081
    fluid = f.fluid_burst_wait(
        burst_requests=64,
        burst_seconds=4,
        servers=8,
        service_seconds=1,
        service_scv=0.5,
        background_utilization=0.6,
    )
    assert -0.045 < fluid / 3.0073922 - 1 < -0.02


def test_fluid_estimate_refuses_weak_bursts():
    with pytest.raises(InvalidValueError, match="standard deviations"):
        fluid_burst(
            servers=8,
            requests=33,
            window_seconds=8.0,
            mean_service=1.0,
            scv=1.0,
            background_utilization=0.5,
        )


# Batches for ever


def mean_bulk_mmc(servers, batches, sizes):
    """Mean number waiting by cuts between the numbers present; rates of one."""
    tail = np.append(np.cumsum(sizes[::-1])[::-1], 0.0)
    law = [1.0]
    for n in range(1, 4000):
        reach = min(n, sizes.size - 1)
        flow = sum(law[n - d] * tail[d] for d in range(1, reach + 1))
        law.append(batches * flow / min(n, servers))
    law = np.array(law) / sum(law)
    number = np.arange(law.size)
    return float(law @ np.maximum(number - servers, 0))


@pytest.mark.parametrize(
    ("servers", "batch", "load"),
    [
        (1, BatchSize.fixed(3), 0.5),
        (4, BatchSize.geometric(4.0), 0.8),
        (5, BatchSize.of((0.2, 0.0, 0.8)), 0.7),
        (16, BatchSize.fixed(4), 0.6),
    ],
)
def test_bulk_exponential_by_matrices_and_by_cuts(servers, batch, load):
    answer = bulk(servers=servers, service=Exponential(mean=1.0), batch=batch, utilization=load)
    waiting = mean_bulk_mmc(servers, load * servers / batch.mean, batch.sizes)
    assert answer.mean == pytest.approx(waiting / (load * servers), rel=1e-9)
    assert answer.law.moment(1) == pytest.approx(answer.mean, rel=1e-9)


@pytest.mark.parametrize("service", [ONE, Erlang(mean=1.0, stages=3), MIX])
def test_bulk_at_one_server_by_both_formulas(service):
    batch = BatchSize.of((0.5, 0.3, 0.2))
    answer = bulk(servers=1, service=service, batch=batch, utilization=0.7)
    formula = f.bulk_single_server_wait(
        utilization=0.7,
        service_seconds=1.0,
        service_scv=service.scv,
        batch_mean=batch.mean,
        batch_pairs=batch.second_factorial,
    )
    assert answer.mean == pytest.approx(formula, rel=1e-9)


@pytest.mark.parametrize(
    ("servers", "batch", "load"),
    [
        (4, BatchSize.fixed(4), 0.6),
        (6, BatchSize.fixed(4), 0.9),
        (8, BatchSize.geometric(3.0), 0.5),
        (64, BatchSize.fixed(1), 0.9),
        (64, BatchSize.fixed(1), 0.3),
        (10, BatchSize.fixed(2), 0.99),
    ],
)
def test_bulk_deterministic_by_zeros_and_by_its_law(servers, batch, load):
    rate = load * servers / batch.mean
    law = unit_queue(servers=servers, batches=rate, sizes=batch.sizes)
    zeros = unit_queue_mean(servers=servers, batches=rate, sizes=batch.sizes)
    assert float(law @ np.arange(law.size)) == pytest.approx(zeros, rel=1e-9, abs=1e-11)


def test_bulk_deterministic_percentiles_integrate_to_the_mean():
    answer = bulk(servers=6, service=ONE, batch=BatchSize.fixed(4), utilization=0.7)
    node, weight = np.polynomial.legendre.leggauss(10)
    total = 0.0
    for low in np.arange(0, 40, 1.0):
        for x, share in zip(low + (node + 1) / 2, weight / 2, strict=True):
            total += share * answer.survival(x)
    assert total == pytest.approx(answer.mean, rel=1e-8)
    assert answer.survival(answer.p95) == pytest.approx(0.05, abs=1e-9)


def test_bulk_approximation_holds_the_exact_answer():
    for service in (Erlang(mean=1.0, stages=2), MIX):
        from kvcost.queueing.burst.batches import _between

        for servers, batch, load in [
            (4, BatchSize.fixed(4), 0.6),
            (8, BatchSize.geometric(8.0), 0.7),
            (16, BatchSize.geometric(4.0), 0.85),
        ]:
            exact = bulk(servers=servers, service=service, batch=batch, utilization=load).mean
            guess = _between(servers, service, load, batch)
            assert guess.mean_low <= exact <= guess.mean_high
    other = bulk(
        servers=4, service=Lognormal(mean=1.0, scv=0.5), batch=BatchSize.fixed(4), utilization=0.6
    )
    assert other.error.kind == "approximation"
    assert other.mean == pytest.approx(0.8005, abs=1e-3)


# Refusals


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"servers": 0}, "servers"),
        ({"servers": 2.5}, "servers"),
        ({"requests": 0}, "requests"),
        ({"window_seconds": -1.0}, "window_seconds"),
        ({"window_seconds": math.nan}, "window_seconds"),
        ({"arrivals": "sometimes"}, "arrivals"),
        ({"arrivals": "batch"}, "window_seconds"),
        ({"arrivals": "poisson_window", "window_seconds": 0.0}, "window_seconds"),
        ({"spacing": "wide"}, "spacing"),
        ({"service": 1.0}, "service"),
        ({"background_utilization": -0.1}, "background_utilization"),
        ({"replications": 1}, "replications"),
    ],
)
def test_bad_arguments_are_named(changed, field):
    with pytest.raises(InvalidValueError) as caught:
        ask(**changed)
    assert caught.value.field == field


def test_a_background_that_overloads_is_refused():
    with pytest.raises(UnstableError):
        ask(background_utilization=1.0)
    with pytest.raises(UnstableError):
        bulk(servers=2, service=ONE, batch=BatchSize.fixed(2), utilization=1.1)


def test_bad_batch_sizes_are_refused():
    for make in (
        lambda: BatchSize.fixed(0),
        lambda: BatchSize.geometric(0.5),
        lambda: BatchSize.of(()),
        lambda: BatchSize.of((0.5, -0.5)),
        lambda: BatchSize.of((0.0, 0.0)),
    ):
        with pytest.raises(InvalidValueError):
            make()


@settings(max_examples=20, deadline=None)
@given(
    servers=st.integers(1, 6),
    requests=st.integers(1, 20),
    window=st.floats(0.1, 10),
    arrivals=st.sampled_from(["even", "uniform", "poisson"]),
    unit=st.floats(0.05, 20),
)
def test_answers_scale_with_the_unit_of_time(servers, requests, window, arrivals, unit):
    facts = {"servers": servers, "requests": requests, "arrivals": arrivals}
    base = ask(window_seconds=window, service=Erlang(mean=1.0, stages=2), **facts)
    scaled = ask(window_seconds=window * unit, service=Erlang(mean=unit, stages=2), **facts)
    assert scaled.mean == pytest.approx(base.mean * unit, rel=1e-9, abs=1e-15)
