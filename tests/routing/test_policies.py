"""Each rule on small tables, against the choice that its published form makes by hand."""

import math

import numpy as np
import pytest

from kvcost.routing import view as rows
from kvcost.routing.policies.choosing import drawn, mixed, on_ring
from kvcost.routing.registry import policy


class Chooser:
    """A policy with its memory, asked request by request."""

    def __init__(self, name, *, keys=4, sessions=8, replicas=4, **given):
        self.policy = policy(name)
        self.params = self.policy.vector(given)
        self.memory = np.zeros(max(self.policy.memory(keys, sessions, replicas, self.params), 1))
        self.replicas = replicas

    def __call__(self, *, now=0.0, draws=(0.0, 0.5), facts=None, **table):
        view = np.zeros((rows.ROWS, self.replicas))
        for row, values in table.items():
            view[getattr(rows, row.upper())] = values
        known = np.zeros(rows.FACTS)
        known[[rows.KEY, rows.SESSION, rows.HEAD]] = -1
        defaults = {"prompt": 160, "covered": 160, "output": 1, "block_tokens": 16}
        defaults |= {"prefill_token": 1e-3, "copy_token": 1e-5, **(facts or {})}
        for fact, value in defaults.items():
            known[getattr(rows, fact.upper())] = value
        orders = np.zeros(self.replicas + 1, dtype=np.int64)
        return self.policy.rule(now, np.array(draws), known, view, self.params, self.memory, orders)


def test_mixed_words_are_spread_and_stay_in_32_bits():
    words = {mixed(k) for k in range(2000)}
    assert len(words) == 2000
    assert all(0 <= word < 2**32 for word in words)
    assert np.mean(list(words)) == pytest.approx(2**31, rel=0.05)


def test_ring_loses_only_the_keys_of_the_replica_that_leaves():
    for key in range(300):
        owner = on_ring(key, 5, 150, 7)
        if owner != 4:
            assert on_ring(key, 4, 150, 7) == owner


def test_ring_shares_are_near_even():
    shares = np.bincount([on_ring(key, 4, 150, 0) for key in range(4000)], minlength=4) / 4000
    # 150 points each: a share deviates by about 1/sqrt(150) of itself
    assert shares == pytest.approx(0.25, rel=4 / math.sqrt(150))


def test_drawn_follows_the_weights():
    weights = np.array([1.0, 0.0, 3.0])
    picks = [drawn(weights, (k + 0.5) / 400) for k in range(400)]
    assert [picks.count(r) for r in range(3)] == [100, 0, 300]
    assert [drawn(np.zeros(2), draw) for draw in (0.2, 0.8)] == [0, 1]


def test_consistent_hash_keeps_a_conversation_whatever_the_load():
    choose = Chooser("consistent_hash")
    owners = {choose(facts={"session": 3}, load=load) for load in ([0] * 4, [9, 9, 0, 9], range(4))}
    assert owners == {on_ring(3, 4, 150, 0)}
    assert [choose(draws=(draw, 0.0)) for draw in (0.1, 0.9)] == [0, 3]


@pytest.mark.parametrize(("own", "kept"), [(30, True), (35, False)])
def test_bounded_prefix_hash_bounds_the_owner(own, kept):
    # 100 in flight over 4: mean 25.25 with this request, bound 31.56 at 1.25
    choose = Chooser("bounded_prefix_hash")
    owner = on_ring(2, 4, 150, 0)
    rest = iter([100 - own - 50, 25, 25])
    load = [own if r == owner else next(rest) for r in range(4)]
    assert sum(load) == 100
    chosen = choose(facts={"head": 2, "head_tokens": 512}, load=load)
    assert chosen == (owner if kept else int(np.argmin(load)))


def test_bounded_prefix_hash_keeps_the_owner_when_none_is_acceptable():
    choose = Chooser("bounded_prefix_hash", load_factor=0)
    owner = on_ring(2, 4, 150, 0)
    assert choose(facts={"head": 2, "head_tokens": 512}, load=[3, 4, 5, 6]) == owner


def test_bounded_prefix_hash_names_prefixes_as_deep_as_asked():
    choose = Chooser("bounded_prefix_hash", prefix_tokens=1024)
    facts = {"head": 2, "head_tokens": 512, "key": 1}
    assert choose(facts=facts) == choose(facts={**facts, "head": 3})
    alone = {choose(facts={"index": i}) for i in range(40)}
    assert alone == {0, 1, 2, 3}


