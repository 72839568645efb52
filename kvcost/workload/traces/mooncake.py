"""Mooncake: JSON lines with milliseconds and ids that name whole prefixes in blocks of 512."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.workload.traces.lines import json_rows
from kvcost.workload.traces.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BLOCK_TOKENS", "CHAINED", "KEYS", "read"]

BLOCK_TOKENS = 512
CHAINED = True
KEYS = frozenset({"timestamp", "input_length", "output_length", "hash_ids"})


def read(path: Path, *, block_tokens: int, limit: int | None) -> Rows:
    """Return the rows of a file."""
    rows = Rows(path, block_tokens=block_tokens, has_blocks=True)
    for line, row in json_rows(path, limit=limit):
        rows.add(
            line,
            time=rows.time(line, "timestamp", row.get("timestamp")) / 1e3,
            prompt=("input_length", row.get("input_length")),
            output=("output_length", row.get("output_length")),
            ids=row.get("hash_ids"),
        )
    return rows
