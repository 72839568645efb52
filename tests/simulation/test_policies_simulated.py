"""Every policy on a simulated burst: what it must conserve, and the limits where two are one."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from kvcost.routing import view as rows
from kvcost.routing.policies.choosing import least
from kvcost.routing.policy import Policy
from kvcost.routing.registry import names, policy
from kvcost.simulation.cluster import layout as at
from kvcost.simulation.cluster.engine import execute
from kvcost.simulation.cluster.layout import Inputs

BLOCK = 256
PULLING = [name for name in names() if policy(name).pulls]


def _costs(*, copy_block=3e-4):
    """Costs near those of a 70B model on four accelerators."""
    costs = np.zeros(at.COSTS)
    costs[at.PREFILL_SLOPE] = 7.1e-5
    costs[at.STEP_FIXED], costs[at.STEP_TOKEN] = 1.3e-2, 3e-8
    costs[at.HOST_BLOCK], costs[at.COPY_BLOCK], costs[at.LAYERS] = 4e-4, copy_block, 80
    return costs


def _limits(**given):
    limits = np.zeros(at.LIMITS, dtype=np.int64)
    usual = {"KV_TOKENS": 540_000, "MAX_BATCH": 256, "BLOCK_TOKENS": BLOCK, "HBM_BLOCKS": 2100}
    usual |= {"HOST_BLOCKS": -1, "HOLD_TARGET": 1, "GATEWAYS": 1}
    for name, value in (usual | given).items():
        limits[getattr(at, name)] = value
    return limits


def _burst(
    found,
    arrival,
    *,
    given=None,
    replicas=4,
    shared=64,
    prompt=None,
    sessions=None,
    seed=0,
    lag=0.0,
    stale=0.0,
    output=1,
    copy_block=3e-4,
    **limits,
):
    """Run requests with a common prefix of so many blocks (0: none) and 256 tokens of their own."""
    found = policy(found) if isinstance(found, str) else found
    arrival = np.asarray(arrival, dtype=float)
    count, index = arrival.size, np.arange(arrival.size)
    requests = np.zeros((count, at.REQUEST), dtype=np.int64)
    requests[:, at.PROMPT] = (shared + 1) * BLOCK if prompt is None else prompt
    requests[:, at.COVERED] = requests[:, at.PROMPT] // BLOCK * BLOCK
    requests[:, at.OUTPUT] = output
    if shared:
        requests[:, at.FIRST], requests[:, at.LAST] = index, index + 1
        requests[:, at.KEY_LAST] = index + 1
    else:
        requests[:, at.KEY] = -1
    requests[:, at.ALONE] = -(-(requests[:, at.PROMPT] + output) // BLOCK) - shared
    requests[:, at.SESSION] = index if sessions is None else sessions
    values = found.values(given)
    if found.pulls:
        limits = {"PULL_BLOCKS": int(values["min_blocks"]), **limits}
    inputs = Inputs(
        arrival=arrival,
        requests=requests,
        segments=np.zeros(count if shared else 0, dtype=np.int64),
        lengths=np.array([shared] if shared else [], dtype=np.int64),
        costs=_costs(copy_block=copy_block),
        limits=_limits(**limits),
        draws=np.random.default_rng(seed).random((count, 2)),
        params=found.vector(given),
        delays=np.array([lag, stale]),
    )
    out, state = execute(found, inputs, replicas=replicas, keys=1 if shared else 0, sessions=count)
    return inputs, out, state


def _ttft(inputs, out):
    seconds = out.seconds
    return seconds[:, at.START] - inputs.arrival + seconds[:, at.LOADING] + seconds[:, at.PREFILL]


def _nodes(*args, **given):
    return _burst(*args, **given)[1].counts[:, at.NODE]


def _mean(*args, seeds=20, **given):
    means = []
    for seed in range(seeds):
        inputs, out, _ = _burst(*args, seed=seed, **given)
        means.append(_ttft(inputs, out).mean())
    return float(np.mean(means))


def _even(requests, span):
    return np.linspace(0, span, requests)


@cache
def _drawn(requests, span, seed=1):
    gaps = np.random.default_rng(seed).exponential(span / requests, requests - 1)
    return np.concatenate([[0.0], np.cumsum(gaps)])


@pytest.mark.parametrize("name", names())
def test_requests_are_conserved(name):
    inputs, out, state = _burst(name, _drawn(120, 10.0), output=8)
    assert (out.seconds[:, at.START] >= inputs.arrival).all()
    assert (out.seconds[:, at.FINISH] > out.seconds[:, at.START]).all()
    nodes = out.counts[:, at.NODE]
    assert ((nodes >= 0) & (nodes < 4)).all()
    assert state.table[rows.DONE] == pytest.approx(np.bincount(nodes, minlength=4))
    for row in (rows.LOAD, rows.WAITING, rows.RUNNING, rows.QUEUED, rows.CONTEXT, rows.KV_USE):
        assert not state.table[row].any()
    assert (out.counts[:, at.HIT] <= inputs.requests[:, at.COVERED]).all()
    assert (out.counts[:, at.HIT] == 0).sum() >= 1


@pytest.mark.parametrize("name", names())
def test_one_seed_is_one_answer_and_one_gateway_is_none(name):
    arrival = _drawn(60, 5.0)
    nodes = _nodes(name, arrival, seed=3)
    assert (nodes == _nodes(name, arrival, seed=3)).all()
    # an interval too short to matter takes the path of stale views
    assert (nodes == _nodes(name, arrival, seed=3, stale=1e-12)).all()


def test_queue_weight_alone_is_least_load():
    given = {"prefix_weight": 0, "kv_weight": 0}
    arrival = _drawn(200, 10.0)
    assert (_nodes("weighted_score", arrival, given=given) == _nodes("least_load", arrival)).all()


def test_prefix_weight_alone_is_an_affinity():
    given = {"queue_weight": 0, "kv_weight": 0}
    assert len(set(_nodes("weighted_score", _drawn(100, 10.0), given=given))) == 1


def _fewest_blocks(now, draws, facts, view, params, memory, orders):  # noqa: PLR0917
    for r in range(view.shape[1]):
        to_do = view[rows.WORK, r] / facts[rows.PREFILL_TOKEN] + view[rows.CONTEXT, r]
        memory[r] = to_do / facts[rows.BLOCK_TOKENS]
    return least(memory[: view.shape[1]], draws[0])


def test_kv_cost_without_sharing_is_least_blocks():
    blocks = Policy(
        name="fewest_blocks",
        summary="the fewest blocks to prefill and in use",
        rule=_fewest_blocks,
        source="this test",
        memory=lambda keys, sessions, replicas, params: replicas,
    )
    arrival = _drawn(80, 20.0)
    prompt = np.random.default_rng(5).integers(2000, 20_000, 80)
    found = _nodes("kv_cost", arrival, shared=0, prompt=prompt, output=20)
    assert (found == _nodes(blocks, arrival, shared=0, prompt=prompt, output=20)).all()
    assert len(set(found)) == 4


def test_kv_cost_at_a_high_temperature_is_random():
    nodes = _nodes("kv_cost", _drawn(400, 10.0), given={"temperature": 1e6})
    assert (nodes == _nodes("random", _drawn(400, 10.0))).all()


@pytest.mark.parametrize("name", PULLING)
def test_pulling_without_cost_is_as_if_all_were_warm(name):
    # the first four warm what they reach; the others come when all of them are done
    arrival = np.concatenate([np.zeros(4), 5 + _drawn(200, 2.0)])
    inputs, out, _ = _burst(name, arrival, copy_block=0.0)
    warm, all_warm, _ = _burst("least_load", arrival)
    assert len(set(all_warm.counts[:4, at.NODE])) == 4
    if name == "p2p_pull":
        assert (out.counts[4:, at.NODE] == all_warm.counts[4:, at.NODE]).all()
        assert _ttft(inputs, out)[4:] == pytest.approx(_ttft(warm, all_warm)[4:])
    assert (out.counts[:, at.HIT] == 0).sum() == 1
    assert out.seconds[4:, at.LOADING].max() == pytest.approx(0.0)


@pytest.mark.parametrize("name", PULLING)
def test_pulled_tokens_do_not_wait_to_be_computed(name):
    inputs, out, _ = _burst(name, _even(60, 0.5), replicas=2)
    pulled = out.counts[:, at.PULLED] * BLOCK
    assert (pulled > 0).any()
    to_do = inputs.requests[:, at.PROMPT] - pulled
    assert (out.counts[:, at.UNCACHED] <= to_do).all()


def test_pull_is_left_where_blocks_are_too_few():
    inputs, out, _ = _burst("p2p_pull", _even(40, 2.0), given={"min_blocks": 65})
    plain, least_load, _ = _burst("least_load", _even(40, 2.0))
    assert _ttft(inputs, out) == pytest.approx(_ttft(plain, least_load))


def test_bound_without_limit_is_consistent_hash():
    arrival = _drawn(100, 10.0)
    for salt in range(5):
        bounded = _nodes(
            "bounded_prefix_hash", arrival, given={"load_factor": np.inf, "salt": salt}
        )
        free = _nodes("consistent_hash", arrival, given={"by_prefix": 1, "salt": salt})
        assert (bounded == free).all()


def test_affinities_are_cache_aware_without_its_imbalance_test():
    arrival = _drawn(200, 10.0)
    wanted = _mean(
        "cache_aware", arrival, given={"balance_abs": 1e9, "cache_threshold": 0}, seeds=2
    )
    for name, given in (
        ("consistent_hash", {"by_prefix": 1}),
        ("sticky_until_saturated", {}),
        ("prefix_load_gate", {"imbalance_abs": 1e9, "deviations": 2}),
    ):
        assert _mean(name, arrival, given=given, seeds=2) == pytest.approx(wanted), name


def test_distinct_conversations_go_at_random_and_one_conversation_stays():
    arrival = _drawn(100, 10.0)
    assert (_nodes("session_affinity", arrival) == _nodes("random", arrival)).all()
    assert (
        _nodes("session_affinity", arrival, given={"assign": 1}) == _nodes("least_load", arrival)
    ).all()
    assert len(set(_nodes("session_affinity", arrival, sessions=0))) == 1
    assert len(set(_nodes("consistent_hash", arrival, sessions=0))) == 1


def test_gate_that_cannot_bind_is_cache_aware():
    # two deviations do not bind on four replicas; what is left is the gap of 16
    arrival = _even(300, 4.0)
    gate = _nodes("prefix_load_gate", arrival, given={"preset": "readme"})
    given = {"balance_abs": 16, "balance_rel": 1.5, "cache_threshold": 0}
    assert (gate == _nodes("cache_aware", arrival, given=given)).all()
    assert len(set(gate)) > 1


def test_kv_cost_lies_below_its_bound():
    arrival = _even(50, 5.0)
    found = _mean("kv_cost", arrival)
    bound = _mean("cache_aware", arrival, given={"balance_abs": 0, "cache_threshold": 0})
    assert 0.56 * bound <= found <= bound * (1 + 1e-9)


def test_stale_loads_send_a_whole_interval_to_one_replica():
    # polls at 0 and 1 s; at 1 s the first replica alone has work, which takes 1.2 s
    arrival = np.concatenate([[0.0], np.linspace(1.0, 1.9, 10), [5.0]])
    nodes = _nodes("least_load", arrival, replicas=2, stale=1.0)
    assert (nodes[1:11] == 1 - nodes[0]).all()
    fresh = _nodes("least_load", arrival, replicas=2)
    assert len(set(fresh[1:11])) == 2


def test_herding_grows_with_staleness():
    arrival = _even(500, 10.0)
    means = [_mean("least_load", arrival, stale=stale) for stale in (0.0, 0.2, 0.5, 1.0)]
    assert all(second > 1.02 * first for first, second in pairwise(means))


def test_siblings_within_the_lag_of_the_index_compute_again():
    arrival = _even(500, 60.0)
    given = {"cache_threshold": 0}

    def cold(lag):
        counts = [_burst("cache_aware", arrival, given=given, seed=s, lag=lag)[1].counts
                  for s in range(5)]  # fmt: skip
        return np.mean([(c[:, at.HIT] == 0).sum() for c in counts])

    assert cold(0.0) == 1
    assert 1 < cold(0.2) <= cold(1.0) <= 4
    assert cold(3.0) == 4


def test_gateways_loosen_the_imbalance_test():
    arrival = _even(500, 4.0)
    given = {"cache_threshold": 0, "balance_abs": 32}
    means = [_mean("cache_aware", arrival, given=given, seeds=5, GATEWAYS=g) for g in (1, 2, 4, 16)]
    assert all(second > 1.05 * first for first, second in pairwise(means[:3]))
    # sixteen see at most 500/16 = 31 each on average: as good as no test
    free = _mean("cache_aware", arrival, given={**given, "balance_abs": 1e9}, seeds=5)
    assert means[-1] == pytest.approx(free, rel=0.15)


def test_gateways_keep_their_own_memories():
    arrival = _even(400, 40.0)
    nodes = _nodes("round_robin", arrival, GATEWAYS=4)
    assert (nodes != np.arange(400) % 4).any()
    assert np.bincount(nodes, minlength=4) == pytest.approx(100, abs=8)
    # one conversation through four gateways has a place on each
    places = set(_nodes("session_affinity", arrival, sessions=0, GATEWAYS=4))
    assert 1 < len(places) <= 4


def test_gateways_see_their_own_requests_only():
    fresh = _mean("least_load", _even(500, 10.0))
    shared = _mean("least_load", _even(500, 10.0), GATEWAYS=8)
    assert shared > 1.01 * fresh
