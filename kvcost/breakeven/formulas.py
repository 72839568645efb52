"""The registered formulas of the break-even layer."""

from __future__ import annotations

from kvcost.breakeven.crossings import (
    crossing_high_tokens,
    crossing_low_tokens,
    floor_window_tokens,
)
from kvcost.breakeven.lengths import (
    break_even_tokens,
    break_even_tokens_infinite_bandwidth,
    break_even_tokens_linear,
    partial_hit_tokens,
)
from kvcost.breakeven.rates import (
    break_even_bandwidth,
    break_even_bandwidth_without_overhead,
    break_even_overhead,
    hit_gpu_seconds,
    implied_kv_bytes_per_token,
    margin,
    relative_residual,
)
from kvcost.breakeven.splits import ideal_split_seconds, split_seconds, split_tokens

__all__ = [
    "break_even_bandwidth",
    "break_even_bandwidth_without_overhead",
    "break_even_overhead",
    "break_even_tokens",
    "break_even_tokens_infinite_bandwidth",
    "break_even_tokens_linear",
    "crossing_high_tokens",
    "crossing_low_tokens",
    "floor_window_tokens",
    "hit_gpu_seconds",
    "ideal_split_seconds",
    "implied_kv_bytes_per_token",
    "margin",
    "partial_hit_tokens",
    "relative_residual",
    "split_seconds",
    "split_tokens",
]
