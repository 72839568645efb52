"""What the break-even map computes in the browser, as the formulas print it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kvcost import formula as formulas
from kvcost.charts.engine import alt

if TYPE_CHECKING:
    from kvcost.compute import PrefillCurve

__all__ = ["BreakEvenText"]

_ENDLESS = "1/0"


@dataclass(frozen=True, kw_only=True)
class BreakEvenText:
    """Vega expressions of the map, and the sliders that they read.

    The sliders carry the names of the formulas' parameters, so a formula's text needs no change.

    Attributes
    ----------
    prefill : PrefillCurve
        Time to compute a prompt; its time a token can be moved.
    kv_bytes_per_token, overhead_seconds : float
        Where their sliders start.
    fixed_bytes_per_request : float
        Bytes of a request that do not grow.
    """

    prefill: PrefillCurve
    kv_bytes_per_token: float
    overhead_seconds: float
    fixed_bytes_per_request: float

    @cached_property
    def _curve_of_prefill(self) -> dict[str, str | float]:
        return {
            "prefill_constant": self.prefill.constant,
            "prefill_per_token_squared": self.prefill.per_token_squared,
            "prefill_floor": self.prefill.floor,
        }

    @cached_property
    def _ways(self) -> dict[str, str]:
        recompute = formulas.get("prefill_seconds").vega(
            {**self._curve_of_prefill, "new_tokens": "datum.tokens", "cached_tokens": 0.0}
        )
        moved = formulas.get("moved_bytes").vega(
            {
                "fetched_tokens": "datum.tokens",
                "kv_copies": 1.0,
                "fixed_bytes": self.fixed_bytes_per_request,
            }
        )
        return {"recompute": recompute, "moved": moved}

    @cached_property
    def cell(self) -> dict[str, str]:
        """Expressions of a cell, in the order in which they need each other."""
        per_byte = formulas.get("seconds_per_byte").vega(
            {
                "bandwidth": "datum.bandwidth",
                "compression_ratio": 1.0,
                "encode_rate": _ENDLESS,
                "decode_rate": _ENDLESS,
            }
        )
        transfer = formulas.get("transfer_seconds")
        unused = dict.fromkeys(
            set(transfer.parameters) - {"overhead_seconds", "moved_bytes", "seconds_per_byte"}, 0.0
        )
        hit = transfer.vega(
            {**unused, "moved_bytes": "datum.moved", "seconds_per_byte": "datum.per_byte"}
        )
        return {
            **self._ways,
            "per_byte": per_byte,
            "hit": hit,
            "ratio": "datum.recompute / datum.hit",
        }

    @cached_property
    def curve(self) -> dict[str, str]:
        """Expressions of a point of the threshold curves."""
        facts: dict[str, str | float] = {
            "tokens": "datum.tokens",
            "kv_bytes_per_token": "datum.moved / datum.tokens",
            "recompute_seconds": "datum.recompute",
        }
        return {
            **self._ways,
            "needed": formulas.get("break_even_bandwidth").vega(facts),
            "without": formulas.get("break_even_bandwidth_without_overhead").vega(facts),
        }

    @cached_property
    def least_tokens(self) -> str:
        """Length below which no bandwidth wins."""
        return formulas.get("break_even_tokens_infinite_bandwidth").vega(self._curve_of_prefill)

    @property
    def sentence(self) -> str:
        """Subtitle that follows the sliders."""
        return (
            "!isValid(least_tokens) ? 'No bandwidth wins at any length'"
            " : least_tokens <= 0 ? 'At every length some bandwidth wins'"
            " : 'No bandwidth wins below ' + format(least_tokens, ',.0f') + ' tokens'"
        )

    @property
    def params(self) -> list[Any]:
        """Sliders, and what is computed from them."""
        ends = {
            "overhead_seconds": (self.overhead_seconds, 0.0, max(1.0, 3 * self.overhead_seconds)),
            "kv_bytes_per_token": (
                self.kv_bytes_per_token,
                self.kv_bytes_per_token / 8,
                self.kv_bytes_per_token * 4,
            ),
            "prefill_per_token": (
                self.prefill.per_token,
                self.prefill.per_token / 8,
                self.prefill.per_token * 4,
            ),
        }
        words = {
            "overhead_seconds": "overhead, s ",
            "kv_bytes_per_token": "KV bytes per token ",
            "prefill_per_token": "prefill, s per token ",
        }
        made: list[Any] = [
            alt.param(
                name=name,
                value=value,
                bind=alt.binding_range(
                    min=low, max=high, step=(high - low) / 1000 or 1e-9, name=words[name]
                ),
            )
            for name, (value, low, high) in ends.items()
        ]
        return [*made, alt.param(name="least_tokens", expr=self.least_tokens)]
