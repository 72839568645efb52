"""M/G/1: two inversions against each other, exact laws and a renewal equation."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from kvcost.errors import InvalidValueError, UnstableError
from kvcost.queueing import (
    Atoms,
    BoundedPareto,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    Lognormal,
    Pareto,
    ShiftedExponential,
    Uniform,
    Weibull,
    formulas,
    gimc,
    mdc,
    mg1,
    mgc,
    mmc,
    tail_rate,
)
from kvcost.queueing.renewal import renewal_root
from kvcost.queueing.single import LatticeWait, TransformWait

SMOOTH = [
    Gamma(mean=1.0, scv=3.0),
    Gamma(mean=1.0, scv=0.3),
    Lognormal(mean=1.0, scv=4.0),
    Lognormal(mean=1.0, scv=0.3),
    Weibull(shape=0.6, mean=1.0),
    Weibull(shape=2.0, mean=1.0),
]
KINKED = [
    Uniform(low=0.0, high=2.0),
    ShiftedExponential(shift=0.5, mean=1.0),
    BoundedPareto(exponent=1.5, low=0.3, high=60.0),
    Pareto(exponent=3.5, low=0.5),
    Atoms(values=(0.4, 2.0), weights=(0.7, 0.3)),
    Empirical(np.random.default_rng(5).gamma(2.0, 0.5, 300)),
]


def by_name(law):
    return law.name


@pytest.mark.parametrize("law", SMOOTH, ids=by_name)
@pytest.mark.parametrize("utilization", [0.4, 0.9])
def test_two_inversions_agree(law, utilization):
    euler = TransformWait(service=law, arrival_rate=utilization / law.mean)
    lattice = LatticeWait(service=law, arrival_rate=utilization / law.mean)
    for p in (0.8, 0.95, 0.99):
        assert euler.quantile(p) == pytest.approx(lattice.quantile(p), rel=2e-6)


@pytest.mark.parametrize("law", KINKED, ids=by_name)
def test_two_inversions_are_near_where_the_law_has_kinks(law):
    euler = TransformWait(service=law, arrival_rate=0.8 / law.mean)
    lattice = LatticeWait(service=law, arrival_rate=0.8 / law.mean)
    for t in (0.5, 2.2, 6.1, 14.3):
        assert euler.survival(t) == pytest.approx(lattice.survival(t), abs=2e-4)


@pytest.mark.parametrize("utilization", [0.3, 0.8, 0.98])
@pytest.mark.parametrize(
    "law",
    [
        Exponential(mean=1.0),
        Erlang(stages=3, mean=1.0),
        HyperExponential.balanced(mean=1.0, scv=4.0),
    ],
    ids=by_name,
)
def test_inversions_against_exact_laws(law, utilization):
    exact = mg1(service=law, utilization=utilization)
    euler = TransformWait(service=law, arrival_rate=utilization)
    lattice = LatticeWait(service=law, arrival_rate=utilization)
    for t in (0.1, 1.0, 5.0, 30.0):
        assert euler.survival(t) == pytest.approx(exact.survival(t), abs=2e-8)
        assert lattice.survival(t) == pytest.approx(exact.survival(t), abs=1e-6)
    for p in (0.8, 0.95, 0.999):
        assert lattice.quantile(p) == pytest.approx(exact.quantile(p), rel=1e-6)


@pytest.mark.parametrize("law", SMOOTH + KINKED, ids=by_name)
def test_waits_solve_their_renewal_equation(law):
    """``P(W > t) = rho P(R > t) + rho E[P(W > t - R); R <= t]``, R the rest of a service."""
    wait = mg1(service=law, utilization=0.7)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    for t in (0.6, 2.3):
        edges = np.linspace(0, t, 41)
        width = np.diff(edges)[:, None]
        x = (edges[:-1, None] + width * (nodes + 1) / 2).ravel()
        w = (width * weights / 2).ravel()
        density = law.survival(x) / law.mean
        later = np.array([wait.survival(t - u) for u in x])
        right = 0.7 * (float(law.equilibrium_survival(t)) + w @ (density * later))
        assert wait.survival(t) == pytest.approx(right, abs=2e-3 * law.scv + 1e-3)


@pytest.mark.parametrize("law", SMOOTH + KINKED, ids=by_name)
def test_mean_is_the_formula_and_the_area(law):
    wait = mg1(service=law, utilization=0.6)
    assert wait.mean == pytest.approx(
        formulas.mg1_mean_wait(utilization=0.6, service_seconds=law.mean, service_scv=law.scv),
        rel=1e-12,
    )
    assert wait.probability_of_wait == 0.6
    if law.decay_limit == 0:
        return
    t = np.linspace(0, 40 * wait.mean, 4001)
    tail = np.array([wait.survival(x) for x in t])
    assert np.trapezoid(tail, t) == pytest.approx(wait.mean, rel=2e-4)
    assert np.trapezoid(2 * t * tail, t) == pytest.approx(wait.second_moment, rel=5e-4)


def test_quantiles_without_waiting():
    for law in (Gamma(mean=1.0, scv=3.0), Lognormal(mean=1.0, scv=2.0)):
        assert mg1(service=law, utilization=0.4).quantile(0.5) == 0.0
        assert mg1(service=law, utilization=0.4).quantile(0.6) == 0.0
        assert mg1(service=law, utilization=0.4).quantile(0.61) > 0


def test_far_tails_fall_at_their_rate():
    law = Uniform(low=0.5, high=1.5)
    wait = mg1(service=law, utilization=0.5)
    rate = tail_rate(servers=1, service=law, utilization=0.5)
    assert math.log(wait.survival(5.0) / wait.survival(6.0)) == pytest.approx(rate, rel=1e-3)
    far = LatticeWait(service=law, arrival_rate=0.5)
    assert far.survival(30.0) < 1e-8


def test_tail_rates():
    assert tail_rate(servers=3, service=Lognormal(mean=1.0, scv=1.0), utilization=0.5) == 0.0
    for utilization in (0.01, 0.5, 0.99, 0.9999):
        rate = tail_rate(servers=5, service=Exponential(mean=2.0), utilization=utilization)
        assert rate == pytest.approx(5 * (1 - utilization) / 2, rel=1e-9)
    late = tail_rate(servers=2, service=Deterministic(mean=1.0), arrival_rate=1.9)
    assert 1.9 * math.expm1(late / 2) == pytest.approx(late, rel=1e-12)


def test_infinite_variance_is_refused():
    with pytest.raises(InvalidValueError, match="finite variance"):
        mg1(service=Pareto(exponent=1.8, low=1.0), utilization=0.5)
    with pytest.raises(InvalidValueError, match="finite variance"):
        mgc(servers=4, service=Pareto(exponent=1.8, low=1.0), utilization=0.5)
    with pytest.raises(UnstableError):
        mg1(service=Gamma(mean=1.0, scv=2.0), utilization=1.0)


def test_dispatch_names_its_method():
    assert mgc(servers=2.5, service=Exponential(mean=1.0), utilization=0.5).method.startswith("M/M")
    assert mgc(servers=2, service=Deterministic(mean=1.0), utilization=0.5).method.startswith("M/D")
    two = mgc(servers=2, service=Erlang(stages=2, mean=1.0), utilization=0.5)
    assert two.method.startswith("M/PH/c")
    assert mgc(servers=1, service=Uniform(low=0.0, high=1.0), utilization=0.5).method.startswith(
        "M/G/1"
    )
    with pytest.raises(InvalidValueError):
        mgc(servers=2.5, service=Deterministic(mean=1.0), utilization=0.5)


def test_results_are_values():
    for wait in (
        mmc(servers=2, mean_service=1.0, utilization=0.5),
        mdc(servers=2, mean_service=1.0, utilization=0.5),
        mgc(servers=2, service=Erlang(stages=2, mean=0.5), utilization=0.5),
        mg1(service=Lognormal(mean=1.0, scv=2.0), utilization=0.5),
    ):
        again = pickle.loads(pickle.dumps(wait))
        assert again == wait
        assert again.p95 == pytest.approx(wait.p95, rel=1e-12)
        assert wait.p50 <= wait.p95 <= wait.p99


@pytest.mark.parametrize("utilization", [0.05, 0.5, 0.75, 0.999])
@pytest.mark.parametrize("servers", [1, 2, 4, 32])
def test_poisson_gaps_are_the_exponential_queue(servers, utilization):
    gaps = Exponential(mean=1 / (servers * utilization))
    wait = gimc(servers=servers, gaps=gaps, mean_service=1.0)
    same = mmc(servers=servers, mean_service=1.0, utilization=utilization)
    assert wait.mean == pytest.approx(same.mean, rel=1e-10)
    assert wait.probability_of_wait == pytest.approx(same.probability_of_wait, rel=1e-10)
    assert wait.p99 == pytest.approx(same.p99, rel=1e-9, abs=1e-12)


def test_renewal_gaps():
    """Equal gaps: sigma solves ``sigma = exp(-(1 - sigma) / rho)``; and a simulated queue."""
    sigma = renewal_root(gaps=Deterministic(mean=1.0), rate=1.25)
    assert sigma == pytest.approx(math.exp(-(1 - sigma) * 1.25), rel=1e-12)
    wait = gimc(servers=1, gaps=Deterministic(mean=1.0), mean_service=0.8)
    assert wait.probability_of_wait == pytest.approx(sigma, rel=1e-10)
    rng = np.random.default_rng(8)
    steps = rng.exponential(0.8, (400, 3000)) - 1.0
    waits = np.zeros(400)
    total = np.zeros(400)
    for column in steps.T:
        waits = np.maximum(waits + column, 0.0)
        total += waits
    means = total / steps.shape[1]
    assert abs(means.mean() - wait.mean) < 4 * means.std() / 20 + 0.01 * wait.mean
    with pytest.raises(UnstableError):
        gimc(servers=1, gaps=Deterministic(mean=1.0), mean_service=1.0)
