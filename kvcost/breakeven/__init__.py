"""Fetch, recompute or both: bandwidth, length, overhead, tiers, and what would change it."""

from __future__ import annotations

from kvcost.breakeven.decision import Decision, Loading, decide
from kvcost.breakeven.formulas import (
    break_even_bandwidth,
    break_even_bandwidth_without_overhead,
    break_even_overhead,
    break_even_tokens,
    break_even_tokens_infinite_bandwidth,
    break_even_tokens_linear,
    crossing_high_tokens,
    crossing_low_tokens,
    floor_window_tokens,
    hit_gpu_seconds,
    ideal_split_seconds,
    implied_kv_bytes_per_token,
    margin,
    partial_hit_tokens,
    relative_residual,
    split_seconds,
    split_tokens,
)
from kvcost.breakeven.partial import (
    Split,
    partial_hit_ranges,
    rounded_fetch_ranges,
    two_ended_split,
)
from kvcost.breakeven.ranges import (
    Ranges,
    describe_ranges,
    fetch_ranges,
    first_winning_tokens,
)
from kvcost.breakeven.study import (
    Comparison,
    biting_the_bullet,
    glm_5_3_remote_kv,
    residual,
)
from kvcost.breakeven.tiers import RECOMPUTE, TierRow, best_of_tiers, tier_ladder, tier_path
from kvcost.breakeven.verdict import TIE, Verdict, verdict_of

__all__ = [
    "RECOMPUTE",
    "TIE",
    "Comparison",
    "Decision",
    "Loading",
    "Ranges",
    "Split",
    "TierRow",
    "Verdict",
    "best_of_tiers",
    "biting_the_bullet",
    "break_even_bandwidth",
    "break_even_bandwidth_without_overhead",
    "break_even_overhead",
    "break_even_tokens",
    "break_even_tokens_infinite_bandwidth",
    "break_even_tokens_linear",
    "crossing_high_tokens",
    "crossing_low_tokens",
    "decide",
    "describe_ranges",
    "fetch_ranges",
    "first_winning_tokens",
    "floor_window_tokens",
    "glm_5_3_remote_kv",
    "hit_gpu_seconds",
    "ideal_split_seconds",
    "implied_kv_bytes_per_token",
    "margin",
    "partial_hit_ranges",
    "partial_hit_tokens",
    "relative_residual",
    "residual",
    "rounded_fetch_ranges",
    "split_seconds",
    "split_tokens",
    "tier_ladder",
    "tier_path",
    "two_ended_split",
    "verdict_of",
]
