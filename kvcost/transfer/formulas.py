"""The registered formulas of the transfer layer."""

from __future__ import annotations

from kvcost.transfer.hits import fetched_tokens, gained_tokens, usable_hit_tokens
from kvcost.transfer.rates import (
    bandwidth,
    pipelined_seconds_per_byte,
    scaling_exponent,
    seconds_per_byte,
    shard_efficiency,
)
from kvcost.transfer.times import (
    keys,
    layerwise_seconds,
    moved_bytes,
    transfer_seconds,
)

__all__ = [
    "bandwidth",
    "fetched_tokens",
    "gained_tokens",
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
