"""Requests as arrays: when they come, how long they are, and which prefix they share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.workload.checks import column, number, whole
from kvcost.workload.rows import exclusive_sum, expand_ids, gather, segment_sum
from kvcost.workload.summary import RequestSummary, summarise

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Requests"]

_NONE: Any = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Requests:
    """Requests in the order of their arrival, one row each.

    Parameters
    ----------
    arrival : array of float
        When each arrives [s], sorted; at least 0.
    prompt_tokens, output_tokens : array of int
        Tokens of the prompt and of the answer; at least 1.
    block_tokens : int
        Tokens of one block of the cache.
    block_starts : array of int
        Where each request's block ids start in `block_ids`; one more entry closes the last.
    block_ids : array of int
        Ids of the prompt's blocks, in order. An id names the whole prefix up to the end of its
        block: two requests with the same id share all the tokens up to there.
    block_counts : array of int, optional
        Blocks that each entry of `block_ids` stands for: a run of blocks that every request has
        as a whole or not at all. One each if not given.
    has_blocks : bool
        False if nobody recorded prefixes: sharing is then unknown, not zero.
    group : array of int, optional
        Burst or family of prefixes that a request belongs to, an index into `names`; -1 for none.
    session : array of int, optional
        Conversation that a request continues; -1 for none.
    names : tuple of str
        Names of the groups.

    Raises
    ------
    InvalidValueError
        If arrivals are not sorted, a count is not positive, arrays differ in size, or a request has
        more blocks than its prompt fills.

    Notes
    -----
    Arrays are read-only. A prompt may have fewer blocks than it fills: what has no id is private.

    Examples
    --------
    >>> from kvcost.workload import even_burst
    >>> burst = even_burst(requests=3, span=2.0, shared_tokens=1024, suffix_tokens=256)
    >>> burst.arrival.tolist(), burst.blocks.tolist()
    ([0.0, 1.0, 2.0], [5, 5, 5])
    >>> burst
    Requests(3 requests, 2 s, blocks of 256 tokens)
    """

    arrival: NDArray[np.float64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    block_tokens: int
    block_starts: NDArray[np.int64]
    block_ids: NDArray[np.int64]
    block_counts: NDArray[np.int64] | None = None
    has_blocks: bool = True
    group: NDArray[np.int64] = field(default_factory=lambda: _NONE)
    session: NDArray[np.int64] = field(default_factory=lambda: _NONE)
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        settle = object.__setattr__
        arrival = column("arrival", self.arrival, kind=np.float64)
        size = arrival.size
        settle(self, "arrival", arrival)
        settle(self, "block_tokens", whole("block_tokens", self.block_tokens, low=1))
        settle(self, "names", tuple(self.names))
        for name in ("prompt_tokens", "output_tokens"):
            settle(self, name, column(name, getattr(self, name), kind=np.int64, size=size))
        for name in ("group", "session"):
            given = getattr(self, name)
            filled = np.full(size, -1, dtype=np.int64) if given is _NONE else given
            settle(self, name, column(name, filled, kind=np.int64, size=size))
        starts = column("block_starts", self.block_starts, kind=np.int64, size=size + 1)
        settle(self, "block_starts", starts)
        settle(self, "block_ids", column("block_ids", self.block_ids, kind=np.int64))
        if self.block_counts is not None:
            ids = self.block_ids.size
            counts = column("block_counts", self.block_counts, kind=np.int64, size=ids)
            settle(self, "block_counts", counts)
        self._check()

    def _check(self) -> None:
        arrival, starts = self.arrival, self.block_starts
        if arrival.size and not (np.isfinite(arrival).all() and arrival[0] >= 0):
            _refuse("arrival", "must be finite and at least 0 s", "shift the times to start at 0")
        if np.any(arrival[1:] < arrival[:-1]):
            row = int(np.argmax(arrival[1:] < arrival[:-1])) + 1
            _refuse(f"arrival of row {row}", "must not be before the one above", "sort the rows")
        for name in ("prompt_tokens", "output_tokens"):
            values = getattr(self, name)
            if np.any(values < 1):
                row = int(np.argmax(values < 1))
                _refuse(f"{name} of row {row}", "must be at least 1", "leave such requests out")
        closed = starts[0] == 0 and starts[-1] == self.block_ids.size
        if not closed or np.any(starts[1:] < starts[:-1]):
            bound = "must rise from 0 to the number of block ids"
            _refuse("block_starts", bound, "add up the lengths of the lists")
        if self.block_counts is not None and np.any(self.block_counts < 1):
            _refuse("block_counts", "must be at least 1", "leave empty runs out")
        too_many = self.blocks > -(-self.prompt_tokens // self.block_tokens)
        if np.any(too_many):
            row = int(np.argmax(too_many))
            _refuse(
                f"blocks of row {row}",
                f"must not exceed its {self.prompt_tokens[row]} tokens in blocks of "
                f"{self.block_tokens}",
                "check the block size of the trace",
            )
        if not self.has_blocks and self.block_ids.size:
            _refuse("has_blocks", "must be true where there are block ids", "leave it out")
        if self.group.size and not -1 <= self.group.min() <= self.group.max() < len(self.names):
            _refuse("group", "must be -1 or an index into names", "name every group")

    def __len__(self) -> int:
        return int(self.arrival.size)

    def __repr__(self) -> str:
        return (
            f"Requests({len(self)} requests, {self.duration:g} s, "
            f"blocks of {self.block_tokens} tokens)"
        )

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """Blocks of each prompt that have an id."""
        if self.block_counts is None:
            return np.diff(self.block_starts)
        return segment_sum(self.block_counts, self.block_starts)

    @cached_property
    def extra_blocks(self) -> NDArray[np.int64]:
        """Blocks of prompt and answer together that have no id: private to the request."""
        tokens = self.prompt_tokens + self.output_tokens
        extra: NDArray[np.int64] = -(-tokens // self.block_tokens) - self.blocks
        return extra

    @property
    def duration(self) -> float:
        """Time from the first arrival to the last [s]."""
        return float(self.arrival[-1] - self.arrival[0]) if len(self) else 0.0

    @property
    def rate(self) -> float:
        """Requests a second between the first arrival and the last; infinite at one instant."""
        gaps = len(self) - 1
        return gaps / self.duration if self.duration > 0 else float("inf")

    def take(self, rows: Any) -> Requests:
        """Return some rows, in the order of their arrival.

        Parameters
        ----------
        rows : slice, mask or indices
            Which.
        """
        picked = np.unique(np.arange(len(self))[rows])
        starts, entries = gather(self.block_starts, picked)
        return replace(
            self,
            arrival=self.arrival[picked],
            prompt_tokens=self.prompt_tokens[picked],
            output_tokens=self.output_tokens[picked],
            block_starts=starts,
            block_ids=self.block_ids[entries],
            block_counts=None if self.block_counts is None else self.block_counts[entries],
            group=self.group[picked],
            session=self.session[picked],
        )

    def head(self, count: int) -> Requests:
        """Return the first `count` requests."""
        return self.take(slice(0, whole("count", count, low=0)))

    def scaled(self, *, rate: float) -> Requests:
        """Return the same requests, stretched or squeezed in time to a mean rate.

        Parameters
        ----------
        rate : float
            Requests a second between the first and the last arrival.

        Raises
        ------
        InvalidValueError
            If the rate is not positive, or all requests arrive at one instant.
        """
        wanted = number("rate", rate, unit="requests/s", above=0.0)
        if self.duration <= 0:
            _refuse("rate", "cannot be set: all requests arrive at one instant", "spread them")
        start = self.arrival[0] if len(self) else 0.0
        return replace(self, arrival=start + (self.arrival - start) * (self.rate / wanted))

    def shifted(self, *, seconds: float) -> Requests:
        """Return the same requests, all later by `seconds` (earlier if negative)."""
        return replace(self, arrival=self.arrival + seconds)

    def expanded(self) -> Requests:
        """Return the same requests with one id for each block."""
        if self.block_counts is None:
            return self
        starts = exclusive_sum(self.blocks)
        ids = expand_ids(self.block_ids, self.block_counts)
        return replace(self, block_starts=starts, block_ids=ids, block_counts=None)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with one row a request."""
        import pandas as pd  # noqa: PLC0415 - slow to load

        names = np.array([*self.names, ""], dtype=object)
        return pd.DataFrame(
            {
                "arrival": self.arrival,
                "prompt_tokens": self.prompt_tokens,
                "output_tokens": self.output_tokens,
                "blocks": self.blocks,
                "group": names[self.group],
                "session": self.session,
            }
        )

    def summary(self) -> RequestSummary:
        """Return counts and means of the requests."""
        return summarise(self)


def _refuse(field: str, bound: str, remedy: str) -> None:
    raise InvalidValueError(field=field, value="of the requests", bound=bound, remedy=remedy)
