"""Numbers in the sentences of a check: what was given as it is, what was computed to 3 digits."""

from __future__ import annotations

import math
import re

from kvcost.units import format_bytes, format_rate, format_ratio, format_seconds, format_tokens

__all__ = [
    "computed_bytes",
    "computed_rate",
    "computed_seconds",
    "computed_tokens",
    "number",
    "plural",
    "relation",
    "share",
]

_DIGITS = 3


def _padded(text: str) -> str:
    """Return the text with zeros behind, up to three significant digits."""
    digits, blank, unit = text.partition(" ")
    known = digits.replace(".", "").lstrip("-0")
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", digits) or not 0 < len(known) < _DIGITS:
        return text
    point = "" if "." in digits else "."
    return f"{digits}{point}{'0' * (_DIGITS - len(known))}{blank}{unit}"


def computed_rate(value: float) -> str:
    """Return a computed rate to three digits.

    Examples
    --------
    >>> computed_rate(2.498e9)
    '2.50 GB/s'
    """
    return _padded(format_rate(value, digits=_DIGITS))


def computed_seconds(value: float) -> str:
    """Return a computed time to three digits.

    Examples
    --------
    >>> computed_seconds(0.31), computed_seconds(0.0)
    ('0.310 s', '0 s')
    """
    return _padded(format_seconds(value, digits=_DIGITS))


def computed_bytes(value: float) -> str:
    """Return a computed size to three digits.

    Examples
    --------
    >>> computed_bytes(141.2e9)
    '141 GB'
    """
    return _padded(format_bytes(value, digits=_DIGITS))


def computed_tokens(value: float) -> str:
    """Return a computed length to three digits.

    Examples
    --------
    >>> computed_tokens(34_044.4), computed_tokens(7.25)
    ('34,000 tokens', '7.25 tokens')
    """
    if not math.isfinite(value) or value == 0:
        return format_tokens(value, digits=_DIGITS)
    places = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    return format_tokens(round(value, places), digits=_DIGITS)


def number(value: float) -> str:
    """Return a plain number to four digits, with commas.

    Examples
    --------
    >>> number(1234.0), number(9.6)
    ('1,234', '9.6')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def plural(count: float, word: str) -> str:
    """Return a count with its word.

    Examples
    --------
    >>> plural(1, "server"), plural(8, "server")
    ('1 server', '8 servers')
    """
    return f"{number(count)} {word}" if count == 1 else f"{number(count)} {word}s"


def share(value: float) -> str:
    """Return a ratio as a percentage of two digits.

    Examples
    --------
    >>> share(0.31551), share(1.5)
    ('32%', '150%')
    """
    return format_ratio(value, digits=2)


def relation(value: float, limit: float) -> str:
    """Return how far a value is from a limit above zero, as the rest of a sentence.

    Examples
    --------
    >>> relation(1.71, 2.498), relation(3.0, 2.0), relation(2.0, 2.0), relation(0.0, 2.0)
    ('32% below', '50% above', 'at', '100% below')
    """
    if math.isinf(value):
        return "above"
    off = value / limit - 1
    if abs(off) < 1e-12:
        return "at"
    return f"{share(abs(off))} {'above' if off > 0 else 'below'}"
