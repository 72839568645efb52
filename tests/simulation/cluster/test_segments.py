"""Segments of drawn prompts say the same as their block lists."""

import numpy as np
import pytest

from kvcost.errors import InvalidValueError
from kvcost.simulation.cluster import prepare
from kvcost.workload.requests import Requests


def _requests(lists, **given):
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids in lists])])
    size = len(lists)
    return Requests(
        arrival=np.arange(size, dtype=float),
        prompt_tokens=np.array([16 * max(len(ids), 1) for ids in lists]),
        output_tokens=np.ones(size, dtype=np.int64),
        block_tokens=16,
        block_starts=starts,
        block_ids=np.array([i for ids in lists for i in ids], dtype=np.int64),
        **given,
    )


def _drawn(rng, size, *, spread):
    """Paths in a random tree, whose nodes carry random numbers."""
    parents = [-1]
    names = rng.permutation(np.arange(1, 40 * size) * spread)
    lists = []
    for _ in range(size):
        path, node = [], int(rng.integers(len(parents)))
        while node >= 0:
            path.append(node)
            node = parents[node]
        path.reverse()
        for _ in range(int(rng.integers(0, 6))):
            parents.append(path[-1])
            path.append(len(parents) - 1)
        lists.append([int(names[node]) for node in path])
    return lists


@pytest.mark.parametrize("spread", [1, 1_000_003])
@pytest.mark.parametrize("seed", range(20))
def test_segments_cover_what_is_shared(seed, spread):
    rng = np.random.default_rng(seed)
    lists = _drawn(rng, 60, spread=spread)
    key_blocks = int(rng.integers(1, 6))
    prepared = prepare(_requests(lists), key_blocks=key_blocks)
    found = prepared.segments
    counts = {}
    for ids in lists:
        for block in ids:
            counts[block] = counts.get(block, 0) + 1
    for i, ids in enumerate(lists):
        own = found.ids[found.starts[i] : found.starts[i + 1]]
        shared = sum(counts[block] >= 2 for block in ids)
        assert found.lengths[own].sum() == shared
        assert found.alone[i] == len(ids) - shared
        key = found.ids[found.starts[i] : found.key_ends[i]]
        has = len(ids) >= key_blocks and counts[ids[key_blocks - 1]] >= 2
        assert (found.key[i] >= 0) == has
        assert found.lengths[key].sum() == (key_blocks if has else 0)
    # two prompts have exactly those leading segments in common whose blocks they share
    for i in range(0, 60, 3):
        for j in range(1, 60, 7):
            common = sum(a == b for a, b in zip(lists[i], lists[j], strict=False))
            mine = found.ids[found.starts[i] : found.starts[i + 1]].tolist()
            other = found.ids[found.starts[j] : found.starts[j + 1]].tolist()
            both = [a for a, b in zip(mine, other, strict=False) if a == b]
            if i != j:
                assert found.lengths[both].sum() == common
            same = found.key[i] >= 0 and found.key[i] == found.key[j]
            assert same == (
                found.key[i] >= 0
                and found.key[j] >= 0
                and lists[i][:key_blocks] == lists[j][:key_blocks]
            )


def test_runs_of_blocks_say_the_same_as_single_ids():
    runs = _requests([[0, 1], [0, 2], [3]])
    counted = Requests(
        arrival=np.arange(3.0),
        prompt_tokens=np.array([16 * 9, 16 * 12, 16 * 4]),
        output_tokens=np.ones(3, dtype=np.int64),
        block_tokens=16,
        block_starts=runs.block_starts,
        block_ids=runs.block_ids,
        block_counts=np.array([7, 2, 7, 5, 4]),
    )
    for key_blocks in (7, 3, 9, None):
        packed = prepare(counted, key_blocks=key_blocks)
        spread = prepare(counted.expanded(), key_blocks=key_blocks)
        assert np.array_equal(packed.table, spread.table)
        assert np.array_equal(packed.segments.lengths, spread.segments.lengths)


def test_ids_that_are_not_chained_are_refused():
    for wrong in ([7, 2, 3], [2, 1], [2], [1, 3], [1, 2, 9, 3], [1, 2, 3, 1]):
        with pytest.raises(InvalidValueError, match="block_ids of row 1"):
            prepare(_requests([[1, 2, 3], wrong]))
    with pytest.raises(InvalidValueError, match="block_ids of row 2"):
        prepare(_requests([[1, 2, 3], [7, 8, 9], [7, 8, 3]]))
    with pytest.raises(InvalidValueError, match="key_blocks"):
        prepare(_requests([[1]]), key_blocks=0)


def test_requests_without_blocks():
    prepared = prepare(_requests([[], [], []]))
    assert prepared.segments.ids.size == 0
    assert prepared.segments.keys == 0
