import datetime
import itertools
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcost.errors import InvalidValueError
from kvcost.facts import Fact, Provenance, weakest

GRADES = st.lists(st.sampled_from(list(Provenance)), min_size=1)


def fact(**changes):
    stated = {
        "value": 80e9,
        "unit": "byte",
        "source": "data sheet",
        "date": datetime.date(2026, 11, 29),
        "provenance": Provenance.DATA_SHEET,
    }
    return Fact(**{**stated, **changes})


def test_the_three_grades_and_their_order():
    assert [grade.value for grade in sorted(Provenance)] == ["assumed", "data sheet", "measured"]


@given(GRADES)
def test_the_weakest_is_a_lower_bound_that_is_reached(grades):
    found = weakest(*grades)
    assert found in grades
    assert all(found <= grade for grade in grades)


@given(GRADES, GRADES)
def test_the_weakest_of_parts_is_the_weakest_of_all(left, right):
    assert weakest(weakest(*left), weakest(*right)) is weakest(*left, *right)


def test_facts_and_grades_mix():
    assert weakest(fact(), Provenance.MEASURED) is Provenance.DATA_SHEET


def test_nothing_has_no_provenance():
    with pytest.raises(InvalidValueError, match="items"):
        weakest()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "80 GB", None])
def test_a_fact_is_a_finite_number(value):
    with pytest.raises(InvalidValueError) as caught:
        fact(value=value)
    assert caught.value.field == "value"


@pytest.mark.parametrize(
    ("field", "value"), list(itertools.product(["unit", "source"], ["", " ", None]))
)
def test_a_fact_has_unit_and_source(field, value):
    with pytest.raises(InvalidValueError) as caught:
        fact(**{field: value})
    assert caught.value.field == field


def test_a_fact_has_a_date():
    with pytest.raises(InvalidValueError, match="date"):
        fact(date="2026-11-29")


def test_facts_and_grades_survive_pickling():
    assert pickle.loads(pickle.dumps(fact())) == fact()
    assert pickle.loads(pickle.dumps(Provenance.ASSUMED)) is Provenance.ASSUMED
