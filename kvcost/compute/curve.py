"""How long a prefill takes, as a curve in the length of the prompt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kvcost.compute.fitting import fit_curve
from kvcost.compute.formulas import prefill_seconds
from kvcost.errors import InvalidValueError
from kvcost.facts.provenance import Provenance
from kvcost.units import parse_seconds, parse_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvcost.hardware.accelerator import Accelerator
    from kvcost.hardware.links import Efficiency
    from kvcost.model.spec import ModelSpec
    from kvcost.ops import Num

__all__ = ["PrefillCurve", "Weighting"]

Weighting: TypeAlias = Literal["unweighted", "relative"]

_WEIGHTINGS = ("unweighted", "relative")
_MOST_SECONDS = 86_400.0


@dataclass(frozen=True, kw_only=True)
class PrefillCurve:
    """Time to prefill: a floor, a constant, a part a token and a part for the square of the length.

    Parameters
    ----------
    constant : float
        Time that no token causes [s]; a fit to long prompts may make it negative.
    per_token : float
        Time of one token, attention aside [s/token].
    per_token_squared : float
        Time for the square of the length, which attention causes [s/token^2].
    floor : float
        Least time that a prefill takes [s]; 0 for none.
    provenance : Provenance
        How the numbers are known; assumed if not said.
    method : str
        How they were found.
    notes : tuple of str
        What a reader must know to use them.
    points : tuple of (float, float)
        Tokens and seconds that were measured, by length; empty if none were.
    residuals : tuple of float
        Relative error of the curve at each point, positive where it says too much.

    Raises
    ------
    InvalidValueError
        If a number is not finite, absurd, or negative where it may not be; or if the curve takes
        no time at all.

    Examples
    --------
    >>> curve = PrefillCurve.from_points({16_000: 0.31})
    >>> curve.per_token, curve.method
    (1.9375e-05, 'one length: proportional')
    >>> curve.seconds(1_000, cached_tokens=15_000)
    0.019375
    """

    constant: float
    per_token: float
    per_token_squared: float
    floor: float
    provenance: Provenance = Provenance.ASSUMED
    method: str = "stated"
    notes: tuple[str, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    residuals: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("constant", "per_token", "per_token_squared", "floor"):
            low = -_MOST_SECONDS if name == "constant" else 0.0
            object.__setattr__(self, name, _bounded(getattr(self, name), name, low=low))
        if not (self.floor > 0 or self.constant > 0 or self.per_token + self.per_token_squared > 0):
            raise InvalidValueError(
                field="PrefillCurve",
                value=(self.constant, self.per_token, self.per_token_squared, self.floor),
                bound="must take some time",
                remedy="state the time of a token",
            )
        object.__setattr__(self, "provenance", Provenance(self.provenance))

    @property
    def largest_residual(self) -> float | None:
        """The largest relative error at a measured point; None without points."""
        return max(map(abs, self.residuals), default=None)

    def seconds(self, new_tokens: Num, *, cached_tokens: Num = 0.0) -> Num:
        """Return the time to prefill new tokens over cached ones.

        Parameters
        ----------
        new_tokens : float or array
            Tokens to compute.
        cached_tokens : float or array
            Tokens before them whose KV is present.

        Returns
        -------
        float or array
            Seconds; 0 for no new token, nan for a negative number.
        """
        return prefill_seconds(
            prefill_floor=self.floor,
            prefill_constant=self.constant,
            prefill_per_token=self.per_token,
            prefill_per_token_squared=self.per_token_squared,
            new_tokens=new_tokens,
            cached_tokens=cached_tokens,
        )

    @classmethod
    def from_points(
        cls,
        points: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        *,
        weighting: Weighting = "unweighted",
        floor: float | str | None = None,
        provenance: Provenance = Provenance.MEASURED,
    ) -> PrefillCurve:
        """Return the curve through measured times of whole prompts, by least squares.

        Parameters
        ----------
        points : mapping of tokens to seconds, or iterable of such pairs
            Numbers in base units, or texts with units. A length may come several times: each time
            counts, none is averaged away.
        weighting : {"unweighted", "relative"}
            Whether errors in seconds or relative errors are made small. Unweighted follows the
            longest prompts most.
        floor : float or str, optional
            Least time that a prefill takes; none if not given.
        provenance : Provenance
            How the times are known.

        Returns
        -------
        PrefillCurve
            One length gives a line through zero, two give a line, three and more a parabola whose
            slope and bend are not negative.

        Raises
        ------
        InvalidValueError
            If there is no point, or tokens or seconds are not above zero and finite.

        Examples
        --------
        gpt-oss-120b on one H200:

        >>> curve = PrefillCurve.from_points({
        ...     2048: 0.0706, 8192: 0.2054, 16384: 0.4263, 32768: 0.983, 49152: 1.695,
        ... })
        >>> round(curve.constant, 4), round(curve.per_token, 7), round(curve.per_token_squared, 12)
        (0.028, 1.95e-05, 2.94e-10)
        """
        measured = _read_points(points)
        if weighting not in _WEIGHTINGS:
            raise InvalidValueError(
                field="weighting",
                value=weighting,
                bound=f"must be one of {', '.join(_WEIGHTINGS)}",
                remedy="unweighted makes errors in seconds small, relative those in percent",
            )
        least = 0.0 if floor is None else parse_seconds(floor, field="floor", allow_zero=True)
        tokens, seconds = zip(*measured, strict=True)
        constant, per_token, bend = fit_curve(tokens, seconds, relative=weighting == "relative")
        fitted = cls(constant=constant, per_token=per_token, per_token_squared=bend, floor=least)
        return cls(
            constant=constant,
            per_token=per_token,
            per_token_squared=bend,
            floor=least,
            provenance=provenance,
            method=_fit_method(len(set(tokens)), weighting, bent=fitted.per_token_squared > 0),
            notes=_fit_notes(measured, fitted),
            points=measured,
            residuals=tuple(fitted.seconds(n) / t - 1 for n, t in measured),
        )

    @classmethod
    def from_hardware(
        cls,
        model: ModelSpec,
        accelerator: Accelerator,
        *,
        accelerators: int,
        mfu: float | str | Efficiency,
        compute_dtype: str,
        floor: float | str | None = None,
        latent_head_dims: tuple[int, int] | None = None,
        sparse_top_k: int | None = None,
        index_heads: int | None = None,
        source_tokens: int | None = None,
        count_attention: bool = True,
    ) -> PrefillCurve:
        """Return the curve that a model's arithmetic gives on a replica.

        Parameters
        ----------
        model : ModelSpec
            Its active parameters and query heads must be known.
        accelerator : Accelerator
            What the replica is made of.
        accelerators : int
            How many.
        mfu : float, str or Efficiency
            Share of the peak that is achieved. There is no default; a bare number counts as
            assumed.
        compute_dtype : str
            Dtype that the matrix units compute in, which selects the peak.
        floor : float or str, optional
            Least time that a prefill takes; none if not given.
        latent_head_dims : tuple of int, optional
            Widths of a key and of a value head into which prefill expands MLA's latent. If not
            given, attention works on the latent itself, an upper bound for dense prefill.
        sparse_top_k : int, optional
            Tokens that a sparse-attention layer attends to at most. If not given, attention is
            counted as dense, an upper bound.
        index_heads : int, optional
            Query heads of the index that picks them; needed with `sparse_top_k`.
        source_tokens : int, optional
            Tokens of the encoder, where the model has one and its config does not fix them.
        count_attention : bool
            Whether attention's own arithmetic counts; without it prefill is a straight line, as
            *Biting the Bullet* has it.

        Returns
        -------
        PrefillCurve
            Its notes say what was counted and what was left out.

        Raises
        ------
        MissingFactError
            If active parameters, query heads, the peak or another fact that counts is not known.
        InvalidValueError
            If a number is out of bounds.
        """
        from kvcost.compute.arithmetic import prefill_terms  # noqa: PLC0415 - it needs the specs

        terms = prefill_terms(
            model,
            accelerator,
            accelerators=accelerators,
            mfu=mfu,
            compute_dtype=compute_dtype,
            latent_head_dims=latent_head_dims,
            sparse_top_k=sparse_top_k,
            index_heads=index_heads,
            source_tokens=source_tokens,
            count_attention=count_attention,
        )
        least = 0.0 if floor is None else parse_seconds(floor, field="floor", allow_zero=True)
        return cls(
            constant=0.0,
            per_token=terms.per_token,
            per_token_squared=terms.per_token_squared,
            floor=least,
            provenance=terms.provenance,
            method=terms.method,
            notes=terms.notes,
        )


def _bounded(value: Any, name: str, *, low: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not low <= value <= _MOST_SECONDS:
        raise InvalidValueError(
            field=f"PrefillCurve.{name}",
            value=value,
            bound=f"must be a number from {low:g} to {_MOST_SECONDS:g} in base units",
            remedy="give seconds, seconds a token, or seconds for a token squared",
        )
    return float(value)


def _read_points(
    points: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
) -> tuple[tuple[float, float], ...]:
    pairs = points.items() if isinstance(points, Mapping) else points
    try:
        listed = [(tokens, seconds) for tokens, seconds in pairs]
    except (TypeError, ValueError):
        raise InvalidValueError(
            field="points",
            value=points,
            bound="must be pairs of tokens and seconds",
            remedy="write e.g. {16000: 0.31}",
        ) from None
    if not listed:
        raise InvalidValueError(
            field="points",
            value=points,
            bound="must hold at least one point",
            remedy="write e.g. {16000: 0.31}",
        )
    read = [
        (
            float(parse_tokens(tokens, field="tokens of a prefill point")),
            parse_seconds(seconds, field="time of a prefill point", maximum=_MOST_SECONDS),
        )
        for tokens, seconds in listed
    ]
    return tuple(sorted(read))


def _fit_method(lengths: int, weighting: str, *, bent: bool) -> str:
    if lengths == 1:
        return "one length: proportional"
    if lengths == 2:
        return "two lengths: straight line"
    shape = "parabola" if bent else "straight line"
    return f"{lengths} lengths: {shape} by {weighting} least squares"


def _fit_notes(measured: tuple[tuple[float, float], ...], fitted: PrefillCurve) -> tuple[str, ...]:
    lengths = sorted({tokens for tokens, _ in measured})
    notes = []
    if len(lengths) == 1:
        notes.append("one length cannot show a constant or a bend: the rest is extrapolated")
    else:
        notes.append(f"measured from {lengths[0]:,.0f} to {lengths[-1]:,.0f} tokens")
    if len(lengths) > 2 and not (fitted.per_token and fitted.per_token_squared):
        held = "bend" if fitted.per_token else "slope"
        notes.append(f"the {held} is held at zero: the points would make it negative")
    mean = {n: _mean(t for tokens, t in measured if tokens == n) for n in lengths}
    falls = [(a, b) for a, b in pairwise(lengths) if mean[b] < mean[a]]
    notes += [f"the time falls from {a:,.0f} to {b:,.0f} tokens: check them" for a, b in falls]
    if fitted.constant < 0:
        notes.append(
            f"the constant, {fitted.constant:.3g} s, is negative: the curve holds for the lengths "
            "that were measured, not for short ones"
        )
    return tuple(notes)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
