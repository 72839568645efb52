"""Read a trace: which format it has, and what becomes of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from kvcost.errors import ConfigError, InvalidValueError
from kvcost.workload.checks import choice, number, source, whole
from kvcost.workload.traces import art, azure, bailian, burstgpt, mooncake, vidur
from kvcost.workload.traces.build import Partial, build
from kvcost.workload.traces.lines import first_line

if TYPE_CHECKING:
    import os
    from types import ModuleType

    import numpy as np

    from kvcost.workload.requests import Requests

__all__ = ["FORMATS", "Trace", "open_trace", "read_trace"]

_READERS: dict[str, ModuleType] = {
    # the most particular keys first, since a Bailian line has all that a Mooncake line has
    "bailian": bailian,
    "art": art,
    "mooncake": mooncake,
    "azure": azure,
    "burstgpt": burstgpt,
    "vidur": vidur,
}

FORMATS: tuple[str, ...] = tuple(_READERS)
"""Names of the formats that can be read."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A trace that was read.

    Attributes
    ----------
    requests : Requests
        Its requests, the first at 0 s.
    format : str
        Its format, one of `FORMATS`.
    left_out : int
        Rows without a prompt or an answer, mostly failed requests.
    tied : int
        Requests that had a time stamp in common with another one.
    notes : tuple of str
        What a reader must know to use it.
    """

    requests: Requests
    format: str
    left_out: int
    tied: int
    notes: tuple[str, ...]


def read_trace(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    block_tokens: int | None = None,
    partial: Partial = "drop",
    jitter: float = 0.0,
    rng: np.random.Generator | int = 0,
    limit: int | None = None,
    window: str | None = None,
) -> Requests:
    """Return the requests of a trace file; see `open_trace`.

    Parameters
    ----------
    path, format, block_tokens, partial, jitter, rng, limit, window
        See `open_trace`.

    Returns
    -------
    Requests
        Sorted by arrival, the first at 0 s.
    """
    return open_trace(
        path,
        format=format,
        block_tokens=block_tokens,
        partial=partial,
        jitter=jitter,
        rng=rng,
        limit=limit,
        window=window,
    ).requests


def open_trace(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    block_tokens: int | None = None,
    partial: Partial = "drop",
    jitter: float = 0.0,
    rng: np.random.Generator | int = 0,
    limit: int | None = None,
    window: str | None = None,
) -> Trace:
    """Read a trace file, plain or gzip.

    Parameters
    ----------
    path : path
        The file.
    format : str, optional
        One of `FORMATS`; told by the first line if not given.
    block_tokens : int, optional
        Tokens of one block, where the file has another size than its format usually has, or has no
        prefixes (then 16, the block of common engines).
    partial : {"drop", "keep"}
        What becomes of the id of a last block that is not full: engines cache whole blocks only,
        so it is dropped; keep it to follow the trace to the letter.
    jitter : float
        Seconds over which requests with one time stamp are spread, in their order. At 0 they stay
        a burst, be it real or a matter of rounding.
    rng : Generator or int
        Source of the jitter, or its seed.
    limit : int, optional
        Rows of the file to read; all if not given.
    window : str, optional
        Which recorded window (``trace_id``) to take from an ART file with several.

    Returns
    -------
    Trace
        Requests from time 0, in seconds, with what was left out.

    Raises
    ------
    ConfigError
        If the file cannot be read, is of no known format, or a line is not as it should be; the
        message names line, field and value.

    Notes
    -----
    Units of the time stamp follow the format: Mooncake has milliseconds, Azure the wall clock, the
    others seconds. Formats without prefixes give requests whose sharing is unknown, not zero.

    References
    ----------
    .. [1] R. Qin et al. (2025), Mooncake, FAST 25, https://github.com/kvcache-ai/Mooncake
    .. [2] Azure public dataset, https://github.com/Azure/AzurePublicDataset
    .. [3] Y. Wang et al. (2024), BurstGPT, https://github.com/HPMLL/BurstGPT
    .. [4] Qwen-Bailian usage traces, https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon
    .. [5] Vidur, https://github.com/microsoft/vidur
    """
    file = Path(path)
    name = _detect(file) if format is None else choice("format", format, FORMATS)
    reader = _READERS[name]
    choice("partial", partial, get_args(Partial))
    spread = number("jitter", jitter, unit="s")
    size = reader.BLOCK_TOKENS if block_tokens is None else block_tokens
    options: dict[str, Any] = {
        "block_tokens": whole("block_tokens", size, low=1),
        "limit": None if limit is None else whole("limit", limit, low=1),
    }
    if name == "art":
        options["window"] = window
    elif window is not None:
        raise InvalidValueError(
            field="window",
            value=window,
            bound=f"is no choice for a trace of format {name}",
            remedy="leave it out",
        )
    rows = reader.read(file, **options)
    requests = build(rows, partial=partial, chained=reader.CHAINED, jitter=spread, rng=source(rng))
    stamps = len(set(rows.times))
    notes = list(rows.notes)
    if rows.left_out:
        notes.append(f"{rows.left_out:,} rows without a prompt or an answer are left out")
    if not rows.has_blocks:
        notes.append("the trace has no prefixes: sharing cannot be measured")
    if stamps < len(rows.times) and not spread:
        notes.append(
            f"{len(rows.times):,} requests have {stamps:,} different time stamps: requests of one "
            "are a burst or rounded; jitter spreads them"
        )
    return Trace(
        requests=requests,
        format=name,
        left_out=rows.left_out,
        tied=len(rows.times) - stamps,
        notes=tuple(notes),
    )


def _detect(path: Path) -> str:
    """Return the format that the first line shows."""
    line = first_line(path)
    keys: set[str]
    if line.startswith("{"):
        try:
            keys = set(json.loads(line))
        except (ValueError, RecursionError):
            keys = set()
    else:
        keys = {name.strip() for name in line.split(",")}
    for name, reader in _READERS.items():
        if keys >= reader.KEYS:
            return name
    if "prompt" in keys or "conversations" in line[:500]:
        raise ConfigError(
            path=str(path),
            problem="holds prompts without lengths or times",
            remedy="tokenise them first and write arrived_at, num_prefill_tokens, "
            "num_decode_tokens as CSV (format vidur)",
        )
    raise ConfigError(
        path=str(path),
        problem=f"is of no known format (its first line: {line[:60]!r})",
        remedy=f"state the format: {', '.join(FORMATS)}",
    )
