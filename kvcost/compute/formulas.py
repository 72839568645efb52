"""The registered formulas of the compute layer."""

from __future__ import annotations

from kvcost.compute.attention import (
    attention_flops,
    causal_pairs,
    chunked_pairs,
    latent_attention_flops,
    windowed_pairs,
)
from kvcost.compute.times import (
    compute_seconds,
    decode_step_seconds,
    linear_prefill_flops,
    prefill_per_token,
    prefill_per_token_squared,
    prefill_seconds,
)

__all__ = [
    "attention_flops",
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