def test_session_affinity_sticks_and_forgets():
    choose = Chooser("session_affinity", idle=10)
    first = choose(now=0.0, draws=(0.6, 0.0), facts={"session": 5})
    assert first == 2
    assert choose(now=9.0, draws=(0.0, 0.0), facts={"session": 5}, load=[0, 0, 9, 0]) == 2
    assert choose(now=18.0, draws=(0.0, 0.0), facts={"session": 5}) == 2
    assert choose(now=28.0, draws=(0.0, 0.0), facts={"session": 5}) == 0
    assert choose(draws=(0.3, 0.0)) == 1


def test_session_affinity_assigns_by_load_or_by_conversations():
    by_load = Chooser("session_affinity", preset="min_load")
    assert by_load(facts={"session": 0}, load=[3, 1, 2, 2]) == 1
    by_group = Chooser("session_affinity", preset="min_group")
    placed = [by_group(facts={"session": k}, load=[3, 1, 2, 2]) for k in range(8)]
    assert np.bincount(placed).tolist() == [2, 2, 2, 2]


def test_kv_cost_weighs_cached_blocks_against_blocks_in_use():
    # 10 blocks of prompt; 8 cached on the first, which has 5 in use: 2 + 15 against 10 + 10
    table = {"match": [128, 0], "match_hbm": [128, 0], "context": [80, 0]}
    assert Chooser("kv_cost", replicas=2)(**table) == 0
    assert Chooser("kv_cost", replicas=2, preset="load_only")(**table) == 1
    # in host memory the 8 blocks count 6: 4 + 15 against 20; counted half, 6 + 15
    hosted = {**table, "match_hbm": [0, 0]}
    assert Chooser("kv_cost", replicas=2)(**hosted) == 0
    assert Chooser("kv_cost", replicas=2, host_credit=0.5)(**hosted) == 1


def test_kv_cost_counts_the_prefill_backlog_at_its_scale():
    # 0.1 s at 1 ms a token is 6.25 blocks: 2 + 6.25 + 10 on the first, 20 on the second
    table = {"match": [128, 0], "match_hbm": [128, 0], "work": [0.1, 0.0]}
    assert Chooser("kv_cost", replicas=2)(**table) == 0
    assert Chooser("kv_cost", replicas=2, request_weight=2)(**table, load=[1, 0]) == 1
    # credit halves at an excess of one prompt: 10 blocks are 0.16 s, 16 + 10 over 20 without decay
    table["work"] = [0.16, 0.0]
    late = {**table, "context": [0, 64]}
    assert Chooser("kv_cost", replicas=2)(**late) == 0
    assert Chooser("kv_cost", replicas=2, credit_decay=1)(**late) == 1


def test_kv_cost_floor_hides_what_a_credit_above_the_prompt_tells_apart():
    table = {"match": [160, 128], "match_hbm": [160, 128], "context": [16, 0]}
    assert Chooser("kv_cost", replicas=2, overlap_credit=1.5)(**table) == 1
    assert Chooser("kv_cost", replicas=2, overlap_credit=1.5, preset="no_floor")(**table) == 0


@pytest.mark.parametrize(("draw", "chosen"), [(0.73, 0), (0.732, 1)])
def test_kv_cost_temperature_is_a_softmax_of_scaled_costs(draw, chosen):
    # scaled costs are 0 and 1: the first has probability 1 / (1 + exp(-1)) = 0.7311
    table = {"match": [128, 0], "match_hbm": [128, 0], "context": [80, 0]}
    assert Chooser("kv_cost", replicas=2, temperature=1)(draws=(draw, 0.0), **table) == chosen


@pytest.mark.parametrize(("match", "chosen"), [(0.7, 0), (0.6, 1)])
def test_weighted_score_affinity_survives_a_gap_of_two_thirds(match, chosen):
    choose = Chooser("weighted_score", replicas=2)
    assert choose(match=[160 * match, 0], load=[1, 0]) == chosen


