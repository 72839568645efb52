"""Each law's moments, tails and transforms against numerical integrals and samples."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from kvcost.errors import InvalidValueError
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
    PhaseType,
    ShiftedExponential,
    Uniform,
    Weibull,
)
from kvcost.queueing.service import require_finite_variance

LAWS = [
    Deterministic(mean=0.7),
    Exponential(mean=0.7),
    Erlang(stages=3, mean=0.7),
    Gamma(mean=0.7, scv=2.5),
    Gamma(mean=0.7, scv=0.4),
    ShiftedExponential(shift=0.2, mean=0.7),
    Uniform(low=0.1, high=1.3),
    Lognormal(mean=0.7, scv=4.0),
    Lognormal(mean=0.7, scv=0.05),
    Weibull(shape=0.5, mean=0.7),
    Weibull(shape=2.5, mean=0.7),
    BoundedPareto(exponent=1.5, low=0.1, high=60.0),
    BoundedPareto(exponent=1.0, low=0.1, high=10.0),
    Pareto(exponent=4.5, low=0.5),
    HyperExponential.balanced(mean=0.7, scv=4.0),
    PhaseType(initial=(0.5, 0.5), generator=((-3.0, 1.0), (0.5, -1.5))),
    Atoms(values=(2.0, 0.3, 0.3), weights=(1, 2, 1)),
    Empirical([0.2, 0.9, 0.4, 1.4]),
]
each = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def panels(law):
    """Return nodes and weights on a grid that is fine at every scale."""
    edges = np.concatenate([[0.0], np.geomspace(1e-9, 1e7, 800)]) * law.mean
    kinks = [getattr(law, name) for name in ("low", "high", "shift") if hasattr(law, name)]
    kinks += list(getattr(law, "values", ())) + list(getattr(law, "sorted_sample", ()))
    if isinstance(law, Deterministic):
        kinks.append(law.mean)
    edges = np.unique(np.concatenate([edges, kinks]))
    nodes, weights = np.polynomial.legendre.leggauss(10)
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + width * (nodes + 1) / 2).ravel(), (width * weights / 2).ravel()


@each
def test_moments_are_those_of_the_tail(law):
    x, w = panels(law)
    tail = law.survival(x)
    for k in (1, 2, 3):
        assert w @ (k * x ** (k - 1) * tail) == pytest.approx(
            law.moment(k), rel=2e-5 if isinstance(law, Pareto) else 1e-9
        )
    assert law.mean == law.moment(1) or law.mean == pytest.approx(law.moment(1), rel=1e-14)
    assert law.scv == pytest.approx(law.moment(2) / law.mean**2 - 1, rel=1e-9, abs=1e-12)


@each
def test_excess_is_the_area_beyond(law):
    x, w = panels(law)
    tail = law.survival(x)
    for a in (0.0, 0.3, 0.7, 1.35, 5.0):
        if a in getattr(law, "values", ()):
            continue
        beyond = float(law.stop_loss(a))
        area = w @ np.where(x > a, tail, 0.0)
        cell = 0.05 * (a + 1e-9)  # the panel that `a` cuts
        assert abs(area - beyond) <= cell * float(law.survival(a)) + 1e-9 * law.mean
    assert law.stop_loss(0.0) == pytest.approx(law.mean, rel=1e-12)
    assert law.equilibrium_survival(0.0) == pytest.approx(1.0, rel=1e-12)
    assert np.all(np.diff(law.stop_loss(np.linspace(0, 3, 50))) <= 1e-15)


@each
def test_transform_is_an_integral_of_the_tail(law):
    x, w = panels(law)
    tail = law.survival(x)
    for s in (0.3, 2.0, 20.0, 4.0 + 7.0j, 1.0 + 9.0j):
        truth = 1 - s * (w @ (np.exp(-s * x) * tail))
        assert complex(law.lst(s)) == pytest.approx(truth, rel=1e-8, abs=1e-10)
    many = law.lst(np.array([[0.3, 2.0], [1j, 5.0]]))
    assert many.shape == (2, 2)
    assert complex(law.lst(1e-9)) == pytest.approx(1.0, abs=1e-8)


@each
def test_samples_have_its_mean(law):
    rng = np.random.default_rng(11)
    sample = law.sample(rng, 40_000)
    assert sample.shape == (40_000,)
    assert sample.min() >= 0
    half = 4.5 * math.sqrt(law.scv / sample.size) * law.mean
    assert abs(sample.mean() - law.mean) <= half + 1e-12
    share = float(law.survival(law.mean))
    assert abs((sample > law.mean).mean() - share) <= 4.5 * math.sqrt(0.25 / sample.size) + (
        1.0 if isinstance(law, Deterministic) else 0.0
    )


@each
def test_scaling(law):
    long = law.scaled(3.0)
    assert type(long) is type(law)
    assert long.mean == pytest.approx(3 * law.mean, rel=1e-14)
    assert long.scv == pytest.approx(law.scv, rel=1e-9, abs=1e-12)
    assert long.survival(1.8) == pytest.approx(law.survival(0.6), rel=1e-12)


@each
def test_laws_are_values(law):
    again = pickle.loads(pickle.dumps(law))
    assert again == law
    assert hash(again) == hash(law)
    assert law != law.scaled(2.0)
    assert law != "law"
    assert type(law).__name__ in repr(law)
    with pytest.raises(AttributeError, match="does not change"):
        law.mean_of = 3


@each
def test_phase_type_is_the_same_law(law):
    found = law.phase_type()
    if found is None:
        return
    x = np.array([0.0, 0.2, 1.0, 4.0])
    np.testing.assert_allclose(found.survival(x), law.survival(x), rtol=1e-11)
    np.testing.assert_allclose(found.stop_loss(x), law.stop_loss(x), rtol=1e-11)
    assert found.decay_limit == pytest.approx(law.decay_limit, rel=1e-9)
    assert found.phase_type() is found


def test_exponential_moments():
    for law in LAWS:
        if law.decay_limit == 0:
            assert law.mgf(0.1) == math.inf
            continue
        theta = min(0.4 * law.decay_limit, 0.05)
        series = 1 + sum(theta**k * law.moment(k) / math.factorial(k) for k in range(1, 60))
        assert law.mgf(theta) == pytest.approx(series, rel=1e-9)
        if math.isfinite(law.decay_limit):
            assert law.mgf(law.decay_limit) == math.inf


def test_skewness():
    assert Exponential(mean=3.0).skewness == pytest.approx(2.0)
    assert Erlang(stages=4, mean=3.0).skewness == pytest.approx(1.0)
    assert Uniform(low=0.0, high=1.0).skewness == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(Deterministic(mean=1.0).skewness)
    assert math.isnan(Pareto(exponent=1.5, low=1.0).skewness)


def test_matched_moments():
    for scv in (1.5, 2.0, 4.0, 9.0, 60.0):
        gamma = HyperExponential.gamma_like(mean=0.3, scv=scv)
        lognormal = HyperExponential.lognormal_like(mean=0.3, scv=scv)
        for k in (1, 2, 3):
            assert gamma.moment(k) == pytest.approx(Gamma(mean=0.3, scv=scv).moment(k), rel=1e-10)
            assert lognormal.moment(k) == pytest.approx(
                Lognormal(mean=0.3, scv=scv).moment(k), rel=1e-10
            )
        balanced = HyperExponential.balanced(mean=0.3, scv=scv)
        work = [w * m for w, m in zip(balanced.weights, balanced.means, strict=True)]
        assert work[0] == pytest.approx(work[1])
        assert balanced.scv == pytest.approx(scv)


def test_infinite_variance_is_refused_with_a_reason():
    with pytest.raises(InvalidValueError, match="finite variance"):
        require_finite_variance(Pareto(exponent=1.9, low=1.0))
    require_finite_variance(Pareto(exponent=2.1, low=1.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exponential(mean=0.0),
        lambda: Exponential(mean=math.nan),
        lambda: Deterministic(mean=-1.0),
        lambda: Erlang(stages=0, mean=1.0),
        lambda: Erlang(stages=2.5, mean=1.0),
        lambda: Gamma(mean=1.0, scv=0.0),
        lambda: Gamma(mean=1.0, scv=math.inf),
        lambda: ShiftedExponential(shift=1.0, mean=1.0),
        lambda: ShiftedExponential(shift=-0.1, mean=1.0),
        lambda: Uniform(low=2.0, high=1.0),
        lambda: Lognormal(mean=1.0, scv=-1.0),
        lambda: Weibull(shape=0.0, mean=1.0),
        lambda: BoundedPareto(exponent=1.5, low=2.0, high=1.0),
        lambda: BoundedPareto(exponent=1.5, low=0.0, high=1.0),
        lambda: Pareto(exponent=1.0, low=1.0),
        lambda: HyperExponential(weights=(), means=()),
        lambda: HyperExponential(weights=(1.0,), means=(1.0, 2.0)),
        lambda: HyperExponential(weights=(0.0, 0.0), means=(1.0, 2.0)),
        lambda: HyperExponential.balanced(mean=1.0, scv=0.5),
        lambda: HyperExponential.three_moments(mean=1.0, scv=4.0, third=37.0),
        lambda: HyperExponential.three_moments(mean=1.0, scv=1.0, third=6.0),
        lambda: PhaseType(initial=(), generator=()),
        lambda: PhaseType(initial=(1.0,), generator=((-1.0, 1.0),)),
        lambda: PhaseType(initial=(0.5,), generator=((-1.0,),)),
        lambda: PhaseType(initial=(1.0,), generator=((1.0,),)),
        lambda: PhaseType(initial=(1.0, 0.0), generator=((-1.0, 1.0), (0.0, 0.0))),
        lambda: PhaseType(initial=(1.0, 0.0), generator=((-1.0, -1.0), (0.0, -1.0))),
        lambda: Atoms(values=(), weights=()),
        lambda: Atoms(values=(1.0,), weights=(1.0, 2.0)),
        lambda: Atoms(values=(0.0,), weights=(1.0,)),
        lambda: Atoms(values=(-1.0,), weights=(1.0,)),
        lambda: Atoms(values=(1.0,), weights=(0.0,)),
        lambda: Empirical([]),
        lambda: Empirical([1.0, math.nan]),
        lambda: Empirical(np.array([1.0, -2.0])),
        lambda: Empirical([0.0]),
    ],
)
def test_bad_laws_are_refused(make):
    with pytest.raises(InvalidValueError) as caught:
        make()
    assert caught.value.remedy
