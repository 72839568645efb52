"""The fast cluster against one that keeps block lists, on drawn workloads."""

import numpy as np
import pytest

from kvcost.routing.policies import cache_aware, least_load
from kvcost.simulation.cluster import layout as at
from kvcost.simulation.cluster.engine import execute
from kvcost.simulation.cluster.layout import Inputs

from .blocks import Costs, Job, run


def _families(rng, *, count):
    """Chains of segments: each family continues another one's prefix or starts anew."""
    lengths = rng.integers(1, 6, count)
    parents = np.array([rng.integers(-1, k) if k else -1 for k in range(count)])
    chains = []
    for k in range(count):
        chains.append([*(chains[parents[k]] if parents[k] >= 0 else []), k])
    return lengths, chains


def _workload(seed, *, host_blocks):
    rng = np.random.default_rng(seed)
    lengths, chains = _families(rng, count=8)
    requests, block = 300, 16
    costs = Costs(
        slope=1e-3,
        step_fixed=2e-3,
        step_token=1e-6,
        host_block=rng.choice([1e-3, 8e-3, 3e-2]),
        kv_tokens=int(rng.integers(900, 3000)),
        max_batch=int(rng.integers(2, 9)),
        block=block,
        hbm_blocks=int(rng.integers(12, 60)),
        host_blocks=host_blocks,
        fixed=rng.choice([0.0, 5e-4]),
        quadratic=rng.choice([0.0, 1e-7]),
    )
    arrival = np.cumsum(rng.exponential(0.05, requests))
    jobs = []
    for i in range(requests):
        chain = chains[rng.integers(len(chains))] if rng.random() < 0.8 else []
        blocks = [(segment, j) for segment in chain for j in range(lengths[segment])]
        tail = int(rng.integers(0, 40))
        prompt = len(blocks) * block + max(tail, 1)
        output = int(rng.integers(1, 30))
        named = blocks + [("own", i, j) for j in range(max(tail, 1) // block)]
        extra = -(-(prompt + output) // block) - len(named)
        private = [("rest", i, j) for j in range(extra)]
        jobs.append(Job(float(arrival[i]), prompt, output, named, private))
        jobs[-1].chain = chain
        jobs[-1].shared = len(blocks)
    return rng, lengths, costs, jobs


def _inputs(lengths, costs, jobs, draws, params):
    requests = np.zeros((len(jobs), at.REQUEST), dtype=np.int64)
    segments = []
    for row, job in zip(requests, jobs, strict=True):
        row[at.PROMPT], row[at.OUTPUT] = job.prompt, job.output
        row[at.COVERED] = min(len(job.blocks) * costs.block, job.prompt)
        row[at.FIRST] = row[at.KEY_LAST] = len(segments)
        segments += job.chain
        row[at.LAST] = len(segments)
        row[at.ALONE] = len(job.blocks) - job.shared + len(job.private)
        row[at.KEY] = row[at.SESSION] = -1
    seconds = np.zeros(at.COSTS)
    seconds[at.PREFILL_FIXED], seconds[at.PREFILL_SLOPE] = costs.fixed, costs.slope
    seconds[at.PREFILL_QUADRATIC] = costs.quadratic
    seconds[at.STEP_FIXED], seconds[at.STEP_TOKEN] = costs.step_fixed, costs.step_token
    seconds[at.HOST_BLOCK], seconds[at.LAYERS] = costs.host_block, 1
    limits = np.zeros(at.LIMITS, dtype=np.int64)
    limits[at.KV_TOKENS], limits[at.MAX_BATCH] = costs.kv_tokens, costs.max_batch
    limits[at.BLOCK_TOKENS], limits[at.HBM_BLOCKS] = costs.block, costs.hbm_blocks
    limits[at.HOST_BLOCKS], limits[at.GATEWAYS] = costs.host_blocks, 1
    return Inputs(
        arrival=np.array([job.arrival for job in jobs]),
        requests=requests,
        segments=np.array(segments, dtype=np.int64),
        lengths=np.asarray(lengths, dtype=np.int64),
        costs=seconds,
        limits=limits,
        draws=draws,
        params=params,
        delays=np.zeros(2),
    )


def _least(loads, draw):
    best = [r for r, load in enumerate(loads) if load == min(loads)]
    return best[int(draw * len(best))]


@pytest.mark.parametrize("host_blocks", [-1, 0, 20])
@pytest.mark.parametrize("seed", range(12))
def test_equals_block_lists(seed, host_blocks):
    rng, lengths, costs, jobs = _workload(seed, host_blocks=host_blocks)
    draws = rng.random((len(jobs), 2))
    replicas = int(rng.integers(1, 4))

    if seed % 2:
        policy = least_load.POLICY

        def choose(i, job, loads, matches):
            return _least(loads, draws[i, 0])
    else:
        policy = cache_aware.POLICY

        def choose(i, job, loads, matches):
            if max(loads) > 64 and max(loads) > 1.5 * min(loads):
                return _least(loads, draws[i, 0])
            tokens = [min(n * costs.block, job.prompt) for n in matches]
            if max(tokens) == 0 or max(tokens) < 0.3 * job.prompt:
                return _least(loads, draws[i, 0])
            longest = [loads[r] if tokens[r] == max(tokens) else np.inf for r in range(len(tokens))]
            return _least(longest, draws[i, 0])

    inputs = _inputs(lengths, costs, jobs, draws, policy.vector())
    out, _ = execute(policy, inputs, replicas=replicas, keys=0, sessions=0)
    run(jobs, costs, replicas=replicas, choose=choose)
    assert out.counts[:, at.NODE].tolist() == [job.replica for job in jobs]
    assert out.counts[:, at.HIT].tolist() == [job.hit for job in jobs]
    for column, name in ((at.START, "start"), (at.LOADING, "load"), (at.FINISH, "finish")):
        expected = [getattr(job, name) for job in jobs]
        np.testing.assert_allclose(out.seconds[:, column], expected, rtol=1e-9, atol=1e-9)
    assert sum(job.hit > 0 for job in jobs) > 30
    if host_blocks:
        assert any(job.load > 0 for job in jobs)
