"""Time to move KV: lookup, keys and pieces, shards, ranks, overlap, shared bandwidth."""

from __future__ import annotations

from kvcost.transfer.formulas import (
    bandwidth,
    fetched_tokens,
    gained_tokens,
    keys,
    layerwise_seconds,
    moved_bytes,
    pipelined_seconds_per_byte,
    scaling_exponent,
    seconds_per_byte,
    shard_efficiency,
    transfer_seconds,
    usable_hit_tokens,
)
from kvcost.transfer.hit import HitTime, Prefill, hit_time
from kvcost.transfer.path import TransferPath

__all__ = [
    "HitTime",
    "Prefill",
    "TransferPath",
    "bandwidth",
    "fetched_tokens",
    "gained_tokens",
    "hit_time",
    "keys",
    "layerwise_seconds",
    "moved_bytes",
    "pipelined_seconds_per_byte",
    "scaling_exponent",
    "seconds_per_byte",
    "shard_efficiency",
    "transfer_seconds",
    "usable_hit_tokens",
]
