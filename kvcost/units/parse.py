"""Text or numbers to base units, refused where they could be read in two ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError
from kvcost.units.reading import read_number, read_text
from kvcost.units.spelling import BYTES, FLOPS, RATE, RATIO, SECONDS, TOKENS, Kind

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "parse_assignment",
    "parse_bytes",
    "parse_flops",
    "parse_rate",
    "parse_ratio",
    "parse_seconds",
    "parse_tokens",
]

_LIMIT = 1e30  # above it, and below its inverse, nothing in this field has a size
_TOKEN_LIMIT = 2.0**53  # the largest count up to which every float is exact


def parse_bytes(
    value: str | float, *, field: str, allow_zero: bool = False, maximum: float = _LIMIT
) -> float:
    """Return a size in bytes.

    Parameters
    ----------
    value : str or float
        Text with a unit (``320 KiB``, ``2.5 GB``), or a number of bytes.
    field : str
        Name of the parameter or flag, for the message.
    allow_zero : bool
        Whether zero is a valid size.
    maximum : float
        Largest size allowed, in bytes.

    Returns
    -------
    float
        Bytes.

    Raises
    ------
    UnitError
        If the unit is missing, unknown, ambiguous or of another kind; bits (``Gb``) are refused.
    InvalidValueError
        If the value is no finite number within the bounds.

    Notes
    -----
    kB, KB, MB, GB are powers of 1,000; KiB, MiB, GiB are powers of 1,024.

    Examples
    --------
    >>> parse_bytes("320 KiB", field="size"), parse_bytes("0.1GB", field="size")
    (327680.0, 100000000.0)
    """
    return float(_parse(value, BYTES, field=field, allow_zero=allow_zero, maximum=maximum))


def parse_rate(
    value: str | float, *, field: str, allow_zero: bool = False, maximum: float = _LIMIT
) -> float:
    """Return a transfer rate in bytes a second.

    Parameters
    ----------
    value : str or float
        Text with a unit (``1.71 GB/s``, ``400 Gb/s``, ``400Gbps``), or bytes a second.
    field : str
        Name of the parameter or flag, for the message.
    allow_zero : bool
        Whether zero is a valid rate.
    maximum : float
        Largest rate allowed, in bytes a second.

    Returns
    -------
    float
        Bytes a second.

    Raises
    ------
    UnitError
        If the unit is missing, unknown, of another kind, or leaves open whether bits or bytes are
        meant (``gb/s``, ``GBPS``, ``kbps``: write ``kbit/s``).
    InvalidValueError
        If the value is no finite number within the bounds.

    Examples
    --------
    >>> parse_rate("1.71 GB/s", field="bandwidth"), parse_rate("400 Gb/s", field="bandwidth")
    (1710000000.0, 50000000000.0)
    """
    return float(_parse(value, RATE, field=field, allow_zero=allow_zero, maximum=maximum))


def parse_seconds(
    value: str | float, *, field: str, allow_zero: bool = False, maximum: float = _LIMIT
) -> float:
    """Return a time in seconds.

    Parameters
    ----------
    value : str or float
        Text with a unit (``0.33s``, ``330 ms``, ``19 us``, ``2 min``, ``1 h``, ``1 d``), or
        seconds. Bare text is refused: it may be seconds or milliseconds.
    field : str
        Name of the parameter or flag, for the message.
    allow_zero : bool
        Whether zero is a valid time.
    maximum : float
        Longest time allowed, in seconds.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    UnitError
        If the unit is missing, unknown or of another kind.
    InvalidValueError
        If the value is no finite number within the bounds.

    Examples
    --------
    >>> parse_seconds("0.33s", field="overhead"), parse_seconds("19.4 us", field="slope")
    (0.33, 1.94e-05)
    """
    return float(_parse(value, SECONDS, field=field, allow_zero=allow_zero, maximum=maximum))


def parse_tokens(
    value: str | float, *, field: str, allow_zero: bool = False, maximum: float = _TOKEN_LIMIT
) -> int:
    """Return a whole number of tokens.

    Parameters
    ----------
    value : str or float
        Text (``16000``, ``16,000``, ``16_000``, ``64k``, ``64Ki``, ``1M``, ``500 tokens``), or a
        whole number.
    field : str
        Name of the parameter or flag, for the message.
    allow_zero : bool
        Whether zero is a valid number.
    maximum : float
        Largest number allowed.

    Returns
    -------
    int
        Tokens.

    Raises
    ------
    UnitError
        If the unit is unknown or of another kind; ``64K`` is refused.
    InvalidValueError
        If the value is no whole number within the bounds.

    Notes
    -----
    k is 1,000 and M 1,000,000; Ki is 1,024 and Mi 1,048,576. ``64K`` is in use for both 64,000
    and 65,536. A decimal point needs a multiplier (``1.5k``), since ``16.000`` is 16,000 to some.

    Examples
    --------
    >>> parse_tokens("64k", field="tokens"), parse_tokens("64Ki", field="tokens")
    (64000, 65536)
    """
    number = _parse(value, TOKENS, field=field, allow_zero=allow_zero, maximum=maximum)
    if number != int(number):
        raise InvalidValueError(
            field=field,
            value=value,
            bound="must be a whole number of tokens",
            remedy=f'write e.g. "{max(1, round(number))}"',
        )
    return int(number)


def parse_flops(
    value: str | float, *, field: str, allow_zero: bool = False, maximum: float = _LIMIT
) -> float:
    """Return a computing rate in FLOP a second.

    Parameters
    ----------
    value : str or float
        Text (``989 TFLOP/s``, ``2.25 PFLOPS``, ``989e12``), or FLOP a second. Bare text counts
        as FLOP/s from 1e9 on; below that it is refused, since TFLOP/s are likely to be meant.
    field : str
        Name of the parameter or flag, for the message.
    allow_zero : bool
        Whether zero is a valid rate.
    maximum : float
        Largest rate allowed, in FLOP a second.

    Returns
    -------
    float
        FLOP a second.

    Raises
    ------
    UnitError
        If the unit is missing, unknown or of another kind.
    InvalidValueError
        If the value is no finite number within the bounds.

    Examples
    --------
    >>> parse_flops("989 TFLOP/s", field="peak") == parse_flops("989e12", field="peak") == 989e12
    True
    """
    return float(_parse(value, FLOPS, field=field, allow_zero=allow_zero, maximum=maximum))


def parse_ratio(
    value: str | float, *, field: str, allow_zero: bool = False, maximum: float = 1.0
) -> float:
    """Return a ratio.

    Parameters
    ----------
    value : str or float
        Text (``50%``, ``0.5``), or a number.
    field : str
        Name of the parameter or flag, for the message.
    allow_zero : bool
        Whether zero is a valid ratio.
    maximum : float
        Largest ratio allowed.

    Returns
    -------
    float
        The ratio; 1 is 100%.

    Raises
    ------
    UnitError
        If there is a unit other than ``%``.
    InvalidValueError
        If the value is no finite number within the bounds.

    Examples
    --------
    >>> parse_ratio("50%", field="mfu"), parse_ratio("0.5", field="mfu")
    (0.5, 0.5)
    """
    return float(_parse(value, RATIO, field=field, allow_zero=allow_zero, maximum=maximum))


def parse_assignment(text: str, *, field: str) -> tuple[int, float]:
    """Return the tokens and the seconds of a measured point.

    Parameters
    ----------
    text : str
        Tokens, an equals sign, a time: ``16000=0.31s``.
    field : str
        Name of the parameter or flag, for the message.

    Returns
    -------
    tuple of int and float
        Tokens and seconds, both above zero.

    Raises
    ------
    UnitError
        If a unit is missing, unknown or of another kind.
    InvalidValueError
        If the text is no pair, or a value is out of bounds.

    Examples
    --------
    >>> parse_assignment("16000=0.31s", field="--prefill")
    (16000, 0.31)
    """
    if not isinstance(text, str) or text.count("=") != 1:
        raise InvalidValueError(
            field=field,
            value=text,
            bound="must be tokens=time",
            remedy='write e.g. "16000=0.31s"',
        )
    tokens, seconds = text.split("=")
    return (
        parse_tokens(tokens, field=f"{field} tokens"),
        parse_seconds(seconds, field=f"{field} time"),
    )


def _parse(
    value: str | float, kind: Kind, *, field: str, allow_zero: bool, maximum: float
) -> float | Fraction:
    number: float | Fraction
    if isinstance(value, str):
        number = read_text(value, kind, field=field)
    else:
        number = read_number(value, kind, field=field)
    what = {"1": "", "byte": " bytes", "token": " tokens"}.get(kind.base, f" {kind.base}")
    remedy = f'write e.g. "{kind.example}"'
    if number < 0 or (number == 0 and not allow_zero):
        bound = f"must be {'at least' if allow_zero else 'above'} 0{what}"
    elif number > maximum:
        bound = f"must be at most {maximum:.16g}{what}"
    elif 0 < number < 1 / _LIMIT:
        bound = f"must be {'0 or ' if allow_zero else ''}at least {1 / _LIMIT:g}{what}"
    else:
        return number
    raise InvalidValueError(field=field, value=value, bound=bound, remedy=remedy)
