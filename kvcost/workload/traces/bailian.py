"""Qwen-Bailian: JSON lines with seconds, conversations, and ids of blocks of 16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.workload.traces.lines import bad_line, json_rows
from kvcost.workload.traces.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BLOCK_TOKENS", "CHAINED", "KEYS", "read"]

BLOCK_TOKENS = 16
CHAINED = False
KEYS = frozenset({"chat_id", "parent_chat_id", "timestamp", "input_length", "hash_ids"})


def read(path: Path, *, block_tokens: int, limit: int | None) -> Rows:
    """Return the rows of a file; a chat whose parent is in the file continues its session."""
    rows = Rows(path, block_tokens=block_tokens, has_blocks=True)
    session_of: dict[Any, int] = {}
    sessions = 0
    for line, row in json_rows(path, limit=limit):
        chat, parent = row.get("chat_id"), row.get("parent_chat_id")
        for field, value in (("chat_id", chat), ("parent_chat_id", parent)):
            if not isinstance(value, int | str) or isinstance(value, bool):
                raise bad_line(path, line, field=field, value=value, bound="must be an id")
        session = session_of.get(parent, sessions)
        sessions += session == sessions
        session_of[chat] = session
        kind = row.get("type")
        rows.add(
            line,
            time=rows.time(line, "timestamp", row.get("timestamp")),
            prompt=("input_length", row.get("input_length")),
            output=("output_length", row.get("output_length")),
            session=session,
            group=rows.group(kind) if isinstance(kind, str) else -1,
            ids=row.get("hash_ids"),
        )
    return rows