def test_weighted_score_precise_uses_the_share_of_the_busiest():
    choose = Chooser("weighted_score", replicas=3, preset="precise")
    # 2 + 4 * (1 - 2/4) = 4 against 4 * (1 - 1/4) = 3, and 0 for the busiest without a match
    assert choose(match=[160, 0, 0], load=[2, 1, 4]) == 0
    assert choose(match=[160, 0, 0], load=[3, 0, 4]) == 1


def test_weighted_score_draws_with_the_scores_as_weights():
    choose = Chooser(
        "weighted_score",
        replicas=2,
        prefix_weight=1,
        queue_weight=0,
        kv_weight=0,
        weighted_random=1,
    )
    picks = [choose(draws=((k + 0.5) / 100, 0.0), match=[120, 40]) for k in range(100)]
    assert picks.count(0) == 75


def test_weighted_score_can_count_what_the_engine_has_not_admitted():
    table = {"load": [5, 6], "waiting": [2, 0]}
    assert Chooser("weighted_score", replicas=2)(**table) == 0
    assert Chooser("weighted_score", replicas=2, queue_waiting=1)(**table) == 1


def test_sticky_holds_up_to_the_penalty_and_then_looks_at_all():
    # 18 s at 15,928 tokens a second are 286,704 tokens ahead
    choose = Chooser("sticky_until_saturated", replicas=3)
    table = {"match": [128, 0, 0]}
    assert choose(**table, work=[286.7, 0.0, 0.5]) == 0
    assert choose(**table, work=[286.8, 0.0, 0.5]) == 1
    assert choose(match=[127, 0, 0], work=[1.0, 0.0, 0.5]) == 1
    assert Chooser("sticky_until_saturated", replicas=3, penalty=0)(**table, work=[1e6, 0, 0]) == 0


def test_sticky_with_its_own_rate_compares_seconds():
    choose = Chooser("sticky_until_saturated", replicas=2, preset="calibrated", penalty=2)
    assert choose(match=[160, 0], work=[1.9, 0.0]) == 0
    assert choose(match=[160, 0], work=[2.1, 0.0]) == 1


def test_sticky_chooses_among_holders_and_explores():
    # with this request the third has 160 tokens to do
    table = {"match": [160, 160, 0], "work": [0.3, 0.2, 0.0], "load": [1, 2, 0]}
    assert Chooser("sticky_until_saturated", replicas=3)(**table) == 1
    by_requests = Chooser("sticky_until_saturated", replicas=3, preset="decode_bound")
    assert by_requests(**table) == 0
    explorer = Chooser("sticky_until_saturated", replicas=3, explore=0.3)
    assert [explorer(draws=(0.0, draw), **table) for draw in (0.29, 0.31)] == [2, 1]


@pytest.mark.parametrize(
    ("replicas", "preset", "load", "chosen"),
    [
        (3, "code", [2, 0, 0], "other"),  # mean 0.667 + deviation 1.155 lies below 2
        (2, "code", [8, 0], 0),  # two replicas: mean 4 + deviation 5.66
        (2, "code", [9, 0], "other"),  # a gap above 8
        (3, "readme", [16, 0, 0], 0),  # two deviations cannot bind on three
        (3, "readme", [17, 0, 0], "other"),
        (4, "relative", [8, 8, 0, 0], 0),  # largest 8 is not above 2 * (4 + 1)
        (4, "relative", [11, 0, 0, 0], "other"),  # 11 > 2 * (2.75 + 1), and far from the mean
    ],
)
def test_prefix_load_gate_skips_a_match_that_is_too_loaded(replicas, preset, load, chosen):
    choose = Chooser("prefix_load_gate", replicas=replicas, preset=preset)
    got = choose(match=[160] + [0] * (replicas - 1), load=load)
    assert (got != 0) if chosen == "other" else got == chosen


def test_prefix_load_gate_takes_the_next_match_within_the_bound():
    choose = Chooser("prefix_load_gate")
    assert choose(match=[160, 80, 0, 0], load=[6, 2, 0, 1]) == 1
    assert choose(match=[160, 160, 0, 0], load=[2, 1, 1, 1]) == 1
    relative = Chooser("prefix_load_gate", preset="relative")
    assert relative(match=[160, 0, 0, 80], load=[20, 0, 0, 0]) == 3


