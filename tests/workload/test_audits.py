"""Audits: bursts that share a prefix, growing conversations, and an unlimited cache."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcost.workload import Requests, burst_audit, even_burst, growing_sessions, sharing_audit
from kvcost.workload.chaining import chained_ids, is_chained


def requests_of(lists, times=None, **more):
    ids = [number for one in lists for number in one]
    return Requests(
        arrival=np.arange(len(lists), dtype=float) if times is None else np.array(times),
        prompt_tokens=np.array([max(len(one), 1) for one in lists]),
        output_tokens=np.ones(len(lists), dtype=np.int64),
        block_tokens=1,
        block_starts=np.cumsum([0] + [len(one) for one in lists]),
        block_ids=np.array(ids, dtype=np.int64),
        **more,
    )


def test_a_burst_is_found():
    burst = even_burst(requests=100, span=99.0, shared_tokens=1024)
    for within, largest in ((0.0, 1), (1.0, 2), (9.5, 10), (99.0, 100)):
        found = burst_audit(burst, min_shared_tokens=1000, within=within)
        assert (found.largest, found.largest_apart) == (largest, largest)
    # the suffixes are private
    assert burst_audit(burst, min_shared_tokens=1025, within=99.0).largest == 1


def test_turns_of_a_conversation_count_once():
    grown = requests_of([[0], [0, 1], [0, 1, 2], [0, 5]])
    assert growing_sessions(grown).tolist() == [0, 0, 0, 1]
    found = burst_audit(grown, min_shared_tokens=1, within=10.0)
    assert (found.largest, found.largest_apart) == (4, 2)


def test_recorded_sessions_come_first():
    said = requests_of([[0, 1], [0, 2], [0, 3]], session=[4, 4, -1])
    found = burst_audit(said, min_shared_tokens=1, within=10.0)
    assert (found.largest, found.largest_apart) == (3, 2)


def test_nothing_long_enough():
    found = burst_audit(requests_of([[0], []]), min_shared_tokens=5, within=1.0)
    assert (found.prefixes, found.largest) == (0, 0)


def test_without_prefixes_nothing_is_measurable():
    unknown = requests_of([[], []], has_blocks=False)
    assert burst_audit(unknown, min_shared_tokens=1, within=1.0).largest is None
    assert sharing_audit(unknown).hit_ratio is None
    assert "not measurable" in str(sharing_audit(unknown))
    assert "not measurable" in str(burst_audit(unknown, min_shared_tokens=1, within=1.0))


def alike(one, two):
    """Return how many leading entries two lists have in common."""
    pairs = zip(one, two, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


chats = st.lists(st.lists(st.integers(0, 2), max_size=5), min_size=1, max_size=12)


@given(lists=chats)
def test_chained_ids_share_what_the_contents_share(lists):
    starts = np.cumsum([0] + [len(one) for one in lists])
    flat = np.array([number for one in lists for number in one], dtype=np.int64)
    ids = chained_ids(starts, flat)
    assert is_chained(starts, ids)
    made = [ids[a:b].tolist() for a, b in itertools.pairwise(starts)]
    for (one, mine), (two, other) in itertools.combinations(zip(lists, made, strict=True), 2):
        assert alike(mine, other) == alike(one, two)


@given(lists=chats)
def test_hits_of_an_unlimited_cache(lists):
    starts = np.cumsum([0] + [len(one) for one in lists])
    flat = np.array([number for one in lists for number in one], dtype=np.int64)
    ids = chained_ids(starts, flat)
    made = [ids[a:b].tolist() for a, b in itertools.pairwise(starts)]
    held, hits = set(), 0
    for one in made:
        hits += sum(number in held for number in one)
        held.update(one)
    found = sharing_audit(requests_of(made))
    assert found.unique_blocks == len(held)
    assert found.blocks - found.unique_blocks == pytest.approx(hits)


@given(lists=chats, within=st.floats(0, 12))
def test_largest_burst_against_counting(lists, within):
    made = requests_of(
        [[10 * depth + number for depth, number in enumerate(one)][:1] for one in lists]
    )
    found = burst_audit(made, min_shared_tokens=1, within=within)
    best = 0
    for row in range(len(made)):
        near = [
            other
            for other in range(row, len(made))
            if made.arrival[other] <= made.arrival[row] + within + 1e-6
        ]
        firsts = [lists[other][0] for other in near if lists[other]]
        best = max([best, *(firsts.count(value) for value in firsts)])
    assert found.largest == best
