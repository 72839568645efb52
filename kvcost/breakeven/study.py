"""A model's numbers beside published ones: differences are shown, never fitted away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvcost.breakeven.lengths import break_even_tokens_infinite_bandwidth
from kvcost.breakeven.rates import (
    break_even_bandwidth_without_overhead,
    implied_kv_bytes_per_token,
    relative_residual,
)
from kvcost.compute import PrefillCurve
from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.facts import published
from kvcost.transfer import TransferPath
from kvcost.units import format_quantity, format_ratio, format_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Comparison", "biting_the_bullet", "glm_5_3_remote_kv", "residual"]

_GLM = "glm-5.3-remote-kv"
_BULLET = "bite-the-bullet"
_ANY_LENGTH = 1000.0  # the ratios are of costs per token


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One number that the model gives and the one that was published.

    Attributes
    ----------
    quantity : str
        What it is.
    unit : str
        Base unit.
    computed : float
        What the model gives.
    published : float
        What the source says.
    remark : str
        Why they differ, as far as that is known; empty if they agree.
    """

    quantity: str
    unit: str
    computed: float
    published: float
    remark: str = ""

    def __post_init__(self) -> None:
        for field in ("computed", "published"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
                raise InvalidValueError(
                    field=field,
                    value=value,
                    bound="must be a number",
                    remedy=f"state the {field} {self.quantity} in {self.unit}",
                )
        if self.published == 0:
            raise InvalidValueError(
                field="published",
                value=self.published,
                bound="must not be 0",
                remedy="a relative difference needs something to relate to",
            )

    @property
    def relative_difference(self) -> float:
        """What the model gives above the published number, as a share of it."""
        return self.computed / self.published - 1

    @property
    def sentence(self) -> str:
        """Both numbers and their difference in words."""
        computed = format_quantity(self.computed, self.unit)
        published = format_quantity(self.published, self.unit)
        difference = format_ratio(self.relative_difference, digits=2)
        text = f"{self.quantity}: {computed} computed, {published} published ({difference})"
        return f"{text}; {self.remark}" if self.remark else text

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the difference, ready for JSON."""
        return {
            "quantity": self.quantity,
            "unit": self.unit,
            "computed": self.computed,
            "published": self.published,
            "relative_difference": self.relative_difference,
            "remark": self.remark,
        }


def residual(*, quantity: str, measured_seconds: float, predicted_seconds: float) -> Comparison:
    """Return what a model leaves unexplained of a measured time.

    Parameters
    ----------
    quantity : str
        What was measured.
    measured_seconds, predicted_seconds : float
        The two times.

    Returns
    -------
    Comparison
        With a remark that names the unexplained time and its share.

    Examples
    --------
    >>> report = residual(
    ...     quantity="hit time",
    ...     measured_seconds=0.88,
    ...     predicted_seconds=0.33 + 48_408 * 16e3 / 1.71e9,
    ... )
    >>> report.remark
    '97.06 ms (11% of what was measured) is not explained by the model and is not fitted away'
    """
    share = relative_residual(
        measured_seconds=measured_seconds, predicted_seconds=predicted_seconds
    )
    left = format_quantity(measured_seconds - predicted_seconds, "s")
    return Comparison(
        quantity=quantity,
        unit="s",
        computed=predicted_seconds,
        published=measured_seconds,
        remark=f"{left} ({format_ratio(share, digits=2)} of what was measured) is not explained "
        "by the model and is not fitted away",
    )


def glm_5_3_remote_kv(*, kv_bytes_per_token: float) -> tuple[Comparison, ...]:
    """Return what the GLM-5.3 study prints beside what its own inputs give.

    Parameters
    ----------
    kv_bytes_per_token : float
        Bytes that one token adds to the KV, from the model's geometry.

    Returns
    -------
    tuple of Comparison
        Bytes per token, break-even bandwidth, least length at any bandwidth, and the hit time.

    Examples
    --------
    >>> for comparison in glm_5_3_remote_kv(kv_bytes_per_token=48_408):
    ...     print(f"{comparison.quantity}: {comparison.relative_difference:+.1%}")
    KV bytes per token: -1.2%
    break-even bandwidth: -1.2%
    break-even length at infinite bandwidth: +0.2%
    hit time: -11.0%
    """
    recompute = published(_GLM, quantity="prefill_time")[0]
    hit = published(_GLM, quantity="load_time")[0]
    overhead = _number(_GLM, "transfer_overhead")
    tokens, seconds = recompute.tokens, recompute.value
    if tokens is None or seconds is None or hit.value is None:
        raise MissingFactError(
            fact="the time of a prompt", subject=_GLM, remedy="install kvcost again"
        )
    rate = _number(_GLM, "break_even_bandwidth")
    curve = PrefillCurve.from_points({tokens: seconds})
    path = TransferPath(
        overhead_seconds=overhead,
        store_bandwidth=published(_GLM, quantity="bandwidth", statistic="max")[0].value,
    )
    least = break_even_tokens_infinite_bandwidth(
        prefill_constant=curve.constant,
        prefill_per_token=curve.per_token,
        prefill_per_token_squared=curve.per_token_squared,
        prefill_floor=curve.floor,
        overhead_seconds=overhead,
    )
    without = break_even_bandwidth_without_overhead(
        tokens=tokens, kv_bytes_per_token=kv_bytes_per_token, recompute_seconds=seconds
    )
    implied = implied_kv_bytes_per_token(tokens=tokens, load_seconds=seconds, bandwidth=rate)
    return (
        Comparison(
            quantity="KV bytes per token",
            unit="byte/token",
            computed=kv_bytes_per_token,
            published=implied,
            remark="implied by the study's break-even bandwidth and recompute time",
        ),
        Comparison(
            quantity="break-even bandwidth",
            unit="byte/s",
            computed=without,
            published=rate,
            remark=f"without the overhead of {format_quantity(overhead, 's')}, which alone takes "
            f"longer than the recompute of {format_quantity(seconds, 's')}: with it no bandwidth "
            "wins",
        ),
        Comparison(
            quantity="break-even length at infinite bandwidth",
            unit="token",
            computed=least,
            published=_number(_GLM, "break_even_tokens"),
            remark="the study rounds",
        ),
        residual(
            quantity="hit time",
            measured_seconds=hit.value,
            predicted_seconds=float(path.seconds(tokens, kv_bytes_per_token=kv_bytes_per_token)),
        ),
    )


def biting_the_bullet(
    *, kv_bytes_per_token: float, prefill: PrefillCurve, paths: Mapping[str, TransferPath]
) -> tuple[Comparison, ...]:
    """Return what *Biting the Bullet* prints on tiers beside what its own inputs give.

    Parameters
    ----------
    kv_bytes_per_token : float
        Bytes that one token adds to the KV, from the model's geometry.
    prefill : PrefillCurve
        Time to compute a prompt.
    paths : mapping of str to TransferPath
        The tiers, by their names in the catalogue (``bite-the-bullet-hbm``).

    Returns
    -------
    tuple of Comparison
        Bytes per token, prefill times, transfer times and their ratios.
    """
    found = [
        Comparison(
            quantity="KV bytes per token",
            unit="byte/token",
            computed=kv_bytes_per_token,
            published=_number(_BULLET, "kv_bytes_per_token"),
        )
    ]
    for quantity in ("prefill_time", "transfer_time", "prefill_over_transfer"):
        for row in published(_BULLET, quantity=quantity):
            tier = row.condition.removeprefix("tier=")
            if row.value is None or (tier not in paths and quantity != "prefill_time"):
                continue
            tokens = _ANY_LENGTH if row.tokens is None else row.tokens
            computed = float(prefill.seconds(tokens))
            if quantity != "prefill_time":
                moving = float(paths[tier].seconds(tokens, kv_bytes_per_token=kv_bytes_per_token))
                computed = moving if quantity == "transfer_time" else computed / moving
            label = quantity.replace("_", " ")
            where = "" if quantity == "prefill_time" else f", {tier}"
            length = "" if row.tokens is None else f", {format_tokens(row.tokens)}"
            found.append(
                Comparison(
                    quantity=label + length + where,
                    unit="1" if row.unit == "ratio" else row.unit,
                    computed=computed,
                    published=row.value,
                )
            )
    return tuple(found)


def _number(study: str, quantity: str) -> float:
    value = published(study, quantity=quantity)[0].value
    if value is None:
        raise MissingFactError(fact=quantity, subject=study, remedy="install kvcost again")
    return value