def test_lmetric_multiplies_tokens_and_requests():
    choose = Chooser("lmetric", replicas=2)
    facts = {"prompt": 1000, "covered": 1000}
    assert choose(facts=facts, match=[900, 0], load=[8, 0]) == 0  # 100 * 9 < 1000
    assert choose(facts=facts, match=[900, 0], load=[10, 0]) == 1  # 100 * 11 > 1000
    assert choose(facts=facts, match=[1000, 1000], load=[2, 1]) == 1
    pending = Chooser("lmetric", replicas=2, preset="aibrix")
    # (100 + 500) * 2 > 1000
    assert pending(facts=facts, match=[900, 0], load=[1, 0], work=[0.5, 0.0]) == 1


def test_preble_exploits_what_is_more_than_half_and_explores_otherwise():
    choose = Chooser("preble", replicas=3, rebalance_from=1000)
    assert choose(match=[0, 0, 0], draws=(0.5, 0.0)) == 1  # gives 0.16 s to replica 1
    assert choose(match=[0, 96, 0]) == 1  # 96 of 160: exploit
    # 64 of 160: explore. 0.160 + 0.064 so far plus 0.096 on the holder; 0 plus 0.160 elsewhere
    assert choose(match=[0, 64, 0]) == 0
    assert choose(match=[96, 96, 0]) == 0  # of two holders the one with less recent work


def test_preble_forgets_after_the_window():
    choose = Chooser("preble", replicas=2, window=180)
    assert choose(now=0.0) == 0
    assert choose(now=100.0, draws=(0.0, 0.0)) == 1
    assert choose(now=170.0, draws=(0.9, 0.0)) == 1  # both have 0.16 s: a tie
    assert choose(now=185.0, draws=(0.9, 0.0)) == 0  # what came at 0 is forgotten
    assert choose(now=1e6, draws=(0.9, 0.0)) == 1  # all is forgotten: a tie again


def test_preble_rebalances_a_holder_with_half_more_recent_work():
    eager = Chooser("preble", replicas=2, rebalance_from=1)
    assert eager(match=[0, 0]) == 0
    assert eager(match=[160, 0]) == 1  # 0.16 s against none
    lazy = Chooser("preble", replicas=2, preset="off")
    assert lazy(match=[0, 0]) == 0
    assert lazy(match=[160, 0]) == 0


def test_mooncake_counts_the_transfer_from_the_best_holder():
    choose = Chooser("mooncake_conductor", replicas=2)
    facts = {"prompt": 1000, "covered": 1000}
    table = {"match": [900, 0], "work": [1.0, 0.0]}
    assert choose(facts=facts, **table) == 1  # 0.009 + 0.1 against 1.0 + 0.1
    assert choose(facts={**facts, "copy_token": 2e-3}, **table) == 0  # 1.8 + 0.1
    assert choose(facts={**facts, "copy_fixed": 1.0}, **table) == 0


def test_mooncake_keeps_a_local_match_that_is_good_enough():
    facts = {"prompt": 1000, "covered": 1000}
    table = {"match": [900, 450], "work": [0.3, 0.0]}
    # ratio 2: fetched, 0.0045 + 0.1 against 0.3 + 0.1; below a threshold of 3, 0.55
    assert Chooser("mooncake_conductor", replicas=2)(facts=facts, **table) == 1
    assert (
        Chooser("mooncake_conductor", replicas=2, balancing_threshold=3)(facts=facts, **table) == 0
    )


def test_mooncake_prefill_is_quadratic_where_the_replica_is():
    facts = {"prompt": 1000, "covered": 1000, "prefill_token": 0, "prefill_square": 1e-6}
    # cached 900: 1 - 0.81 = 0.19 s; the other one would fetch at 0.5 ms a token
    choose = Chooser("mooncake_conductor", replicas=2)
    table = {"match": [900, 0], "work": [0.4, 0.0]}
    assert choose(facts={**facts, "copy_token": 5e-4}, **table) == 0
    assert choose(facts={**facts, "copy_token": 4e-4}, **table) == 1


def test_p2p_pull_chooses_by_load_or_by_work():
    table = {"load": [2, 1], "work": [0.1, 0.2], "match": [0, 160]}
    assert Chooser("p2p_pull", replicas=2)(**table) == 1
    assert Chooser("p2p_pull", replicas=2, by_work=1)(**table) == 0
    assert policy("p2p_pull").pulls
    assert policy("mooncake_conductor").pulls
