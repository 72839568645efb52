"""Closed forms of what a token and a request weigh, of engines' records, and of ranks."""

from __future__ import annotations

from kvcost.model.formulas.ranks import (
    attention_bytes_on_rank,
    heads_on_rank,
    kv_copies,
)
from kvcost.model.formulas.records import (
    page_bytes_per_token,
    pool_bytes_per_token,
    record_bytes,
    record_bytes_per_token,
)
from kvcost.model.formulas.request import (
    block_rounded_tokens,
    cache_bytes,
    chunk_rounded_tokens,
    cross_attention_bytes,
    state_bytes,
    window_bytes,
)
from kvcost.model.formulas.token import (
    attention_bytes_per_token,
    entry_bytes_per_token,
    latent_bytes_per_token,
    scaled_element_bytes,
)

__all__ = [
    "attention_bytes_on_rank",
    "attention_bytes_per_token",
    "block_rounded_tokens",
    "cache_bytes",
    "chunk_rounded_tokens",
    "cross_attention_bytes",
    "entry_bytes_per_token",
    "heads_on_rank",
    "kv_copies",
    "latent_bytes_per_token",
    "page_bytes_per_token",
    "pool_bytes_per_token",
    "record_bytes",
    "record_bytes_per_token",
    "scaled_element_bytes",
    "state_bytes",
    "window_bytes",
]
