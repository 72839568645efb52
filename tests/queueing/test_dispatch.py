"""Dispatch laws by a second route each, at their edges, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcost.errors import InvalidValueError, MissingFactError, UnstableError
from kvcost.queueing import gimc, mdc, mmc
from kvcost.queueing.dispatch import (
    join_shortest_queue,
    least_work_left,
    power_of_d,
    random_split,
    round_robin,
    sticky_homes,
)
from kvcost.queueing.dispatch.ahead import BehindQueue
from kvcost.queueing.dispatch.erlang_arrivals import ErlangArrivals, circle_mean
from kvcost.queueing.dispatch.formulas import shortest_queue_wait
from kvcost.queueing.dispatch.shortest_chain import chain_states, shortest_queue_chain
from kvcost.queueing.service import (
    Atoms,
    Deterministic,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    Lognormal,
    Pareto,
    ShiftedExponential,
    Uniform,
)
from kvcost.simulation.dispatch import simulate_dispatch

EXPONENTIAL = Exponential(mean=1.0)


def quasi_birth_death(*, servers, service, utilization):
    """Return the mean wait in E_c/PH/1 from its levels of requests, by plain iteration for R."""
    law = service.phase_type()
    rate = servers * utilization
    stages, phases = np.eye(servers), np.eye(law.phases)
    arriving = -rate * stages + rate * np.eye(servers, k=1)
    entering = np.zeros((servers, servers))
    entering[-1, 0] = rate
    ends = np.outer(law.exit_rates, law.alpha)
    up = np.kron(entering, phases)
    inside = np.kron(arriving, phases) + np.kron(stages, law.matrix)
    down = np.kron(stages, ends)
    # logarithmic reduction for G, then R
    solve = np.linalg.inv(-inside)
    high, low = solve @ up, solve @ down
    first, product = low.copy(), high.copy()
    for _ in range(60):
        both = high @ low + low @ high
        solve = np.linalg.inv(np.eye(len(both)) - both)
        high, low = solve @ high @ high, solve @ low @ low
        first, product = first + product @ low, product @ high
        if product.max() < 1e-17:
            break
    ratio = up @ np.linalg.inv(-(inside + up @ first))
    # level 0: the stage of the arrival only; level 1 onwards alike
    start = np.kron(entering, law.alpha[None, :])
    stop = np.kron(stages, law.exit_rates[:, None])
    size = servers * law.phases
    corner = np.block([[arriving, start], [stop, inside + ratio @ down]])
    tail = np.linalg.inv(np.eye(size) - ratio)
    norm = np.concatenate([np.ones(servers), tail.sum(axis=1)])
    system = np.vstack([corner.T[:-1], norm])
    found = np.linalg.solve(system, np.append(np.zeros(len(corner) - 1), 1.0))
    level = found[servers:]
    in_system = (level @ tail @ tail).sum()
    return in_system / utilization - 1  # Little's law, services of mean 1


@pytest.mark.parametrize("servers", [2, 3, 5])
@pytest.mark.parametrize("utilization", [0.3, 0.8, 0.97])
@pytest.mark.parametrize(
    "service",
    [
        Erlang(stages=3, mean=1.0),
        HyperExponential.balanced(mean=1.0, scv=4.0),
        HyperExponential.lognormal_like(mean=1.0, scv=9.0),
    ],
    ids=lambda law: law.name,
)
def test_round_robin_by_roots_is_the_quasi_birth_death_process(servers, utilization, service):
    found = round_robin(servers=servers, service=service, utilization=utilization)
    again = quasi_birth_death(servers=servers, service=service, utilization=utilization)
    assert found.mean == pytest.approx(again, rel=1e-9)


@pytest.mark.parametrize("servers", [1, 2, 7, 16, 33])
@pytest.mark.parametrize("utilization", [0.5, 0.9])
@pytest.mark.parametrize(
    "service",
    [
        Gamma(mean=1.0, scv=0.2),
        Gamma(mean=1.0, scv=9.0),
        Uniform(low=0.0, high=2.0),
        ShiftedExponential(shift=0.6, mean=1.0),
        Atoms(values=(0.2, 4.2), weights=(0.8, 0.2)),
        EXPONENTIAL,
        HyperExponential.balanced(mean=1.0, scv=4.0),
    ],
    ids=lambda law: law.name,
)
def test_round_robin_by_roots_is_spitzers_identity(servers, utilization, service):
    queue = ErlangArrivals(servers, servers * utilization, service)
    assert queue.roots is not None
    mean, error = queue.mean_and_error
    again, change = circle_mean(queue)
    assert mean == pytest.approx(again, rel=1e-8, abs=10 * (error + change))


@pytest.mark.parametrize("servers", [1, 4, 16, 64])
@pytest.mark.parametrize("utilization", [0.3, 0.8, 0.99])
def test_round_robin_of_exponential_and_deterministic_service(servers, utilization):
    at = {"servers": servers, "utilization": utilization}
    gaps = Erlang(stages=servers, mean=1 / utilization)
    by_root = gimc(servers=1, gaps=gaps, mean_service=1.0)
    by_roots = ErlangArrivals(servers, servers * utilization, EXPONENTIAL)
    assert round_robin(**at, service=EXPONENTIAL).mean == pytest.approx(by_root.mean, rel=1e-9)
    assert by_roots.mean_and_error[0] == pytest.approx(by_root.mean, rel=1e-9)
    assert by_roots.probability_of_wait == pytest.approx(by_root.probability_of_wait, abs=1e-10)
    fixed = Deterministic(mean=1.0)
    pooled = mdc(servers=servers, mean_service=1.0, utilization=utilization)
    assert round_robin(**at, service=fixed).mean == pooled.mean
    mean, error = ErlangArrivals(servers, servers * utilization, fixed).mean_and_error
    assert mean == pytest.approx(pooled.mean, rel=1e-9, abs=3 * error)


def test_round_robin_percentiles():
    at = {"servers": 6, "utilization": 0.85}
    exponential = gimc(servers=1, gaps=Erlang(stages=6, mean=1 / 0.85), mean_service=1.0)
    nearly = Gamma(mean=1.0, scv=1.0)
    found = round_robin(**at, service=nearly)
    for p in (0.5, 0.95, 0.99):
        assert found.quantile(p) == pytest.approx(exponential.quantile(p), rel=1e-6)
    run = simulate_dispatch(
        "round_robin", **at, service=Lognormal(mean=1.0, scv=2.0), requests=1_500_000, seed=3
    )
    law = round_robin(**at, service=Lognormal(mean=1.0, scv=2.0))
    assert abs(law.mean - run.mean) <= 1.3 * run.half_width_99
    assert run.p95 == pytest.approx(law.p95, rel=0.05)
    assert run.probability_of_wait == pytest.approx(law.probability_of_wait, abs=0.01)


def test_round_robin_mean_is_the_area_under_its_tail():
    found = round_robin(servers=4, service=Gamma(mean=1.0, scv=2.0), utilization=0.7)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    far = 120.0
    tail = [found.survival(float(t)) for t in far * (nodes + 1) / 2]
    assert found.mean == pytest.approx(float(np.dot(weights, tail)) * far / 2, rel=1e-5)


def test_round_robin_of_a_vanishing_wait_says_so():
    found = round_robin(servers=64, service=Gamma(mean=1.0, scv=0.01), utilization=0.1)
    assert 0 <= found.mean < 1e-12
    assert "coarse" in found.error.text


def test_two_shortest_queues_by_brute_force():
    rho, most = 0.7, 60
    index = {(m, n): m * (most + 1) + n for m in range(most + 1) for n in range(most + 1)}
    generator = np.zeros((len(index), len(index)))
    rate = 2 * rho
    for (m, n), i in index.items():
        moves = []
        if m <= n and m < most:
            moves.append(((m + 1, n), rate / 2 if m == n else rate))
        if n <= m and n < most:
            moves.append(((m, n + 1), rate / 2 if m == n else rate))
        moves += [((m - 1, n), 1.0)] * (m > 0) + [((m, n - 1), 1.0)] * (n > 0)
        for target, speed in moves:
            generator[i, index[target]] += speed
            generator[i, i] -= speed
    system = np.vstack([generator.T[:-1], np.ones(len(index))])
    law = np.linalg.solve(system, np.append(np.zeros(len(index) - 1), 1.0))
    mean = sum(law[i] * min(state) for state, i in index.items())
    waiting = sum(law[i] for state, i in index.items() if min(state) > 0)
    found = join_shortest_queue(servers=2, service=EXPONENTIAL, utilization=rho)
    assert found.mean == pytest.approx(mean, rel=1e-8)
    assert found.probability_of_wait == pytest.approx(waiting, rel=1e-8)


@pytest.mark.parametrize(("servers", "spread"), [(2, 8), (3, 6), (4, 5), (7, 3), (20, 2)])
@pytest.mark.parametrize("utilization", [0.4, 0.9])
def test_chain_brackets_the_wait(servers, spread, utilization):
    at = {"servers": servers, "utilization": utilization, "spread": spread}
    below = shortest_queue_chain(**at)
    above = shortest_queue_chain(**at, truncation="blocking")
    finer = shortest_queue_chain(**{**at, "spread": spread + 1})
    load = servers * utilization
    low, high = below.total / load - 1, above.total / load - 1
    assert low <= finer.total / load - 1 + 1e-12
    assert low - 1e-12 <= float(finer.tails.sum()) <= high + 1e-12
    pooled = mmc(servers=servers, mean_service=1.0, utilization=utilization).mean
    assert pooled <= low * (1 + 1e-12) or low <= float(finer.tails.sum())
    assert below.ratio == pytest.approx(utilization**servers, rel=1e-12)


def test_both_solvers_of_the_top_level_agree(monkeypatch):
    from kvcost.queueing.dispatch import shortest_chain

    at = {"servers": 5, "utilization": 0.8, "spread": 4}
    direct = [shortest_queue_chain(**at, truncation=kind) for kind in ("jockeying", "blocking")]
    monkeypatch.setattr(shortest_chain, "_MOST_DIRECT", 1)
    again = [shortest_queue_chain(**at, truncation=kind) for kind in ("jockeying", "blocking")]
    for one, two in zip(direct, again, strict=True):
        assert one.total == pytest.approx(two.total, rel=1e-11)
        assert one.ratio == pytest.approx(two.ratio, rel=1e-11)


def test_blocking_may_have_no_stationary_law():
    law = shortest_queue_chain(servers=300, utilization=0.97, spread=1, truncation="blocking")
    assert math.isinf(law.total)


def test_chain_counts_its_states():
    assert chain_states(servers=16, spread=5) == 15504


@pytest.mark.parametrize("utilization", [0.3, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize("servers", [2, 3, 5, 8])
def test_shortest_queue_lies_between_one_queue_and_round_robin(servers, utilization):
    at = {"servers": servers, "utilization": utilization}
    wait = join_shortest_queue(**at, service=EXPONENTIAL)
    pooled = mmc(**at, mean_service=1.0).mean
    assert pooled <= wait.mean_low <= wait.mean <= wait.mean_high
    assert wait.mean_high <= round_robin(**at, service=EXPONENTIAL).mean
    assert wait.law.mean == pytest.approx(wait.mean, rel=1e-12)


def test_many_servers_are_extrapolated_well():
    for utilization in (0.9, 0.95, 0.98):
        found = join_shortest_queue(servers=300, service=EXPONENTIAL, utilization=utilization)
        chain = join_shortest_queue(
            servers=300, service=EXPONENTIAL, utilization=utilization, spread=2
        )
        assert found.error.kind == "approximation"
        assert abs(found.mean / chain.mean - 1) <= found.error.relative


def test_a_wider_spread_narrows_the_range():
    at = {"servers": 8, "service": EXPONENTIAL, "utilization": 0.95}
    coarse, fine = (join_shortest_queue(**at, spread=spread) for spread in (3, 5))
    assert coarse.error.kind == "bound"
    assert coarse.warnings
    assert coarse.mean_low <= fine.mean_low <= fine.mean_high <= coarse.mean_high


def test_fitted_form_is_as_close_as_its_text_says():
    for servers in (2, 4, 8, 16):
        for utilization in (0.5, 0.7, 0.9, 0.98):
            exact = join_shortest_queue(
                servers=servers, service=EXPONENTIAL, utilization=utilization, spread=3
            ).mean
            close = shortest_queue_wait(
                servers=servers, utilization=utilization, service_seconds=1.0
            )
            assert close == pytest.approx(exact, rel=0.045)


@given(st.integers(2, 6), st.floats(0.05, 0.95), st.floats(1e-3, 1e3))
@settings(max_examples=25, deadline=None)
def test_seconds_scale(servers, utilization, seconds):
    at = {"servers": servers, "utilization": utilization}
    for method in (random_split, round_robin, least_work_left, join_shortest_queue):
        one = method(**at, service=EXPONENTIAL)
        other = method(**at, service=Exponential(mean=seconds))
        assert other.mean == pytest.approx(one.mean * seconds, rel=1e-9)
        assert other.p99 == pytest.approx(one.p99 * seconds, rel=1e-7)
    rate = servers * utilization / seconds
    by_rate = round_robin(servers=servers, arrival_rate=rate, service=Exponential(mean=seconds))
    assert by_rate.mean == pytest.approx(
        round_robin(**at, service=Exponential(mean=seconds)).mean, rel=1e-9
    )


def test_policies_rank_as_they_must():
    at = {"servers": 8, "service": EXPONENTIAL, "utilization": 0.8}
    best = least_work_left(**at).mean
    shortest = join_shortest_queue(**at).mean
    two = power_of_d(**at, choices=2).mean
    three = power_of_d(**at, choices=3).mean
    assert best < shortest < three < two < round_robin(**at).mean < random_split(**at).mean


def test_power_of_one_and_of_all():
    at = {"servers": 4, "service": EXPONENTIAL, "utilization": 0.7}
    assert power_of_d(**at, choices=1).mean == random_split(**at).mean
    assert power_of_d(**at, choices=4).mean == join_shortest_queue(**at).mean


def test_power_of_d_distribution_against_a_simulation():
    at = {"servers": 32, "service": EXPONENTIAL, "utilization": 0.8, "choices": 2}
    wait = power_of_d(**at)
    run = simulate_dispatch("power_of_d", **at, requests=1_000_000, seed=11)
    assert abs(wait.mean - run.mean) <= 1.3 * run.half_width_99 + wait.error.relative * run.mean
    assert wait.probability_of_wait == pytest.approx(run.probability_of_wait, abs=0.01)
    assert wait.p95 == pytest.approx(run.p95, rel=0.03)


def test_power_of_d_says_where_it_is_of_no_use():
    assert power_of_d(servers=3, service=EXPONENTIAL, utilization=0.99).warnings


def test_sticky_without_overflow_is_a_random_split():
    found = sticky_homes(servers=8, threshold=300, mean_service=2.0, utilization=0.7)
    alone = random_split(servers=8, service=Exponential(mean=2.0), utilization=0.7)
    assert found.wait.mean == pytest.approx(alone.mean, rel=1e-9)
    assert found.wait.p99 == pytest.approx(alone.p99, rel=1e-9)
    assert found.overflow == pytest.approx(0, abs=1e-12)


def test_sticky_at_threshold_one_is_the_shortest_queue_whatever_the_homes():
    at = {"servers": 4, "utilization": 0.6, "mean_service": 1.0, "threshold": 1}
    shortest = join_shortest_queue(servers=4, service=EXPONENTIAL, utilization=0.6)
    alike, hot = sticky_homes(**at), sticky_homes(**at, home_shares=[5, 1, 1, 1])
    assert alike.wait.mean == hot.wait.mean == shortest.mean
    assert alike.overflow == pytest.approx(0.6, rel=1e-9)
    assert hot.overflow > alike.overflow


def test_sticky_keeps_what_comes_in():
    found = sticky_homes(
        servers=16, threshold=4, mean_service=1.0, utilization=0.7, home_shares=[3] + [0.55] * 15
    )
    assert sum(found.home_utilization) / 16 == pytest.approx(0.7, rel=1e-9)
    assert found.home_overflow[0] > 0.5
    assert max(found.home_utilization) < 1


def test_behind_queue_is_erlang():
    tails = np.array([1.0, 1.0, 1.0])
    law = BehindQueue(tails=tails, mean_service=2.0)
    assert law.mean == 6.0
    assert law.second_moment == pytest.approx(48.0)
    assert law.survival(6.0) == pytest.approx(math.exp(-3) * (1 + 3 + 4.5))


@pytest.mark.parametrize(
    "method", [random_split, round_robin, join_shortest_queue, least_work_left, power_of_d]
)
def test_refusals(method):
    with pytest.raises(UnstableError) as caught:
        method(servers=4, service=EXPONENTIAL, utilization=1.25)
    assert caught.value.short_by == pytest.approx(1.0)
    with pytest.raises(InvalidValueError, match="variance"):
        method(servers=4, service=Pareto(exponent=1.5, low=1.0), utilization=0.5)
    for bad in (0, -1, 2.5, math.nan, math.inf):
        with pytest.raises(InvalidValueError):
            method(servers=bad, service=EXPONENTIAL, utilization=0.5)
    with pytest.raises(InvalidValueError):
        method(servers=4, service=EXPONENTIAL, utilization=0.5, arrival_rate=2.0)
    with pytest.raises(InvalidValueError):
        method(servers=4, service=EXPONENTIAL, utilization=0.5).quantile(1.0)


def test_other_refusals():
    with pytest.raises(InvalidValueError, match="choices"):
        power_of_d(servers=4, choices=5, service=EXPONENTIAL, utilization=0.5)
    with pytest.raises(InvalidValueError, match="home_shares"):
        sticky_homes(servers=4, threshold=2, mean_service=1, utilization=0.5, home_shares=[1, 1])
    with pytest.raises(InvalidValueError, match="home_shares"):
        sticky_homes(servers=2, threshold=2, mean_service=1, utilization=0.5, home_shares=[1, -1])
    with pytest.raises(InvalidValueError, match="policy"):
        simulate_dispatch("best", servers=2, service=EXPONENTIAL, utilization=0.5, seed=1)
    with pytest.raises(InvalidValueError, match="choices"):
        simulate_dispatch(
            "power_of_d", servers=2, choices=3, service=EXPONENTIAL, utilization=0.5, seed=1
        )
    with pytest.raises(MissingFactError):
        join_shortest_queue(servers=4, service=Deterministic(mean=1.0), utilization=0.5).quantile(
            0.9
        )


def test_plain_and_compiled_simulations_are_the_same(monkeypatch):
    from kvcost.simulation import dispatch

    at = {"servers": 3, "service": EXPONENTIAL, "utilization": 0.7, "requests": 3000, "seed": 5}
    policies = ("random", "round_robin", "shortest_queue", "power_of_d", "least_work", "sticky")
    compiled = [simulate_dispatch(policy, **at, threshold=2) for policy in policies]
    monkeypatch.setattr(dispatch, "_kernel", lambda: dispatch._advance)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    plain = [simulate_dispatch(policy, **at, threshold=2) for policy in policies]
    assert plain == compiled
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002
