"""Vidur: CSV with seconds and two lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.workload.traces.lines import csv_rows
from kvcost.workload.traces.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BLOCK_TOKENS", "CHAINED", "KEYS", "read"]

BLOCK_TOKENS = 16
CHAINED = True
KEYS = frozenset({"arrived_at", "num_prefill_tokens", "num_decode_tokens"})
_COLUMNS = ("arrived_at", "num_prefill_tokens", "num_decode_tokens")


def read(path: Path, *, block_tokens: int, limit: int | None) -> Rows:
    """Return the rows of a file."""
    rows = Rows(path, block_tokens=block_tokens, has_blocks=False)
    for line, (stamp, prompt, output) in csv_rows(path, _COLUMNS, limit=limit):
        rows.add(
            line,
            time=rows.time(line, "arrived_at", stamp),
            prompt=("num_prefill_tokens", prompt),
            output=("num_decode_tokens", output),
        )
    return rows
