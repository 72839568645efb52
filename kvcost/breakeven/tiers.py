"""Recompute against several tiers, for a list of prompt lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvcost.breakeven.checks import json_value, something_to_fetch
from kvcost.breakeven.rates import margin
from kvcost.breakeven.verdict import Verdict, verdict_of
from kvcost.errors import InvalidValueError
from kvcost.facts import Provenance, weakest
from kvcost.transfer import TransferPath
from kvcost.units import parse_seconds, parse_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kvcost.compute import PrefillCurve
    from kvcost.hardware import Tier

__all__ = ["RECOMPUTE", "TierRow", "best_of_tiers", "tier_ladder", "tier_path"]

RECOMPUTE = "recompute"
"""What `best_of_tiers` names where no tier is faster than computing anew."""


@dataclass(frozen=True, kw_only=True)
class TierRow:
    """One prompt length against one tier.

    Attributes
    ----------
    tokens : float
        Length of the prompt.
    tier : str
        Where the KV comes from.
    recompute_seconds, hit_seconds : float
        Time to compute the prompt anew, and to fetch it from the tier.
    verdict : {'fetch', 'recompute', 'tie'}
        Which is faster.
    """

    tokens: float
    tier: str
    recompute_seconds: float
    hit_seconds: float
    verdict: Verdict

    @property
    def ratio(self) -> float:
        """How many times longer the recompute takes."""
        return self.recompute_seconds / self.hit_seconds

    @property
    def margin(self) -> float:
        """Share of the recompute time that fetching saves."""
        saved: float = margin(
            recompute_seconds=self.recompute_seconds, hit_seconds=self.hit_seconds
        )
        return saved

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, the ratio and the margin, ready for JSON."""
        found = {**vars(self), "ratio": self.ratio, "margin": self.margin}
        return {name: json_value(value) for name, value in found.items()}


def tier_path(tier: Tier, *, overhead_seconds: float | str | None = None) -> TransferPath:
    """Return the way from a tier: its bandwidth and the fixed time of a fetch.

    Parameters
    ----------
    tier : Tier
        Where the KV comes from.
    overhead_seconds : float or str, optional
        Fixed time of a fetch; the tier's own if not given.

    Returns
    -------
    TransferPath
        With the tier's provenance, or assumed if the overhead was given.

    Raises
    ------
    MissingFactError
        If neither states an overhead.
    InvalidValueError
        If the overhead is no time.
    """
    given = overhead_seconds is not None
    fixed = tier.overhead() if overhead_seconds is None else overhead_seconds
    return TransferPath(
        overhead_seconds=parse_seconds(fixed, field="overhead_seconds", allow_zero=True),
        store_bandwidth=tier.bandwidth,
        provenance=weakest(tier, Provenance.ASSUMED) if given else tier.provenance,
    )


def tier_ladder(
    lengths: Iterable[float | str],
    tiers: Mapping[str, TransferPath],
    prefill: PrefillCurve,
    *,
    kv_bytes_per_token: float,
    fixed_bytes_per_request: float,
) -> tuple[TierRow, ...]:
    """Return recompute against each tier, for each length.

    Parameters
    ----------
    lengths : iterable of float or str
        Prompt lengths in tokens.
    tiers : mapping of str to TransferPath
        The tiers by name, in the order to show.
    prefill : PrefillCurve
        Time to compute a prompt.
    kv_bytes_per_token : float
        Bytes that one token adds to the KV, one copy.
    fixed_bytes_per_request : float
        Bytes of a request that do not grow.

    Returns
    -------
    tuple of TierRow
        By length, then by tier.

    Raises
    ------
    InvalidValueError
        If there is no length, no tier or nothing to fetch, or a number is out of bounds.

    Notes
    -----
    The whole prompt is fetched; rounding to chunks and the recomputed last token are left out.

    Examples
    --------
    Llama-3.3-70B on 4 x H100, as *Biting the Bullet* counts it:

    >>> from kvcost.compute import PrefillCurve
    >>> from kvcost.hardware import tiers
    >>> prefill = PrefillCurve.from_points({8_000: 0.5710819})
    >>> paths = {tier.medium: tier_path(tier) for tier in tiers("bite-the-bullet")}
    >>> rows = tier_ladder(
    ...     [8_000], paths, prefill, kv_bytes_per_token=327_680, fixed_bytes_per_request=0
    ... )
    >>> [(row.tier, round(row.ratio, 2)) for row in rows]
    [('HBM', 2919.2), ('host RAM', 47.93), ('RDMA', 43.57), ('NVMe', 1.52)]
    """
    wanted = [float(parse_tokens(length, field="lengths")) for length in lengths]
    for field, items in (("lengths", wanted), ("tiers", tiers)):
        if not items:
            raise InvalidValueError(
                field=field,
                value=items,
                bound="must not be empty",
                remedy="name at least one prompt length and one tier",
            )
    something_to_fetch(
        kv_bytes_per_token=kv_bytes_per_token, fixed_bytes_per_request=fixed_bytes_per_request
    )
    rows = []
    for tokens in wanted:
        recompute = float(prefill.seconds(tokens))
        for name, path in tiers.items():
            hit = float(
                path.seconds(
                    tokens,
                    kv_bytes_per_token=kv_bytes_per_token,
                    fixed_bytes=fixed_bytes_per_request,
                )
            )
            rows.append(
                TierRow(
                    tokens=tokens,
                    tier=name,
                    recompute_seconds=recompute,
                    hit_seconds=hit,
                    verdict=verdict_of(recompute_seconds=recompute, hit_seconds=hit),
                )
            )
    return tuple(rows)


def best_of_tiers(rows: Iterable[TierRow]) -> dict[float, str]:
    """Return the fastest way for each length.

    Parameters
    ----------
    rows : iterable of TierRow
        What `tier_ladder` returns.

    Returns
    -------
    dict of float to str
        The tier with the shortest hit for each length, or ``recompute`` where that is shorter.
        A draw goes to the tier, and among tiers to the one named first.
    """
    fastest: dict[float, tuple[float, str]] = {}
    for row in rows:
        best = fastest.get(row.tokens)
        if best is None:
            best = (row.recompute_seconds, RECOMPUTE)
        draw = row.hit_seconds == best[0] and best[1] == RECOMPUTE
        if row.hit_seconds < best[0] or draw:
            best = (row.hit_seconds, row.tier)
        fastest[row.tokens] = best
    return {tokens: name for tokens, (_, name) in fastest.items()}
