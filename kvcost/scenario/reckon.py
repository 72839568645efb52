"""From the tables of a scenario to what a replica needs and can hold."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from kvcost.errors import MissingFactError
from kvcost.hardware import Replica, accelerator
from kvcost.scenario.costs import ReplicaCosts

if TYPE_CHECKING:
    from kvcost.hardware.accelerator import Accelerator
    from kvcost.scenario.parts import CachePart, ModelPart, NetworkPart, ReplicaPart

__all__ = ["replica_costs"]

_MOST_TOKENS = 1e15  # of KV in a replica


def _figures(model: ModelPart) -> tuple[float, float, float]:
    """Return all weights, those of a token, and the KV bytes of a token."""
    all_weights, active, kv = model.parameters, model.active_parameters, model.kv_bytes_per_token
    if model.name is not None:
        from kvcost.model import kv_bytes_per_token, load  # noqa: PLC0415 - the catalogue is large

        spec = load(model.name)
        all_weights = spec.total_parameters if all_weights is None else all_weights
        active = spec.active_parameters if active is None else active
        kv = kv_bytes_per_token(spec, kv_dtype=model.kv_dtype) if kv is None else kv
    found = {"parameters": all_weights, "active_parameters": active, "kv_bytes_per_token": kv}
    for fact, value in found.items():
        if value is None:
            raise MissingFactError(
                fact=fact,
                subject=model.name or "[model]",
                remedy=f"state {fact} in [model], or a name of the catalogue",
            )
    return tuple(float(value) for value in found.values())  # type: ignore[return-value, arg-type]


def _prefill(
    model: ModelPart, replica: ReplicaPart, part: Accelerator, active: float
) -> tuple[float, float]:
    """Return seconds a token, and seconds for the square of the length."""
    counted = model.name is not None if model.count_attention is None else model.count_attention
    if not counted:
        flops = replica.accelerators * part.peak(replica.compute_dtype) * replica.mfu
        return 2 * active / flops, 0.0
    if model.name is None:
        raise MissingFactError(
            fact="attention heads",
            subject="[model]",
            remedy="name a model of the catalogue, or set count_attention = false",
        )
    from kvcost.compute import PrefillCurve  # noqa: PLC0415
    from kvcost.model import load  # noqa: PLC0415

    curve = PrefillCurve.from_hardware(
        load(model.name),
        part,
        accelerators=replica.accelerators,
        mfu=replica.mfu,
        compute_dtype=replica.compute_dtype,
    )
    return curve.per_token, curve.per_token_squared


@lru_cache(maxsize=1024)
def replica_costs(
    *, model: ModelPart, replica: ReplicaPart, cache: CachePart, network: NetworkPart
) -> ReplicaCosts:
    """Return costs and limits of a replica.

    Parameters
    ----------
    model, replica, cache, network
        Tables of a scenario.

    Returns
    -------
    ReplicaCosts
        Prefill by the arithmetic of the weights (and of attention, for models of the catalogue),
        decode by the bytes that a step reads.

    Raises
    ------
    MissingFactError
        If a fact is missing.
    CapacityError
        If the weights do not fit.
    """
    part = accelerator(replica.accelerator)
    weights, active, kv = _figures(model)
    serving = Replica(
        accelerator=part,
        count=replica.accelerators,
        tp=replica.accelerators,
        weight_bytes=weights * model.bytes_per_weight,
        bytes_per_weight=model.bytes_per_weight,
        hbm_share=replica.hbm_share,
    )
    room = min(serving.kv_budget_bytes(), _MOST_TOKENS * kv)
    slope, quadratic = _prefill(model, replica, part, active)
    read = serving.hbm_bandwidth * replica.decode_bandwidth_share
    block = kv * cache.block_tokens
    host = math.inf if math.isinf(cache.host_memory) else math.floor(cache.host_memory / block)
    if cache.host_memory > 0 and cache.host_bandwidth is None:
        raise MissingFactError(
            fact="host_bandwidth", subject="[cache]", remedy="state it, or host_memory = 0"
        )
    links = replica.accelerators
    loading = 0.0 if cache.host_bandwidth is None else kv / cache.host_bandwidth / links
    copying = math.inf if network.bandwidth is None else kv / network.bandwidth / links
    return ReplicaCosts(
        prefill_fixed=0.0,
        prefill_slope=slope,
        prefill_quadratic=quadratic,
        decode_fixed=active * model.bytes_per_weight / read,
        decode_per_token=kv / read,
        kv_tokens=int(room / kv),
        max_batch=replica.max_batch,
        block_tokens=cache.block_tokens,
        hbm_blocks=int(room / block),
        host_blocks=host,
        host_seconds_per_token=loading,
        copy_seconds_per_token=copying,
        copy_latency=network.latency,
    )
