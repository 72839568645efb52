"""A few numbers that say what a set of requests is like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kvcost.workload.requests import Requests

__all__ = ["RequestSummary", "summarise"]


@dataclass(frozen=True, kw_only=True)
class RequestSummary:
    """Counts and means of a set of requests.

    Attributes
    ----------
    requests : int
        Requests.
    duration : float
        Time from the first arrival to the last [s].
    rate : float
        Requests a second between them.
    gap_scv : float
        Squared coefficient of variation of the gaps: 0 even, 1 Poisson; nan without gaps.
    prompt_tokens, output_tokens : float
        Mean tokens of prompt and answer.
    longest_prompt : int
        Tokens of the longest prompt.
    block_tokens : int
        Tokens of one block.
    blocks : int
        Blocks with an id, over all prompts.
    groups, sessions : int
        Different groups and sessions among the requests.
    """

    requests: int
    duration: float
    rate: float
    gap_scv: float
    prompt_tokens: float
    output_tokens: float
    longest_prompt: int
    block_tokens: int
    blocks: int
    groups: int
    sessions: int


def summarise(requests: Requests) -> RequestSummary:
    """Return counts and means of the requests.

    Examples
    --------
    >>> from kvcost.workload import even_burst
    >>> even_burst(requests=500, span=60.0, shared_tokens=65536).summary().prompt_tokens
    65792.0
    """
    gaps = np.diff(requests.arrival)
    mean_gap = float(gaps.mean()) if gaps.size else 0.0
    some = len(requests) > 0
    return RequestSummary(
        requests=len(requests),
        duration=requests.duration,
        rate=requests.rate if some else 0.0,
        gap_scv=float(gaps.var()) / mean_gap**2 if mean_gap > 0 else float("nan"),
        prompt_tokens=float(requests.prompt_tokens.mean()) if some else 0.0,
        output_tokens=float(requests.output_tokens.mean()) if some else 0.0,
        longest_prompt=int(requests.prompt_tokens.max()) if some else 0,
        block_tokens=requests.block_tokens,
        blocks=int(requests.blocks.sum()),
        groups=int(np.unique(requests.group[requests.group >= 0]).size),
        sessions=int(np.unique(requests.session[requests.session >= 0]).size),
    )
