"""Time to prefill (floor, linear, quadratic) and to decode."""

from __future__ import annotations

from kvcost.compute.arithmetic import AttentionWork, attention_work
from kvcost.compute.curve import PrefillCurve, Weighting
from kvcost.compute.formulas import (
    attention_flops,
    causal_pairs,
    chunked_pairs,
    compute_seconds,
    decode_step_seconds,
    latent_attention_flops,
    linear_prefill_flops,
    prefill_per_token,
    prefill_per_token_squared,
    prefill_seconds,
    windowed_pairs,
)

__all__ = [
    "AttentionWork",
    "PrefillCurve",
    "Weighting",
    "attention_flops",
    "attention_work",
    "causal_pairs",
    "chunked_pairs",
    "compute_seconds",
    "decode_step_seconds",
    "latent_attention_flops",
    "linear_prefill_flops",
    "prefill_per_token",
    "prefill_per_token_squared",
    "prefill_seconds",
    "windowed_pairs",
]
