"""Azure LLM inference traces of 2023 and 2024: CSV with the wall clock and two lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.workload.traces.lines import bad_line, csv_rows
from kvcost.workload.traces.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BLOCK_TOKENS", "CHAINED", "KEYS", "read"]

BLOCK_TOKENS = 16
CHAINED = True
KEYS = frozenset({"TIMESTAMP", "ContextTokens", "GeneratedTokens"})
_COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


def read(path: Path, *, block_tokens: int, limit: int | None) -> Rows:
    """Return the rows of a file."""
    rows = Rows(path, block_tokens=block_tokens, has_blocks=False)
    epoch: np.datetime64[Any] | None = None
    for line, (stamp, prompt, output) in csv_rows(path, _COLUMNS, limit=limit):
        clock = _clock(path, line, stamp)
        # counted from the first row: seconds since 1970 leave a double no tenth of a microsecond
        epoch = clock if epoch is None else epoch
        rows.add(
            line,
            time=int((clock - epoch) / np.timedelta64(1, "ns")) / 1e9,
            prompt=("ContextTokens", prompt),
            output=("GeneratedTokens", output),
        )
    return rows


def _clock(path: Path, line: int, stamp: str) -> np.datetime64[Any]:
    """Return a UTC time; the 2024 files write the zone, the 2023 files do not."""
    clock: np.datetime64[Any]
    plain = stamp.removesuffix("Z").removesuffix("+00:00")
    try:
        clock = np.datetime64(plain, "ns")
    except ValueError:
        clock = np.datetime64("NaT", "ns")
    if np.isnat(clock):
        raise bad_line(
            path,
            line,
            field="TIMESTAMP",
            value=stamp,
            bound="must be a UTC time such as 2023-11-16 18:17:03.9799600",
        )
    return clock
