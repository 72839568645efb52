"""Fetch or recompute: one prompt, one way to fetch it, and what would change the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kvcost.breakeven.checks import cost_models, json_value, something_to_fetch
from kvcost.breakeven.ranges import (
    Ranges,
    describe_ranges,
    fetch_ranges,
    first_winning_tokens,
    whole_ranges,
    winning_ranges,
)
from kvcost.breakeven.rates import (
    break_even_bandwidth,
    break_even_bandwidth_without_overhead,
    break_even_overhead,
    hit_gpu_seconds,
    margin,
)
from kvcost.breakeven.sentence import change_sentence, gpu_note
from kvcost.breakeven.verdict import Verdict, verdict_of
from kvcost.errors import InvalidValueError
from kvcost.facts import Provenance, weakest
from kvcost.transfer import HitTime, TransferPath, hit_time, moved_bytes
from kvcost.units import parse_tokens

if TYPE_CHECKING:
    from kvcost.compute import PrefillCurve

__all__ = ["Decision", "Loading", "decide"]

Loading: TypeAlias = Literal["async", "sync"]

_BLOCKING: dict[str, float] = {"async": 0.0, "sync": 1.0}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Whether to fetch a prompt's KV or to compute it anew, and what would change that.

    Attributes
    ----------
    tokens : float
        Length of the prompt.
    fetched_tokens : float
        Tokens that are moved.
    kv_bytes_per_token : float
        Bytes that one token adds to the KV, one copy.
    recompute_seconds, hit_seconds : float
        Time to compute the prompt anew, and until it is ready with what is stored.
    bandwidth : float
        Rate of the path as it is.
    overhead_seconds, coding_seconds, suffix_seconds : float
        Parts of the hit that no bandwidth shortens: everything of the fetch but its bytes, encoding
        and decoding, and computing what is not fetched.
    break_even_bandwidth : float or None
        Rate of the path at which both take as long; None: no bandwidth wins.
    break_even_bandwidth_without_overhead : float or None
        The same if nothing but the bytes and computing the rest took time.
    break_even_overhead : float or None
        `overhead_seconds` at which both take as long; None: none is small enough.
    break_even_tokens : float or None
        Prompt length where fetching first wins; None: never, 0: from the first token on.
    fetch_ranges : tuple of (float, float or None)
        Prompt lengths at which fetching wins; None: no upper end.
    break_even_tokens_infinite_bandwidth : float or None
        Prompt length below which no bandwidth wins; None: none wins at any length.
    margin : float
        Share of the recompute time that fetching saves.
    verdict : {'fetch', 'recompute', 'tie'}
        Which is faster for the request; a tie within 1%.
    loading : {'async', 'sync'}
        Whether the engine works on while it loads.
    hit_gpu_seconds : float
        Time that a hit keeps the GPU from other work.
    verdict_gpu_seconds : {'fetch', 'recompute', 'tie'}
        Which keeps the GPU for less time: `hit_gpu_seconds` against `recompute_seconds`.
    method : str
        How the numbers were found.
    provenance : Provenance
        Weakest of the inputs.
    notes : tuple of str
        What is left out or assumed.
    """

    tokens: float
    fetched_tokens: float
    kv_bytes_per_token: float
    recompute_seconds: float
    hit_seconds: float
    bandwidth: float
    overhead_seconds: float
    coding_seconds: float
    suffix_seconds: float
    break_even_bandwidth: float | None
    break_even_bandwidth_without_overhead: float | None
    break_even_overhead: float | None
    break_even_tokens: float | None
    fetch_ranges: Ranges
    break_even_tokens_infinite_bandwidth: float | None
    margin: float
    verdict: Verdict
    loading: Loading
    hit_gpu_seconds: float
    verdict_gpu_seconds: Verdict
    method: str
    provenance: Provenance
    notes: tuple[str, ...]

    @property
    def fetch_wins(self) -> str:
        """Where fetching wins, in words; prompts that are stored whole."""
        if not self.fetched_tokens:
            return "nowhere near: too little of this prompt is stored to fetch any"
        partly = self.fetched_tokens != self.tokens
        words = describe_ranges(self.fetch_ranges)
        return f"{words} (chunks and last token left out)" if partly else words

    @property
    def sentence(self) -> str:
        """The verdict and what would change it, in one sentence."""
        return change_sentence(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the words, ready for JSON; what is not finite becomes None."""
        plain: dict[str, Any] = {
            field.name: json_value(getattr(self, field.name)) for field in fields(self)
        }
        return plain | {"fetch_wins": self.fetch_wins, "sentence": self.sentence}


def decide(
    *,
    tokens: float | str,
    kv_bytes_per_token: float,
    fixed_bytes_per_request: float,
    prefill: PrefillCurve,
    path: TransferPath,
    loading: Loading,
    hit_tokens: float | None = None,
    recompute_last_token: bool = False,
    kv_provenance: Provenance = Provenance.ASSUMED,
) -> Decision:
    """Return whether to fetch a prompt's KV or to compute it anew.

    Parameters
    ----------
    tokens : float or str
        Length of the prompt.
    kv_bytes_per_token : float
        Bytes that one token adds to the KV, one copy.
    fixed_bytes_per_request : float
        Bytes of a request that do not grow (windowed layers at a full window, recurrent state), all
        ranks together; 0 for none.
    prefill : PrefillCurve
        Time to compute a prompt, or the rest of one over what is cached.
    path : TransferPath
        Time to fetch. Its `chunk_tokens` turns on the rounding to whole chunks, which is off
        without.
    loading : {'async', 'sync'}
        Whether the engine works on while it loads. It changes GPU time, not the request's.
    hit_tokens : float, optional
        How many of the prompt's first tokens are stored; all if not given.
    recompute_last_token : bool
        Whether the last token is computed even if it is stored, as engines do. Off, so that times
        and closed forms agree.
    kv_provenance : Provenance
        How the bytes are known; assumed if not said.

    Returns
    -------
    Decision
        Times, break-even points and two verdicts: the request's time, and GPU time.

    Raises
    ------
    InvalidValueError
        If a number is out of bounds, or there is nothing to fetch.

    Notes
    -----
    Bandwidth and overhead are solved for this prompt as it is, with rounding and the rest that is
    computed. Lengths (`fetch_ranges`, `break_even_tokens`) are those of prompts that are stored
    whole, without rounding and with the last token fetched; `rounded_fetch_ranges` tries every
    length with both. Waiting in queues is not in it.

    Examples
    --------
    >>> from kvcost.compute import PrefillCurve
    >>> from kvcost.transfer import TransferPath
    >>> decision = decide(
    ...     tokens=16_000,
    ...     kv_bytes_per_token=48_408,
    ...     fixed_bytes_per_request=0,
    ...     prefill=PrefillCurve.from_points({16_000: 0.31}),
    ...     path=TransferPath(overhead_seconds=0.33, store_bandwidth="1.71 GB/s"),
    ...     loading="async",
    ... )
    >>> decision.verdict, decision.break_even_bandwidth, decision.verdict_gpu_seconds
    ('recompute', None, 'fetch')
    >>> print(decision.sentence)
    At 16,000 tokens no bandwidth wins, since the 0.33 s overhead alone exceeds the 0.31 s
    recompute: fetching needs prompts over 17,032 tokens at any bandwidth (at 1.71 GB/s it never
    wins), or an overhead below 0.31 s and more than 2.5 GB/s.
    """
    cost_models(prefill=prefill, path=path)
    length = float(parse_tokens(tokens, field="tokens"))
    if loading not in _BLOCKING:
        raise InvalidValueError(
            field="loading",
            value=loading,
            bound="must be async or sync",
            remedy="vLLM's connectors load async, LMCache's default is sync",
        )
    hit = hit_time(
        path=path,
        prefill=prefill,
        tokens=length,
        kv_bytes_per_token=kv_bytes_per_token,
        hit_tokens=hit_tokens,
        fixed_bytes=fixed_bytes_per_request,
        recompute_last_token=recompute_last_token,
    )
    sizes = {
        "kv_bytes_per_token": kv_bytes_per_token,
        "fixed_bytes_per_request": fixed_bytes_per_request,
    }
    something_to_fetch(**sizes)
    recompute = float(prefill.seconds(length))
    seconds = {"recompute_seconds": recompute, "hit_seconds": hit.seconds}
    gpu = hit_gpu_seconds(
        blocking=_BLOCKING[loading],
        load_seconds=hit.load_seconds,
        suffix_seconds=hit.suffix_seconds,
    )
    ranges = fetch_ranges(prefill, path, **sizes)
    return Decision(
        tokens=length,
        fetched_tokens=hit.fetched_tokens,
        kv_bytes_per_token=float(kv_bytes_per_token),
        **seconds,
        bandwidth=path.bandwidth,
        **_solved(hit, path, recompute=recompute, **sizes),
        suffix_seconds=hit.suffix_seconds,
        break_even_tokens=first_winning_tokens(ranges),
        fetch_ranges=ranges,
        break_even_tokens_infinite_bandwidth=_least_tokens(prefill, path, **sizes),
        margin=margin(**seconds),
        verdict=verdict_of(**seconds),
        loading=loading,
        hit_gpu_seconds=gpu,
        verdict_gpu_seconds=verdict_of(recompute_seconds=recompute, hit_seconds=gpu),
        method="exact for the cost model: lengths are roots of recompute minus hit; "
        f"hit: {hit.method}; prefill: {prefill.method}",
        provenance=weakest(prefill, path, kv_provenance),
        notes=(
            gpu_note(loading=loading, recompute_seconds=recompute, hit_gpu_seconds=gpu),
            *_notes(length, hit, prefill, fixed=bool(fixed_bytes_per_request)),
        ),
    )


def _coding_seconds_per_byte(path: TransferPath) -> float:
    times = [1 / rate for rate in (path.encode_rate, path.decode_rate) if rate is not None]
    return max(times, default=0.0) if path.pipelined else sum(times)


def _solved(
    hit: HitTime,
    path: TransferPath,
    *,
    recompute: float,
    kv_bytes_per_token: float,
    fixed_bytes_per_request: float,
) -> dict[str, Any]:
    """Return the break-even points of this prompt, and what they stand on."""
    if not hit.fetched_tokens:
        return {
            "overhead_seconds": hit.load_seconds,
            "coding_seconds": 0.0,
            "break_even_bandwidth": None,
            "break_even_bandwidth_without_overhead": None,
            "break_even_overhead": None,
        }
    moved = moved_bytes(
        fetched_tokens=hit.fetched_tokens,
        kv_bytes_per_token=kv_bytes_per_token,
        kv_copies=path.copies,
        fixed_bytes=fixed_bytes_per_request,
    )
    overhead = float(path.seconds(hit.fetched_tokens, kv_bytes_per_token=0.0))
    coding = moved * _coding_seconds_per_byte(path)
    left = recompute - hit.suffix_seconds
    on_the_wire = {
        "tokens": hit.fetched_tokens,
        "kv_bytes_per_token": moved / path.compression_ratio / hit.fetched_tokens,
    }
    slow_coder = path.pipelined and coding > left - overhead
    needed = break_even_bandwidth(
        **on_the_wire,
        recompute_seconds=left,
        overhead_seconds=overhead if path.pipelined else overhead + coding,
    )
    without = break_even_bandwidth_without_overhead(**on_the_wire, recompute_seconds=left)
    spare = break_even_overhead(
        tokens=hit.fetched_tokens,
        kv_bytes_per_token=moved / hit.fetched_tokens,
        recompute_seconds=left,
        bandwidth=1 / path.seconds_per_byte,
    )
    return {
        "overhead_seconds": overhead,
        "coding_seconds": coding,
        "break_even_bandwidth": None if slow_coder else _known(needed),
        "break_even_bandwidth_without_overhead": without if left > 0 else None,
        "break_even_overhead": _known(spare),
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _least_tokens(
    prefill: PrefillCurve,
    path: TransferPath,
    *,
    kv_bytes_per_token: float,
    fixed_bytes_per_request: float,
) -> float | None:
    coding = _coding_seconds_per_byte(path)
    per_token = float(path.seconds_per_token(kv_bytes_per_token=0.0))
    ranges = winning_ranges(
        constant=prefill.constant,
        per_token=prefill.per_token,
        per_token_squared=prefill.per_token_squared,
        floor=prefill.floor,
        fixed_seconds=float(path.fixed_seconds()) + coding * fixed_bytes_per_request,
        fetch_seconds_per_token=per_token + coding * kv_bytes_per_token * path.copies,
    )
    return first_winning_tokens(whole_ranges(ranges))


def _notes(tokens: float, hit: HitTime, prefill: PrefillCurve, *, fixed: bool) -> list[str]:
    notes = []
    if hit.suffix_tokens:
        notes.append(
            "break-even lengths are of prompts stored whole, without chunks and with the last "
            "token fetched"
        )
    if fixed:
        notes.append("bytes that do not grow are fetched in full by every hit, however short")
    if prefill.points and not prefill.points[0][0] <= tokens <= prefill.points[-1][0]:
        notes.append("the prompt lies outside the lengths at which prefill was measured")
    notes += [f"prefill: {note}" for note in prefill.notes]
    notes.append(f"not charged: {', '.join(hit.left_out)}")
    return notes
