"""M/PH/c against a chain written out state by state, one server, and large blocks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import lil_matrix
from scipy.sparse.linalg import spsolve

from kvcost.errors import InvalidValueError, UnstableError
from kvcost.queueing import (
    Erlang,
    Gamma,
    HyperExponential,
    Lognormal,
    PhaseType,
    mdc,
    mg1,
    mgc,
    mphc,
    phase,
)
from kvcost.queueing.qbd import MOST_STATES, first_passage

COXIAN = PhaseType(
    initial=(1.0, 0.0, 0.0), generator=((-3.0, 1.5, 0.0), (0.0, -1.0, 0.2), (0.0, 0.0, -0.3))
)


def chain(law, servers, utilization, most):
    """Return the mean wait and the share that waits, by Little's law on a truncated chain."""
    law = law.phase_type()
    rate = servers * utilization / law.mean
    states = [
        (n, *counts)
        for n in range(most + 1)
        for counts in itertools.product(range(servers + 1), repeat=law.phases)
        if sum(counts) == min(n, servers)
    ]
    index = {state: i for i, state in enumerate(states)}
    rates = lil_matrix((len(states), len(states)))

    def flow(source, n, counts, amount):
        if amount:
            i, j = index[source], index[(n, *counts)]
            rates[i, j] += amount
            rates[i, i] -= amount

    for state in states:
        n, counts = state[0], state[1:]
        busy = min(n, servers)
        if n < most:
            if busy < servers:
                for j, share in enumerate(law.initial):
                    flow(state, n + 1, (*counts[:j], counts[j] + 1, *counts[j + 1 :]), rate * share)
            else:
                flow(state, n + 1, counts, rate)
        for a in range(law.phases):
            less = (*counts[:a], counts[a] - 1, *counts[a + 1 :])
            if not counts[a]:
                continue
            out = counts[a] * law.exit_rates[a]
            if n > servers:
                for b, share in enumerate(law.initial):
                    flow(state, n - 1, (*less[:b], less[b] + 1, *less[b + 1 :]), out * share)
            else:
                flow(state, n - 1, less, out)
            for b in range(law.phases):
                if b != a:
                    moved = (*less[:b], less[b] + 1, *less[b + 1 :])
                    flow(state, n, moved, counts[a] * law.matrix[a, b])
    system = rates.T.tocsc().tolil()
    system[-1, :] = 1.0
    right = np.zeros(len(states))
    right[-1] = 1.0
    found = spsolve(system.tocsc(), right)
    number = np.array([state[0] for state in states])
    queue = float(found @ np.maximum(number - servers, 0))
    return queue / rate, float(found[number >= servers].sum())


@pytest.mark.parametrize(
    ("law", "servers"),
    [
        (Erlang(stages=2, mean=0.5), 3),
        (Erlang(stages=4, mean=1.0), 2),
        (HyperExponential.balanced(mean=1.0, scv=4.0), 4),
        (HyperExponential(weights=(0.5, 0.3, 0.2), means=(0.2, 1.0, 3.0)), 3),
        (COXIAN, 3),
    ],
    ids=str,
)
def test_against_a_chain_written_out(law, servers):
    mean, waits = chain(law, servers, 0.6, 160)
    wait = mphc(servers=servers, service=law, utilization=0.6)
    assert wait.mean == pytest.approx(mean, rel=1e-8)
    assert wait.probability_of_wait == pytest.approx(waits, rel=1e-8)


@pytest.mark.parametrize("utilization", [0.05, 0.6, 0.95, 0.999, 0.9999])
@pytest.mark.parametrize(
    "law", [Erlang(stages=5, mean=2.0), COXIAN, HyperExponential.balanced(mean=0.1, scv=9.0)]
)
def test_one_server_is_pollaczek_khinchine(law, utilization):
    wait = mg1(service=law, utilization=utilization)
    mean = utilization * law.mean * (1 + law.scv) / 2 / (1 - utilization)
    rate = utilization / law.mean
    second = 2 * mean**2 + rate * law.moment(3) / 3 / (1 - utilization)
    assert wait.mean == pytest.approx(mean, rel=wait.error.relative)
    assert wait.second_moment == pytest.approx(second, rel=1e-9)
    assert wait.probability_of_wait == pytest.approx(utilization, rel=1e-12)


@pytest.mark.parametrize("servers", [2, 10])
def test_moments_are_those_of_the_tail(servers):
    wait = mphc(servers=servers, service=COXIAN, utilization=0.9)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    area = first = start = 0.0
    while wait.survival(start) > 1e-13:
        for x, w in zip(start + nodes + 1, weights, strict=True):
            area += w * wait.survival(x)
            first += w * 2 * x * wait.survival(x)
        start += 2.0
    assert area == pytest.approx(wait.mean, rel=1e-8)
    assert first == pytest.approx(wait.second_moment, rel=1e-7)


