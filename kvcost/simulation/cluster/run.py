"""Run requests on a cluster under a routing policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import CapacityError, InvalidValueError
from kvcost.routing import registry
from kvcost.scenario import schema as of
from kvcost.scenario.parts import BehaviourPart
from kvcost.simulation.cluster import layout as at
from kvcost.simulation.cluster.engine import execute, made
from kvcost.simulation.cluster.layout import Inputs
from kvcost.simulation.cluster.record import ClusterRun
from kvcost.simulation.cluster.segments import Segments, UnchainedError, segment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from kvcost.scenario.costs import ReplicaCosts
    from kvcost.simulation.cluster.layout import State
    from kvcost.workload import Requests

__all__ = ["Behaviour", "Prepared", "prepare", "simulate_requests"]

_UNLIMITED = 2**60


@dataclass(frozen=True, kw_only=True)
class Behaviour(BehaviourPart):
    """How replicas, router and network behave, beside what things cost.

    Attributes
    ----------
    copies : str
        ``holds_target``: a replica computes nothing while it receives. ``nic``: a copy keeps the
        outgoing side of its source and the incoming side of its target busy, and both compute on.
    pipelined_layers : int
        Layers by which a copy follows the prefill, so that it is there one layer's time after it; 0
        for copies that start when all is computed.
    visibility, index_visibility, copy_visibility, loads, index_lag, load_staleness, gateways
        As `BehaviourPart` has them.
    pull_blocks : int
        Blocks that a peer must hold more than the replica for a request to fetch them; 0 for never.
    """

    copies: str = of.choice("what a copy keeps busy", ("holds_target", "nic"), "holds_target")
    pipelined_layers: int = of.count("layers by which copies follow the prefill", 0, low=0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """Requests with their block lists turned into segments, ready for any number of runs.

    Attributes
    ----------
    requests : Requests
        As given.
    segments : Segments
        Their prompts.
    table : array of int
        One row a request, in the order of the simulator's columns.
    """

    requests: Requests
    segments: Segments
    table: NDArray[np.int64]


def _key_entries(requests: Requests, key_blocks: int | None) -> NDArray[np.int64]:
    """Return the entries of each block list that make the first `key_blocks` blocks."""
    lists = np.diff(requests.block_starts)
    if key_blocks is None:
        return np.zeros(len(requests), dtype=np.int64)
    if requests.block_counts is None:
        return np.where(lists >= key_blocks, key_blocks, 0)
    ends = np.cumsum(requests.block_counts)
    before = np.concatenate([[0], ends])[requests.block_starts[:-1]]
    entry = np.searchsorted(ends, before + key_blocks, side="left")
    inside = (lists > 0) & (entry < requests.block_starts[1:])
    exact = inside & (ends[np.minimum(entry, ends.size - 1)] == before + key_blocks)
    if np.any(inside & ~exact):
        return np.full(len(requests), -1, dtype=np.int64)
    return np.where(exact, entry - requests.block_starts[:-1] + 1, 0)


def prepare(requests: Requests, *, key_blocks: int | None = 256) -> Prepared:
    """Turn block lists into segments.

    Parameters
    ----------
    requests : Requests
        Sorted by arrival, as they always are.
    key_blocks : int or None
        Leading blocks by which a policy tells prefixes apart and which it copies; None for none.

    Returns
    -------
    Prepared
        What `simulate_requests` takes.

    Raises
    ------
    InvalidValueError
        If an id appears behind two different prefixes, or `key_blocks` is not positive.
    """
    if key_blocks is not None and (isinstance(key_blocks, bool) or key_blocks < 1):
        raise InvalidValueError(
            field="key_blocks",
            value=key_blocks,
            bound="must be a whole number of at least 1",
            remedy="use the shared prefix in blocks, or None",
        )
    key = _key_entries(requests, key_blocks)
    if key.size and key.min() < 0:
        requests = requests.expanded()
        key = _key_entries(requests, key_blocks)
    try:
        found = segment(
            starts=requests.block_starts,
            ids=requests.block_ids,
            counts=requests.block_counts,
            key_entries=key,
        )
    except UnchainedError as error:
        raise InvalidValueError(
            field=f"block_ids of row {error.args[0]}",
            value="of the requests",
            bound="must name whole prefixes: an id appears behind two different ones",
            remedy="chain the ids, so that equal ids mean equal prefixes",
        ) from None
    table = np.zeros((len(requests), at.REQUEST), dtype=np.int64)
    table[:, at.PROMPT] = requests.prompt_tokens
    table[:, at.OUTPUT] = requests.output_tokens
    table[:, at.COVERED] = np.minimum(
        requests.blocks * requests.block_tokens, requests.prompt_tokens
    )
    table[:, at.FIRST], table[:, at.LAST] = found.starts[:-1], found.starts[1:]
    table[:, at.ALONE] = found.alone + np.maximum(requests.extra_blocks, 0)
    table[:, at.KEY], table[:, at.KEY_LAST] = found.key, found.key_ends
    table[:, at.SESSION] = requests.session
    return Prepared(requests=requests, segments=found, table=table)


def _costs(costs: ReplicaCosts, behaviour: Behaviour) -> NDArray[np.float64]:
    row = np.zeros(at.COSTS)
    row[at.PREFILL_FIXED] = costs.prefill_fixed
    row[at.PREFILL_SLOPE] = costs.prefill_slope
    row[at.PREFILL_QUADRATIC] = costs.prefill_quadratic
    row[at.STEP_FIXED] = costs.decode_fixed
    row[at.STEP_TOKEN] = costs.decode_per_token
    row[at.HOST_BLOCK] = costs.host_seconds_per_token * costs.block_tokens
    row[at.COPY_BLOCK] = costs.copy_seconds_per_token * costs.block_tokens
    row[at.COPY_FIXED] = getattr(costs, "copy_latency", 0.0)
    row[at.LAYERS] = max(behaviour.pipelined_layers, 1)
    return row


def _limits(costs: ReplicaCosts, behaviour: Behaviour, *, pulls: int) -> NDArray[np.int64]:
    row = np.zeros(at.LIMITS, dtype=np.int64)
    row[at.KV_TOKENS] = min(costs.kv_tokens, _UNLIMITED)
    row[at.MAX_BATCH] = costs.max_batch
    row[at.BLOCK_TOKENS] = costs.block_tokens
    row[at.HBM_BLOCKS] = min(costs.hbm_blocks, _UNLIMITED)
    row[at.HOST_BLOCKS] = -1 if math.isinf(costs.host_blocks) else int(costs.host_blocks)
    row[at.HOLD_TARGET] = behaviour.copies == "holds_target"
    row[at.COPY_COMPUTED] = behaviour.copy_visibility == "computed"
    row[at.INDEX_COMPUTED] = behaviour.index_visibility == "computed"
    row[at.ASYNC] = behaviour.loads == "async"
    row[at.PIPELINED] = behaviour.pipelined_layers > 0
    row[at.PULL_BLOCKS] = pulls
    row[at.GATEWAYS] = behaviour.gateways
    return row


def _check_fit(prepared: Prepared, costs: ReplicaCosts) -> None:
    requests = prepared.requests
    need = requests.prompt_tokens + requests.output_tokens
    if need.size and need.max() > costs.kv_tokens:
        row = int(np.argmax(need))
        count = int(np.count_nonzero(need > costs.kv_tokens))
        raise CapacityError(
            what=f"the KV of {count:,} of {need.size:,} requests (the largest is request {row}, "
            f"{int(need[row]):,} tokens)",
            limit=f"the {int(costs.kv_tokens):,} tokens that a replica has room for",
            remedy="use more accelerators a replica, smaller weights, or shorter requests "
            "(max_tokens of a trace leaves the others out)",
        )
    if requests.block_tokens != costs.block_tokens:
        raise InvalidValueError(
            field="block_tokens",
            value=costs.block_tokens,
            bound=f"must equal the {requests.block_tokens} tokens of the requests' blocks",
            remedy="set the cache's block_tokens to the trace's",
        )


def _imbalances(state: State, behaviour: Behaviour) -> int:
    """Return how often any gateway found loads out of balance."""
    return int(state.memory.reshape(behaviour.gateways, -1)[:, 0].sum())


def simulate_requests(
    prepared: Prepared,
    costs: ReplicaCosts,
    *,
    policy: str,
    params: Mapping[str, Any] | None = None,
    replicas: int,
    seed: int,
    behaviour: Behaviour | None = None,
) -> ClusterRun:
    """Run requests on replicas behind a router.

    Parameters
    ----------
    prepared : Prepared
        The requests.
    costs : ReplicaCosts
        What a replica needs for prefill, decode, loading and copying, and what it can hold.
    policy : str
        Routing policy.
    params : mapping, optional
        Its parameters, where they differ from production defaults.
    replicas : int
        Replicas.
    seed : int
        Of the policy's random choices.
    behaviour : Behaviour, optional
        Visibility, copies, loads, staleness, gateways; causal and fresh if not given.

    Returns
    -------
    ClusterRun
        Times of every request, copies, and what was cached.

    Raises
    ------
    CapacityError
        If a request does not fit a replica's KV memory.
    InvalidValueError
        If a parameter or the number of replicas is out of range.
    UnknownNameError
        If there is no such policy or parameter.

    Notes
    -----
    First come, first served; prefill goes before decode; KV of prompt and answer is reserved at
    admission; a prefill once admitted runs to its end. The first token comes with the end of the
    prefill; its decode step is not part of the TTFT.
    """
    behaviour = behaviour or Behaviour()
    if isinstance(replicas, bool) or not isinstance(replicas, int) or replicas < 1:
        raise InvalidValueError(
            field="replicas",
            value=replicas,
            bound="must be a whole number of at least 1",
            remedy="use 1",
        )
    if len(prepared.requests) == 0:
        raise InvalidValueError(
            field="requests", value=0, bound="must be at least 1", remedy="give a workload"
        )
    chosen = registry.policy(policy)
    values = chosen.values(params)
    chosen.require_network(stated=math.isfinite(costs.copy_seconds_per_token))
    _check_fit(prepared, costs)
    pulls = max(behaviour.pull_blocks, int(values["min_blocks"]) if chosen.pulls else 0)
    requests, table = prepared.requests, prepared.table
    rng = np.random.default_rng(seed)
    inputs = Inputs(
        arrival=np.ascontiguousarray(requests.arrival),
        requests=table,
        segments=prepared.segments.ids,
        lengths=prepared.segments.lengths,
        costs=_costs(costs, behaviour),
        limits=_limits(costs, behaviour, pulls=pulls),
        draws=rng.random((len(requests), 2)),
        params=chosen.vector(params),
        delays=np.array([behaviour.index_lag, behaviour.load_staleness]),
    )
    sessions = int(requests.session.max()) + 1
    out, state = execute(
        chosen, inputs, replicas=replicas, keys=prepared.segments.keys, sessions=sessions
    )
    return ClusterRun(
        policy=policy,
        seed=seed,
        replicas=replicas,
        arrival=requests.arrival,
        start=out.seconds[:, at.START],
        load=out.seconds[:, at.LOADING],
        prefill=out.seconds[:, at.PREFILL],
        finish=out.seconds[:, at.FINISH],
        replica=out.counts[:, at.NODE],
        prompt_tokens=requests.prompt_tokens,
        covered_tokens=table[:, at.COVERED],
        hit_tokens=out.counts[:, at.HIT],
        hbm_tokens=out.counts[:, at.HIT_HBM],
        group=requests.group,
        copies=made(out, state),
        copies_hold=behaviour.copies == "holds_target",
        imbalances=_imbalances(state, behaviour) if chosen.counts_imbalance else 0,
        busy=state.seconds[:, at.BUSY],
    )
