"""Rows as a reader finds them, before they become requests."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from kvcost.workload.traces.lines import bad_line, count, moment

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Rows"]


class Rows:
    """What a reader collects: one entry a request in each column, in the order of the file.

    Parameters
    ----------
    path : Path
        The file, for messages.
    block_tokens : int
        Tokens of one block; what a replayed prompt is cut into where the trace has no prefixes.
    has_blocks : bool
        Whether the trace records prefixes.
    """

    def __init__(self, path: Path, *, block_tokens: int, has_blocks: bool) -> None:
        self.path = path
        self.block_tokens = block_tokens
        self.has_blocks = has_blocks
        self.times = array("d")
        self.prompts = array("q")
        self.outputs = array("q")
        self.lengths = array("q")
        self.ids = array("q")
        self.sessions = array("q")
        self.groups = array("q")
        self.left_out = 0
        self.notes: list[str] = []
        self._numbers: dict[Any, int] = {}
        self._names: dict[str, int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the groups."""
        return tuple(self._names)

    def group(self, name: str) -> int:
        """Return the number of a group."""
        return self._names.setdefault(name, len(self._names))

    def add(
        self,
        line: int,
        *,
        time: float,
        prompt: tuple[str, Any],
        output: tuple[str, Any],
        session: int = -1,
        group: int = -1,
        ids: Any = (),
    ) -> None:
        """Add a row; one without prompt or answer is left out and counted.

        `prompt` and `output` are the field's name and its value; `time` is in seconds.
        """
        tokens = count(self.path, line, *prompt)
        answer = count(self.path, line, *output)
        if tokens == 0 or answer == 0:
            self.left_out += 1
            return
        before = len(self.ids)
        if self.has_blocks:
            self._blocks(line, ids, most=-(-tokens // self.block_tokens))
        self.times.append(time)
        self.prompts.append(tokens)
        self.outputs.append(answer)
        self.lengths.append(len(self.ids) - before)
        self.sessions.append(session)
        self.groups.append(group)

    def time(self, line: int, field: str, value: Any) -> float:
        """Return a time as it stands in the file."""
        return moment(self.path, line, field, value)

    def number(self, name: Any) -> int:
        """Return the number of an id that is no small integer, the same for the same id."""
        return self._numbers.setdefault(name, len(self._numbers))

    def _blocks(self, line: int, ids: Any, *, most: int) -> None:
        if not isinstance(ids, list):
            raise bad_line(
                self.path, line, field="hash_ids", value=ids, bound="must be a list of block ids"
            )
        if len(ids) > most:
            raise bad_line(
                self.path,
                line,
                field="hash_ids",
                value=f"{len(ids)} ids",
                bound=f"must be at most {most}, the blocks of {self.block_tokens} tokens that the "
                "prompt fills",
            )
        start = len(self.ids)
        try:
            self.ids.extend(ids)
        except (TypeError, OverflowError):
            del self.ids[start:]
            plain = all(isinstance(name, int | str) and not isinstance(name, bool) for name in ids)
            if not plain:
                raise bad_line(
                    self.path,
                    line,
                    field="hash_ids",
                    value=ids,
                    bound="must be whole numbers or texts",
                ) from None
            if self.ids and not self._numbers:
                raise bad_line(
                    self.path,
                    line,
                    field="hash_ids",
                    value=ids,
                    bound="must be of the same kind as in the lines above",
                ) from None
            self.ids.extend([self.number(name) for name in ids])
