"""BurstGPT: CSV with seconds and two lengths; older files have no sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.workload.traces.lines import csv_rows
from kvcost.workload.traces.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BLOCK_TOKENS", "CHAINED", "KEYS", "read"]

BLOCK_TOKENS = 16
CHAINED = True
KEYS = frozenset({"Timestamp", "Request tokens", "Response tokens"})
_COLUMNS = ("Timestamp", "Request tokens", "Response tokens")


def read(path: Path, *, block_tokens: int, limit: int | None) -> Rows:
    """Return the rows of a file; failed requests have no answer and are left out."""
    rows = Rows(path, block_tokens=block_tokens, has_blocks=False)
    found = csv_rows(path, _COLUMNS, optional=("Session ID",), limit=limit)
    for line, (stamp, prompt, output, session) in found:
        rows.add(
            line,
            time=rows.time(line, "Timestamp", stamp),
            prompt=("Request tokens", prompt),
            output=("Response tokens", output),
            session=rows.number(session) if session else -1,
        )
    return rows
