"""From rows to requests: sorted, from time 0, with the blocks that an engine would cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from kvcost.errors import ConfigError
from kvcost.workload.chaining import chained_ids
from kvcost.workload.requests import Requests
from kvcost.workload.rows import exclusive_sum, gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.workload.traces.rows import Rows

__all__ = ["Partial", "build", "spread_ties"]

Partial = Literal["drop", "keep"]


def build(
    rows: Rows, *, partial: Partial, chained: bool, jitter: float, rng: np.random.Generator
) -> Requests:
    """Return the requests of the rows.

    Parameters
    ----------
    rows : Rows
        In any order.
    partial : {"drop", "keep"}
        What becomes of the id of a last block that is not full.
    chained : bool
        Whether ids are known to name whole prefixes; if not, they are made to.
    jitter : float
        Seconds over which requests with one time stamp are spread.
    rng : Generator
        For the jitter.
    """
    if not rows.times:
        raise ConfigError(
            path=str(rows.path),
            problem="holds no request with a prompt and an answer",
            remedy="give a trace with requests",
        )
    times = np.array(rows.times, dtype=np.float64)
    order = np.argsort(times, kind="stable")
    arrival = spread_ties(times[order] - times[order[0]], over=jitter, rng=rng)
    # a spread beyond the next time stamp changes the order once more
    again = np.argsort(arrival, kind="stable")
    order, arrival = order[again], arrival[again]
    prompts = np.array(rows.prompts, dtype=np.int64)
    lists = exclusive_sum(np.array(rows.lengths, dtype=np.int64))
    ids = np.array(rows.ids, dtype=np.int64)
    if partial == "drop":
        lists, ids = _whole_blocks(lists, ids, prompts // rows.block_tokens)
    starts, entries = gather(lists, order)
    ids = ids[entries]
    return Requests(
        arrival=arrival,
        prompt_tokens=prompts[order],
        output_tokens=np.array(rows.outputs, dtype=np.int64)[order],
        block_tokens=rows.block_tokens,
        block_starts=starts,
        block_ids=ids if chained else chained_ids(starts, ids),
        has_blocks=rows.has_blocks,
        group=np.array(rows.groups, dtype=np.int64)[order],
        session=np.array(rows.sessions, dtype=np.int64)[order],
        names=rows.names,
    )


def _whole_blocks(
    starts: NDArray[np.int64], ids: NDArray[np.int64], most: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lengths = np.minimum(np.diff(starts), most)
    kept = exclusive_sum(lengths)
    entries = np.repeat(starts[:-1] - kept[:-1], lengths) + np.arange(kept[-1])
    return kept, ids[entries]


def spread_ties(
    arrival: NDArray[np.float64], *, over: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the times with those that are equal spread uniformly over the next seconds.

    Notes
    -----
    Requests of one time stamp keep their order. A time that occurs once stays.
    """
    if over == 0 or arrival.size < 2:
        return arrival
    tied = np.zeros(arrival.size, dtype=bool)
    tied[1:] = arrival[1:] == arrival[:-1]
    tied[:-1] |= tied[1:]
    later = rng.uniform(0.0, over, arrival.size) * tied
    return arrival + later[np.lexsort((later, arrival))]