def test_quantile_inverts_survival():
    for servers, law in ((1, COXIAN), (7, COXIAN), (20, Erlang(stages=2, mean=3.0))):
        wait = mphc(servers=servers, service=law, utilization=0.93)
        for p in (0.5, 0.9, 0.95, 0.99, 0.9999, 1 - 1e-9):
            t = wait.quantile(p)
            if t > 0:
                assert wait.survival(t) == pytest.approx(1 - p, rel=1e-8)
        assert wait.survival(0.0) == pytest.approx(wait.probability_of_wait, rel=1e-12)


def test_time_scales():
    one = mphc(servers=5, service=COXIAN, utilization=0.8)
    slow = mphc(servers=5, service=COXIAN.scaled(60.0), utilization=0.8)
    assert slow.mean == pytest.approx(60 * one.mean, rel=1e-12)
    assert slow.second_moment == pytest.approx(3600 * one.second_moment, rel=1e-12)
    assert slow.p99 == pytest.approx(60 * one.p99, rel=1e-9)
    assert slow.survival(60.0) == pytest.approx(one.survival(1.0), rel=1e-9)


def test_more_stages_come_near_to_equal_services():
    equal = mdc(servers=2, mean_service=1.0, utilization=0.8).mean
    gaps = [
        mphc(servers=2, service=Erlang(stages=k, mean=1.0), utilization=0.8).mean / equal - 1
        for k in (5, 10, 20)
    ]
    assert gaps[0] > gaps[1] > gaps[2] > 0
    # the gap closes as one over the stages
    assert gaps[1] / gaps[2] == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("utilization", [0.05, 0.5, 0.99, 0.9999, 0.999999])
def test_first_passage_solves_its_equation(utilization):
    law = HyperExponential.lognormal_like(mean=1.0, scv=9.0).phase_type()
    between, ends = phase.saturated(law, 12)
    rate = 12 * utilization
    found = first_passage(arrival_rate=rate, between=between, ends=ends)
    miss = ends + (between - rate * np.eye(len(ends))) @ found + rate * found @ found
    assert np.abs(miss).max() < 1e-12
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


def test_levels_are_complete_and_ranked():
    for services, phases in ((0, 1), (1, 3), (4, 2), (5, 4)):
        here = phase.level(services, phases)
        assert here.size == phase.state_count(services=services, phases=phases)
        assert len({tuple(row) for row in here.counts}) == here.size
        assert (here.counts.sum(axis=1) == services).all()
        if services == 0:
            continue
        below = phase.level(services - 1, phases)
        for j, (rows, fewer) in enumerate(here.down):
            expected = here.counts[rows].copy()
            expected[:, j] -= 1
            np.testing.assert_array_equal(below.counts[fewer], expected)


def test_rates_balance():
    between, ends = phase.saturated(COXIAN, 6)
    np.testing.assert_allclose((between + ends).sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(phase.added(COXIAN, 6).sum(axis=1), 1.0)
    leave = phase.removed(COXIAN, 6) @ phase.added(COXIAN, 6)
    np.testing.assert_allclose(leave, ends, atol=1e-15)


def test_phases_of_weight_zero_do_not_matter():
    law = HyperExponential(weights=(0.0, 1.0), means=(9.0, 1.0))
    assert law.phase_type().phases == 1
    padded = PhaseType(initial=(1.0, 0.0), generator=((-1.0, 0.0), (0.0, -2.0)))
    wait = mphc(servers=4, service=padded, utilization=0.7)
    assert wait.mean == pytest.approx(mphc(servers=4, service=law, utilization=0.7).mean, rel=1e-12)


def test_gamma_of_whole_shape_is_erlang():
    gamma = mgc(servers=3, service=Gamma(mean=1.0, scv=1 / 3), utilization=0.8)
    erlang = mgc(servers=3, service=Erlang(stages=3, mean=1.0), utilization=0.8)
    assert gamma.error.kind == "exact"
    assert gamma.mean == erlang.mean


def test_errors():
    law = Erlang(stages=4, mean=1.0)
    with pytest.raises(InvalidValueError, match="phase-type"):
        mphc(servers=2, service=Lognormal(mean=1.0, scv=1.0), utilization=0.5)
    with pytest.raises(InvalidValueError, match=str(MOST_STATES)):
        mphc(servers=64, service=law, utilization=0.5)
    with pytest.raises(InvalidValueError):
        mphc(servers=1.5, service=law, utilization=0.5)
    with pytest.raises(UnstableError):
        mphc(servers=2, service=law, arrival_rate=3.0)
