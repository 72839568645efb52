"""Requests as arrays: what they refuse, and how they are cut, stretched and merged."""

import dataclasses

import numpy as np
import pytest

from kvcost.errors import InvalidValueError
from kvcost.workload import Requests, decoys, even_burst, merge, window


def made(**changes):
    given = {
        "arrival": [0.0, 1.0, 4.0],
        "prompt_tokens": [40, 33, 20],
        "output_tokens": [1, 2, 300],
        "block_tokens": 16,
        "block_starts": [0, 2, 4, 4],
        "block_ids": [5, 6, 5, 9],
    }
    return Requests(**(given | changes))


def test_blocks_without_an_id_are_private():
    # 41 tokens fill 3 blocks of 16, 35 fill 3, 320 fill 20
    assert made().blocks.tolist() == [2, 2, 0]
    assert made().extra_blocks.tolist() == [1, 1, 20]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"arrival": [0.0, 2.0, 1.0]}, "arrival of row 2"),
        ({"arrival": [-1.0, 2.0, 3.0]}, "arrival"),
        ({"arrival": [0.0, 2.0, float("nan")]}, "arrival"),
        ({"prompt_tokens": [40, 0, 20]}, "prompt_tokens of row 1"),
        ({"prompt_tokens": [40, 33]}, "prompt_tokens"),
        ({"prompt_tokens": [40.5, 33, 20]}, "prompt_tokens"),
        ({"output_tokens": [1, 2, -3]}, "output_tokens of row 2"),
        ({"block_starts": [0, 3, 2, 4]}, "block_starts"),
        ({"block_starts": [0, 2, 4, 5]}, "block_starts"),
        ({"prompt_tokens": [16, 33, 20]}, "blocks of row 0"),
        ({"block_counts": [1, 0, 1, 1]}, "block_counts"),
        ({"has_blocks": False}, "has_blocks"),
        ({"group": [0, -1, -1]}, "group"),
        ({"block_tokens": 0}, "block_tokens"),
    ],
)
def test_refusals_name_field_and_row(changes, field):
    with pytest.raises(InvalidValueError) as caught:
        made(**changes)
    assert caught.value.field == field


def test_arrays_are_read_only_and_the_given_ones_stay_writable():
    arrival = np.array([0.0, 1.0, 4.0])
    requests = made(arrival=arrival)
    with pytest.raises(ValueError, match="read-only"):
        requests.arrival[0] = 1.0
    arrival[0] = 0.5


def test_take_and_head():
    assert made().head(2).block_ids.tolist() == [5, 6, 5, 9]
    last = made().take([2, 1])
    assert last.arrival.tolist() == [1.0, 4.0]
    assert last.block_ids.tolist() == [5, 9]
    assert last.block_starts.tolist() == [0, 2, 2]
    assert len(made().head(0)) == 0


def test_scaled_keeps_the_start_and_sets_the_rate():
    fast = made().shifted(seconds=3.0).scaled(rate=4.0)
    assert fast.rate == pytest.approx(4.0)
    assert fast.arrival[0] == 3.0
    with pytest.raises(InvalidValueError, match="one instant"):
        made(arrival=[1.0, 1.0, 1.0]).scaled(rate=1.0)


def test_expanded_has_one_id_a_block_and_shares_the_same():
    burst = even_burst(requests=3, span=2.0, shared_tokens=1024, suffix_tokens=512)
    wide = burst.expanded()
    assert wide.blocks.tolist() == burst.blocks.tolist() == [6, 6, 6]
    rows = wide.block_ids.reshape(3, 6)
    assert (rows[:, :4] == rows[0, :4]).all()
    assert np.unique(rows[:, 4:]).size == 6


def test_merge_keeps_parts_apart_unless_told():
    burst = even_burst(requests=2, span=2.0, shared_tokens=512)
    both = merge(burst, burst.shifted(seconds=0.5))
    assert both.arrival.tolist() == [0.0, 0.5, 2.0, 2.5]
    assert np.unique(both.block_ids).size == 6
    assert both.group.tolist() == [0, 1, 0, 1]
    same = merge(burst, burst.shifted(seconds=0.5), same_ids=True)
    assert np.unique(same.block_ids).size == 3


def test_merge_of_runs_and_single_blocks():
    burst = even_burst(requests=2, span=2.0, shared_tokens=512)
    mixed = merge(burst, burst.expanded())
    assert mixed.blocks.tolist() == [3, 3, 3, 3]
    assert mixed.block_counts.sum() == 12


def test_merge_refuses_what_does_not_go_together():
    burst = even_burst(requests=2, span=2.0, shared_tokens=512)
    with pytest.raises(InvalidValueError, match="block_tokens"):
        merge(burst, made())
    unknown = dataclasses.replace(
        burst, block_ids=[], block_counts=None, block_starts=[0, 0, 0], has_blocks=False
    )
    with pytest.raises(InvalidValueError, match="has_blocks"):
        merge(burst, unknown)


def test_merge_of_far_ids_and_sessions():
    one = made(block_ids=[10**17, 10**17 + 5, 10**17, 7], session=[3, -1, 10**15])
    both = merge(one, one)
    assert np.unique(both.block_ids).size == 6
    assert (both.session == -1).sum() == 2
    assert np.unique(both.session[both.session >= 0]).size == 4


def test_merge_undoes_the_parts_of_a_window():
    whole = window(bursts=2, burst_requests=50, decoys=10, rng=3)
    parts = [whole.take(whole.group < 2), whole.take(whole.group >= 2)]
    again = merge(*parts, same_ids=True)
    assert again.arrival.tolist() == whole.arrival.tolist()
    assert again.block_ids.tolist() == whole.block_ids.tolist()


def test_frame_and_summary():
    few = decoys(requests=3, low=1.0, high=2.0, shared_tokens=512, output_tokens=4, rng=1)
    frame = few.to_frame()
    assert frame["group"].tolist() == [few.names[i] for i in few.group]
    assert frame["blocks"].tolist() == [3, 3, 3]
    said = few.summary()
    assert (said.requests, said.prompt_tokens, said.output_tokens, said.groups) == (3, 768, 4, 3)
    assert made().summary().rate == pytest.approx(0.5)
