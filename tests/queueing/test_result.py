"""What a result says of itself, and the checks of what is given."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from kvcost.errors import InvalidValueError, KvcostError, MissingFactError, UnstableError
from kvcost.queueing import ErrorClass, Wait, mmc
from kvcost.queueing.validation import finite, load_of, require_stable, whole


def test_a_result_without_a_distribution_says_so():
    wait = Wait(
        mean=None,
        mean_low=1.0,
        mean_high=2.0,
        probability_of_wait=None,
        method="two moments",
        error=ErrorClass(kind="range", relative=None, text="a range"),
    )
    for ask in (lambda: wait.p95, lambda: wait.survival(1.0)):
        with pytest.raises(MissingFactError, match="distribution"):
            ask()
    with pytest.raises(InvalidValueError):
        wait.quantile(95)
    assert wait.warnings == ()


def test_percentiles_by_name():
    wait = mmc(servers=3, mean_service=1.0, utilization=0.9)
    assert (wait.p50, wait.p95, wait.p99) == tuple(map(wait.quantile, (0.5, 0.95, 0.99)))
    assert wait.survival(0) == wait.probability_of_wait
    assert wait.survival(wait.p95) == pytest.approx(0.05)
    assert wait.error.text == "exact to 2e-13"


def test_load_from_either_side():
    load = load_of(servers=4, mean_service=0.5, arrival_rate=6)
    assert load.utilization == 0.75
    assert load.offered_load == 3.0
    assert load_of(servers=4, mean_service=0.5, utilization=0.75) == load


def test_what_counts_as_a_number():
    assert finite("x", np.float64(2.5), unit="s") == 2.5
    assert finite("x", Fraction(1, 2), unit="s") == 0.5
    assert finite("x", np.int64(3), unit="1") == 3.0
    assert whole("x", 8.0) == 8
    for bad in (True, "3", None, math.inf, 10**400, 1 + 1j):
        with pytest.raises(InvalidValueError):
            finite("x", bad, unit="s")
    for bad in (0, 2.5, -1):
        with pytest.raises(InvalidValueError):
            whole("x", bad)


def test_unstable():
    require_stable(servers=4, offered_load=3.999)
    with pytest.raises(UnstableError) as caught:
        require_stable(servers=4, offered_load=4.0)
    assert caught.value.servers_needed == 5
    assert caught.value.short_by == 0.0
    assert isinstance(caught.value, KvcostError)
    with pytest.raises(UnstableError):
        load_of(servers=1, mean_service=1.0, utilization=1.0)
