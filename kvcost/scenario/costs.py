"""What a replica needs for each thing it does, and what it can hold."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ReplicaCosts"]


@dataclass(frozen=True, kw_only=True)
class ReplicaCosts:
    """Costs and limits of one replica.

    Attributes
    ----------
    prefill_fixed, prefill_slope, prefill_quadratic : float
        Prefill from ``h`` cached to ``n`` tokens takes ``fixed + slope (n - h) + quadratic
        (n^2 - h^2)`` [s], [s/token], [s/token^2].
    decode_fixed : float
        Part of a decode step that reads the weights [s].
    decode_per_token : float
        Part for each token of KV in the batch [s/token].
    kv_tokens : int
        Tokens of KV beside the weights.
    max_batch : int
        Requests in a batch.
    block_tokens : int
        Tokens of a cache block.
    hbm_blocks : int
        Blocks that stay in HBM.
    host_blocks : float
        Blocks that host memory holds beside them; infinite for no limit.
    host_seconds_per_token : float
        Loading back from host memory [s/token].
    copy_seconds_per_token : float
        Copying from another replica [s/token].
    copy_latency : float
        What a copy takes beside [s].
    """

    prefill_fixed: float
    prefill_slope: float
    prefill_quadratic: float
    decode_fixed: float
    decode_per_token: float
    kv_tokens: int
    max_batch: int
    block_tokens: int
    hbm_blocks: int
    host_blocks: float
    host_seconds_per_token: float
    copy_seconds_per_token: float
    copy_latency: float = 0.0

    def prefill(self, tokens: float, *, cached: float = 0.0) -> float:
        """Return the time to prefill up to `tokens`, of which `cached` are there, in seconds."""
        return (
            self.prefill_fixed
            + self.prefill_slope * (tokens - cached)
            + self.prefill_quadratic * (tokens**2 - cached**2)
        )

    def copy(self, tokens: float) -> float:
        """Return the time to copy the KV of some tokens to another replica, in seconds."""
        return self.copy_latency + self.copy_seconds_per_token * tokens

    def step(self, tokens: float) -> float:
        """Return the duration of a decode step with so many tokens of KV in the batch, in s."""
        return self.decode_fixed + self.decode_per_token * tokens

    def slots(self, tokens: float) -> int:
        """Return how many requests of so many tokens, prompt and answer, fit at once."""
        return int(min(self.kv_tokens // tokens, self.max_batch))
