"""ART-Chat and Bursted-ART: JSON lines with seconds, groups, and text ids of blocks of 256."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.errors import ConfigError
from kvcost.workload.traces.lines import json_rows
from kvcost.workload.traces.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BLOCK_TOKENS", "CHAINED", "KEYS", "read"]

BLOCK_TOKENS = 256
CHAINED = False
KEYS = frozenset({"trace_id", "input_length", "output_length", "hash_ids"})


def read(path: Path, *, block_tokens: int, limit: int | None, window: str | None) -> Rows:
    """Return the rows of one recorded window; its session is the group that shares a prefix."""
    rows = Rows(path, block_tokens=block_tokens, has_blocks=True)
    seen: dict[str, None] = {}
    for line, row in json_rows(path, limit=limit):
        trace = str(row.get("trace_id"))
        seen[trace] = None
        if window is not None and trace != window:
            continue
        if window is None and len(seen) > 1:
            raise ConfigError(
                path=str(path),
                problem=f"line {line}: starts another window, trace_id {trace!r}",
                remedy=f"each has its own clock: choose one, as window={next(iter(seen))!r}",
            )
        family = row.get("session_id")
        group = rows.group(str(family)) if family is not None else -1
        field = "timestamp" if "timestamp" in row else "arrival_s"
        rows.add(
            line,
            time=rows.time(line, field, row.get(field)),
            prompt=("input_length", row.get("input_length")),
            output=("output_length", row.get("output_length")),
            session=group,
            group=group,
            ids=row.get("hash_ids"),
        )
    if window is not None and window not in seen:
        raise _no_such(path, window, seen)
    return rows


def _no_such(path: Path, window: str, seen: dict[str, Any]) -> ConfigError:
    return ConfigError(
        path=str(path),
        problem=f"has no window with trace_id {window!r}",
        remedy=f"choose one of {', '.join(list(seen)[:8])}",
    )
