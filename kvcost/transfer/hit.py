"""How long a hit takes: fetch what is held, compute the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.facts.provenance import Provenance, weakest
from kvcost.hardware.checks import whole
from kvcost.transfer.checks import amounts
from kvcost.transfer.hits import fetched_tokens, gained_tokens
from kvcost.transfer.times import layerwise_seconds

if TYPE_CHECKING:
    from kvcost.ops import Num
    from kvcost.transfer.path import TransferPath

__all__ = ["HitTime", "Prefill", "hit_time"]


class Prefill(Protocol):
    """What gives the time to compute tokens: `kvcost.compute.PrefillCurve`, or your own."""

    @property
    def provenance(self) -> Provenance:
        """How its numbers are known."""
        ...

    def seconds(self, new_tokens: Num, *, cached_tokens: Num = 0.0) -> Num:
        """Return the time to compute new tokens over cached ones."""
        ...


@dataclass(frozen=True, kw_only=True)
class HitTime:
    """Time until a prompt is ready of which a store holds a part.

    Parameters
    ----------
    seconds : float or array
        Time from the lookup to the first token, without waiting in queues.
    load_seconds : float or array
        Time of the fetch; the lookup alone where nothing is fetched.
    suffix_seconds : float or array
        Time to compute what is neither fetched nor held.
    fetched_tokens : float or array
        Tokens that are moved.
    gained_tokens : float or array
        Tokens that the fetch saves from being computed.
    suffix_tokens : float or array
        Tokens that are computed.
    left_out : tuple of str
        Cost terms that are not charged.
    method : str
        How the parts were put together.
    provenance : Provenance
        Weakest of path and prefill.
    """

    seconds: Num
    load_seconds: Num
    suffix_seconds: Num
    fetched_tokens: Num
    gained_tokens: Num
    suffix_tokens: Num
    left_out: tuple[str, ...]
    method: str
    provenance: Provenance


def hit_time(
    *,
    path: TransferPath,
    prefill: Prefill,
    tokens: Num,
    kv_bytes_per_token: Num,
    hit_tokens: Num | None = None,
    local_tokens: Num = 0.0,
    fixed_bytes: Num = 0.0,
    recompute_last_token: bool = True,
    overlap_layers: int | None = None,
) -> HitTime:
    """Return the time until a prompt is ready of which a store holds a part.

    Parameters
    ----------
    path : TransferPath
        Way of the fetch.
    prefill : Prefill
        Time to compute, as `kvcost.compute.PrefillCurve` gives it.
    tokens : float or array
        Length of the prompt.
    kv_bytes_per_token : float or array
        Bytes that one token adds to the KV, one copy.
    hit_tokens : float or array, optional
        Tokens of the prompt that the store holds; all if not given.
    local_tokens : float or array
        Tokens of the prompt that the replica holds already.
    fixed_bytes : float or array
        Bytes of the request whatever its length, fetched with every hit.
    recompute_last_token : bool
        Whether the last token is computed even when all is held, as engines do. The closed forms of
        break-even leave it out.
    overlap_layers : int, optional
        Layers that load while others compute; the fetch comes first, whole, if not given.

    Returns
    -------
    HitTime
        The time and its parts.

    Raises
    ------
    InvalidValueError
        If a number is out of bounds.

    Notes
    -----
    Where the fetch would gain no token, nothing is moved and the lookup alone is paid. Lookup and
    overhead come before the layers overlap.

    Examples
    --------
    >>> from kvcost.compute import PrefillCurve
    >>> from kvcost.transfer import TransferPath
    >>> hit = hit_time(
    ...     path=TransferPath(overhead_seconds=0.33, store_bandwidth=1.71e9, chunk_tokens=256),
    ...     prefill=PrefillCurve.from_points({16_000: 0.31}),
    ...     tokens=16_000,
    ...     kv_bytes_per_token=48_408,
    ... )
    >>> hit.fetched_tokens, hit.suffix_tokens, round(hit.seconds, 4)
    (15872.0, 128.0, 0.7818)
    """
    length = amounts(tokens, field="tokens", above_zero=True)
    held = length if hit_tokens is None else amounts(hit_tokens, field="hit_tokens")
    local = amounts(local_tokens, field="local_tokens")
    state = amounts(fixed_bytes, field="fixed_bytes")
    if not isinstance(recompute_last_token, bool):
        raise InvalidValueError(
            field="recompute_last_token", value=recompute_last_token,
            bound="must be True or False", remedy="engines recompute it",
        )  # fmt: skip
    last = 1.0 if recompute_last_token else 0.0
    kept = np.minimum(local, length - last)
    asked = {
        # the formulas keep one token back; without that rule it is one that does not exist
        "tokens": length + 1.0 - last,
        "hit_tokens": held,
        "local_tokens": kept,
        "chunk_tokens": 1.0 if path.chunk_tokens is None else float(path.chunk_tokens),
    }
    gained, fetched = gained_tokens(**asked), fetched_tokens(**asked)
    load = path.seconds(fetched, kv_bytes_per_token=kv_bytes_per_token, fixed_bytes=state)
    load = np.where(gained > 0, load, path.lookup_seconds)
    suffix_tokens = length - kept - gained
    suffix = prefill.seconds(suffix_tokens, cached_tokens=kept + gained)
    seconds = load + suffix
    method = "the fetch, then the rest computed"
    if overlap_layers is not None:
        count = whole(overlap_layers, field="overlap_layers")
        first = np.where(gained > 0, path.fixed_seconds(), path.lookup_seconds)
        together = layerwise_seconds(load_seconds=load - first, suffix_seconds=suffix, layers=count)
        seconds = first + together
        method = f"layers load while others compute, {count} of them"
    if path.chunk_tokens is not None:
        method += f"; whole chunks of {path.chunk_tokens} tokens"
    method += "; the last token is computed" if recompute_last_token else ""
    return HitTime(
        seconds=_plain(seconds),
        load_seconds=_plain(load),
        suffix_seconds=_plain(suffix),
        fetched_tokens=_plain(fetched),
        gained_tokens=_plain(gained),
        suffix_tokens=_plain(suffix_tokens),
        left_out=path.left_out,
        method=method,
        provenance=weakest(path, prefill),
    )


def _plain(value: Num) -> Num:
    return value if np.ndim(value) else float(value)
