"""The named approximations keep the errors that their docstrings state, against exact waits."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from kvcost.queueing import Deterministic, Erlang, Exponential, HyperExponential, mgc
from kvcost.queueing.approximations import (
    allen_cunneen_wait,
    cosmetatos_deterministic_wait,
    cosmetatos_wait,
    kimura_wait,
    sakasegawa_wait,
)
from kvcost.queueing.formulas import mg1_mean_wait, mmc_mean_wait

LIGHT = (
    Deterministic(mean=1.0),
    Erlang(stages=2, mean=1.0),
    Exponential(mean=1.0),
)


def heavy(scv):
    return (
        HyperExponential.balanced(mean=1.0, scv=scv),
        HyperExponential.gamma_like(mean=1.0, scv=scv),
        HyperExponential.lognormal_like(mean=1.0, scv=scv),
    )


GROUPS = {"light": LIGHT, **{f"scv {scv}": heavy(float(scv)) for scv in (2, 4, 9)}}

STATED = {
    (allen_cunneen_wait, 64): {
        "light": (-0.34, 0),
        "scv 2": (0, 0.44),
        "scv 4": (0, 1.34),
        "scv 9": (0, 3.75),
    },
    (allen_cunneen_wait, 16): {"light": (-0.16, 0)},
    (cosmetatos_wait, 64): {
        "light": (-0.05, 0.01),
        "scv 2": (0, 0.26),
        "scv 4": (0, 0.83),
        "scv 9": (0, 2.55),
    },
    (cosmetatos_wait, 16): {"light": (-0.012, 0.012)},
    (kimura_wait, 64): {
        "light": (-0.05, 0.024),
        "scv 2": (-0.07, 0.16),
        "scv 4": (-0.22, 0.37),
        "scv 9": (-0.45, 0.85),
    },
    (kimura_wait, 16): {"light": (-0.014, 0.014)},
    (sakasegawa_wait, 16): {
        "light": (-0.03, 0.38),
        "scv 2": (0, 0.8),
        "scv 4": (0, 1.67),
        "scv 9": (0, 4.36),
    },
}


@cache
def exact(servers, utilization, law):
    return mgc(servers=servers, utilization=utilization, service=law).mean


def guessed(formula, servers, utilization, scv):
    more = {"arrival_scv": 1.0} if "arrival_scv" in formula.parameters else {}
    return formula(
        servers=servers, utilization=utilization, service_seconds=1.0, service_scv=scv, **more
    )


@pytest.mark.parametrize(("formula", "most"), STATED, ids=str)
def test_stated_errors_hold(formula, most):
    for group, (low, high) in STATED[formula, most].items():
        for servers in [c for c in (2, 5, 16, 64) if c <= most]:
            for utilization in (0.7, 0.85, 0.99):
                for law in GROUPS[group]:
                    truth = exact(servers, utilization, law)
                    error = guessed(formula, servers, utilization, law.scv) / truth - 1
                    assert low - 1e-9 <= error <= high + 1e-9, (servers, utilization, law.name)


def test_deterministic_service():
    for servers, low, high in ((16, -0.01, 0.01), (64, -0.05, 0.01)):
        for utilization in (0.7, 0.9, 0.99):
            truth = exact(servers, utilization, LIGHT[0])
            found = cosmetatos_deterministic_wait(
                servers=servers, utilization=utilization, service_seconds=1.0
            )
            assert low <= found / truth - 1 <= high


@pytest.mark.parametrize(
    "formula", [allen_cunneen_wait, cosmetatos_wait, kimura_wait, sakasegawa_wait], ids=str
)
def test_special_cases(formula):
    for scv in (0.0, 0.5, 4.0):
        one = mg1_mean_wait(utilization=0.8, service_seconds=1.0, service_scv=scv)
        assert guessed(formula, 1, 0.8, scv) == pytest.approx(one, rel=1e-12)
    if formula is not sakasegawa_wait:
        exponential = mmc_mean_wait(servers=7, utilization=0.8, service_seconds=1.0)
        assert guessed(formula, 7, 0.8, 1.0) == pytest.approx(exponential, rel=1e-12)
    assert guessed(formula, 7, 1.0, 2.0) == math.inf
    assert guessed(formula, 7, 0.0, 2.0) == 0.0
    assert math.isnan(guessed(formula, 7, 0.5, -1.0))


def test_a_map_is_one_call():
    servers = np.array([1.0, 8.0, 64.0])[:, None, None]
    utilization = np.linspace(0.1, 0.98, 5)[None, :, None]
    scv = np.array([0.0, 1.0, 4.0])
    found = kimura_wait(
        servers=servers, utilization=utilization, service_seconds=0.5, service_scv=scv
    )
    assert found.shape == (3, 5, 3)
    assert found[1, 2, 2] == pytest.approx(
        0.5 * guessed(kimura_wait, 8, float(utilization[0, 2, 0]), 4.0), rel=1e-12
    )
