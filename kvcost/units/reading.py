"""One quantity out of a text or a Python number, or a message that says why not."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from numbers import Real
from typing import NoReturn

from kvcost.errors import InvalidValueError, UnitError
from kvcost.units.spelling import (
    FLOPS,
    PREFIXES,
    RATIO,
    SPELLINGS,
    TOKENS,
    Kind,
    same_but_for_case,
)

__all__ = ["read_number", "read_text"]

_BARE_FLOPS_FROM = 1e9  # a bare 989 means TFLOP/s, a bare 989e12 can only mean FLOP/s
_LONGEST_TEXT = 64

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?)"
    r"\s*(?P<unit>[^0-9\s.,_+-].*)?"
)
_COMMA_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9,])")


def read_number(value: object, kind: Kind, *, field: str) -> float:
    """Return a number that came from Python, in base units.

    Parameters
    ----------
    value : object
        An integer or a float, or a fraction.
    kind : Kind
        The kind of quantity that is wanted.
    field : str
        Name of the parameter, for the message.

    Returns
    -------
    float
        The number, finite; its bounds are not looked at.

    Raises
    ------
    InvalidValueError
        If the value is no finite number.

    Examples
    --------
    >>> read_number(16000, TOKENS, field="tokens")
    16000.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidValueError(
            field=field,
            value=value,
            bound=f"must be {kind.noun}, as text or as a number",
            remedy=f'write e.g. "{kind.example}"',
        )
    try:
        number = float(value)
    except OverflowError:
        # The digits of such a number may be too many to print.
        _refuse_not_finite("(an integer beyond 1e308)", kind, field)
    if not math.isfinite(number):
        _refuse_not_finite(value, kind, field)
    return number


def read_text(text: str, kind: Kind, *, field: str) -> Fraction:
    """Return what a text says, in base units and exactly.

    Parameters
    ----------
    text : str
        A number and its unit.
    kind : Kind
        The kind of quantity that is wanted.
    field : str
        Name of the parameter or flag, for the message.

    Returns
    -------
    Fraction
        The quantity; its bounds are not looked at.

    Raises
    ------
    UnitError
        If the unit is missing, unknown, ambiguous or of another kind.
    InvalidValueError
        If there is no number that can be read in one way only.

    Examples
    --------
    >>> from kvcost.units.spelling import BYTES
    >>> read_text("0.1 GB", BYTES, field="size")
    Fraction(100000000, 1)
    """
    found = _QUANTITY.fullmatch(_plain(text, kind, field))
    if found is None:
        raise InvalidValueError(
            field=field,
            value=text,
            bound=f"cannot be read as {kind.noun}",
            remedy=f'write e.g. "{kind.example}"',
        )
    digits, exponent = found["number"], found["exponent"] or ""
    if len(exponent) > 5:
        raise InvalidValueError(
            field=field,
            value=text,
            bound="has an exponent of more than four digits",
            remedy=f'write e.g. "{kind.example}"',
        )
    number = Fraction(digits.replace("_", ""))
    unit = "".join((found["unit"] or "").split())
    if not unit:
        return _bare(number, digits, text, kind, field)
    known = SPELLINGS.get(unit)
    if known is None or known.kind is not kind:
        _refuse_unit(unit, digits, text, kind, field)
    return number * known.factor


def _plain(text: str, kind: Kind, field: str) -> str:
    """Return the text without outer blanks and digit groups, or refuse what cannot be read."""
    remedy = f'write e.g. "{kind.example}"'
    stripped = text.strip()
    if not stripped:
        raise InvalidValueError(field=field, value=text, bound="is empty", remedy=remedy)
    if len(stripped) > _LONGEST_TEXT:
        bound = f"is longer than {_LONGEST_TEXT} characters"
        raise InvalidValueError(field=field, value=text, bound=bound, remedy=remedy)
    if stripped.lstrip("+-").lower().startswith(("nan", "inf")):
        _refuse_not_finite(text, kind, field)
    if "," not in stripped:
        return stripped
    groups = _COMMA_GROUPS.match(stripped) if kind is TOKENS else None
    if groups is None or "," in stripped[groups.end() :]:
        raise InvalidValueError(
            field=field,
            value=text,
            bound="has a comma that may be a decimal point or may part groups of digits",
            remedy=f'write a decimal point, or no comma at all: "{kind.example}"',
        )
    return stripped.replace(",", "")


def _bare(number: Fraction, digits: str, text: str, kind: Kind, field: str) -> Fraction:
    if kind is TOKENS and "." in digits and "e" not in digits.lower():
        raise InvalidValueError(
            field=field,
            value=text,
            bound="must be a whole number of tokens, written without a point",
            remedy='write e.g. "16000", "16k" or "1.5k"',
        )
    bare_allowed = kind in {TOKENS, RATIO} or (kind is FLOPS and abs(number) >= _BARE_FLOPS_FROM)
    if bare_allowed or number == 0:
        return number
    remedy = "write " + " or ".join(f'"{digits} {unit}"' for unit in kind.usual)
    raise UnitError(field=field, value=text, bound="has no unit", remedy=remedy)


def _refuse_unit(unit: str, digits: str, text: str, kind: Kind, field: str) -> NoReturn:
    remedy = f'write e.g. "{kind.example}"'
    known = SPELLINGS.get(unit)
    near = same_but_for_case(unit, kind)
    if near:
        remedy = "write " + " or ".join(f'"{digits} {u}" ({label})' for u, label in near.items())
    if kind is TOKENS and unit in {"K", "Ktoken", "Ktokens", "Ktok"}:
        bound = "may be in thousands or in units of 1,024 tokens"
        remedy = f'write "{digits}k" for thousands or "{digits}Ki" for units of 1,024'
    elif kind is not TOKENS and unit in PREFIXES:
        bound = f"has the prefix {unit} but no unit"
        remedy = f'write e.g. "{kind.example}"'
    elif known is not None:
        bound = f"is {known.kind.noun}, {kind.noun} is wanted"
    elif near:
        bound = f"has the unit {unit}, which does not exist in this letter case"
    else:
        bound = f"has the unknown unit {unit}, {kind.noun} is wanted"
    raise UnitError(field=field, value=text, bound=bound, remedy=remedy)


def _refuse_not_finite(value: object, kind: Kind, field: str) -> NoReturn:
    raise InvalidValueError(
        field=field,
        value=value,
        bound="must be a finite number",
        remedy=f'write e.g. "{kind.example}"',
    )
