"""Base units to text: rounded here and nowhere else."""

from __future__ import annotations

import math

from kvcost.errors import InvalidValueError

__all__ = [
    "format_bytes",
    "format_flops",
    "format_quantity",
    "format_rate",
    "format_ratio",
    "format_seconds",
    "format_tokens",
]

# Each step: unit text, its size in base units, and the least rounded number shown in it.
_Steps = tuple[tuple[str, float, float], ...]

_DECIMAL: _Steps = tuple((p, 10.0 ** (3 * n), 1.0) for n, p in enumerate(("", *"kMGTPE")))
_BINARY: _Steps = tuple(
    (p, 2.0 ** (10 * n), 1.0) for n, p in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
)
_SECOND_PARTS: _Steps = (("ns", 1e-9, 1.0), ("us", 1e-6, 1.0), ("ms", 1e-3, 1.0), ("s", 1.0, 0.1))
_TIMES: _Steps = (*_SECOND_PARTS, ("min", 60.0, 2.0), ("h", 3600.0, 2.0), ("d", 86400.0, 2.0))


def format_bytes(value: float, *, binary: bool = False, digits: int = 4) -> str:
    """Return a size as text.

    Parameters
    ----------
    value : float
        Bytes.
    binary : bool
        Use KiB, MiB, GiB (powers of 1,024) instead of kB, MB, GB (powers of 1,000).
    digits : int
        Significant digits, 1 to 15.

    Returns
    -------
    str
        The size; nan reads ``not defined``, infinity ``infinite``.

    Raises
    ------
    InvalidValueError
        If `digits` is out of range.

    Examples
    --------
    >>> format_bytes(327_680), format_bytes(327_680, binary=True)
    ('327.7 kB', '320 KiB')
    """
    return _scaled(value, _BINARY if binary else _DECIMAL, after="B", digits=digits)


def format_rate(value: float, *, binary: bool = False, digits: int = 4) -> str:
    """Return a transfer rate as text, in bytes a second.

    Parameters
    ----------
    value : float
        Bytes a second.
    binary : bool
        Use GiB/s and the like instead of GB/s.
    digits : int
        Significant digits, 1 to 15.

    Returns
    -------
    str
        The rate; nan reads ``not defined``, infinity ``infinite``.

    Raises
    ------
    InvalidValueError
        If `digits` is out of range.

    Examples
    --------
    >>> format_rate(1.71e9)
    '1.71 GB/s'
    """
    return _scaled(value, _BINARY if binary else _DECIMAL, after="B/s", digits=digits)


def format_seconds(value: float, *, digits: int = 4) -> str:
    """Return a time as text.

    Parameters
    ----------
    value : float
        Seconds.
    digits : int
        Significant digits, 1 to 15.

    Returns
    -------
    str
        The time, in seconds from 0.1 s to 2 min; nan reads ``not defined``, infinity
        ``infinite``.

    Raises
    ------
    InvalidValueError
        If `digits` is out of range.

    Examples
    --------
    >>> format_seconds(0.31), format_seconds(19.375e-6), format_seconds(83), format_seconds(5400)
    ('0.31 s', '19.38 us', '83 s', '90 min')
    """
    return _scaled(value, _TIMES, after="", digits=digits)


def format_tokens(value: float, *, digits: int = 4) -> str:
    """Return a number of tokens as text, in full.

    Parameters
    ----------
    value : float
        Tokens.
    digits : int
        Significant digits, 1 to 15, of a number that is not whole and below 100.

    Returns
    -------
    str
        The number, to the nearest token from 100 on; nan reads ``not defined``, infinity
        ``infinite``.

    Raises
    ------
    InvalidValueError
        If `digits` is out of range.

    Examples
    --------
    >>> format_tokens(16000), format_tokens(17031.87), format_tokens(1)
    ('16,000 tokens', '17,032 tokens', '1 token')
    """
    return _counted(value, "token", after="", digits=digits)


def format_flops(value: float, *, digits: int = 4) -> str:
    """Return a computing rate as text.

    Parameters
    ----------
    value : float
        FLOP a second.
    digits : int
        Significant digits, 1 to 15.

    Returns
    -------
    str
        The rate; nan reads ``not defined``, infinity ``infinite``.

    Raises
    ------
    InvalidValueError
        If `digits` is out of range.

    Examples
    --------
    >>> format_flops(989.4e12)
    '989.4 TFLOP/s'
    """
    return _scaled(value, _DECIMAL, after="FLOP/s", digits=digits)


def format_ratio(value: float, *, digits: int = 4) -> str:
    """Return a ratio as a percentage.

    Parameters
    ----------
    value : float
        The ratio; 1 is 100%.
    digits : int
        Significant digits, 1 to 15.

    Returns
    -------
    str
        The percentage; nan reads ``not defined``, infinity ``infinite``.

    Raises
    ------
    InvalidValueError
        If `digits` is out of range.

    Examples
    --------
    >>> format_ratio(0.5), format_ratio(-0.0115)
    ('50%', '-1.15%')
    """
    return _not_finite(value) or f"{_number(value * 100, digits)}%"


def format_quantity(value: float, unit: str, *, digits: int = 4) -> str:
    """Return a quantity as text, by the unit that the glossary gives it.

    Parameters
    ----------
    value : float
        The quantity, in `unit`.
    unit : str
        A base unit or a quotient of them: ``byte``, ``byte/token``, ``s``, ``FLOP/s``, ``1``.
    digits : int
        Significant digits, 1 to 15.

    Returns
    -------
    str
        The quantity with a fitting prefix; nan reads ``not defined``, infinity ``infinite``.

    Raises
    ------
    InvalidValueError
        If `digits` is out of range.

    Notes
    -----
    Bytes, seconds and FLOP take a prefix. Other words are things that are counted and take a
    plural; the rest (``USD``, a power) is written behind the number as it stands.

    Examples
    --------
    >>> format_quantity(48408, "byte/token"), format_quantity(19.375e-6, "s/token")
    ('48.41 kB/token', '19.38 us/token')
    >>> format_quantity(78, "layer"), format_quantity(2, "request/s"), format_quantity(0.25, "1")
    ('78 layers', '2 requests/s', '0.25')
    >>> format_quantity(float("nan"), "s"), format_quantity(float("inf"), "token")
    ('not defined', 'infinite')
    """
    head, slash, tail = unit.partition("/")
    after = slash + tail
    if head == "s":
        return _scaled(value, _SECOND_PARTS if after else _TIMES, after=after, digits=digits)
    if head in {"byte", "FLOP"}:
        symbol = "B" if head == "byte" else head
        return _scaled(value, _DECIMAL, after=symbol + after, digits=digits)
    if head.isalpha() and head.islower():  # what is counted: token, layer, request
        return _counted(value, head, after=after, digits=digits)
    behind = (f" per {tail}" if after else "") if head == "1" else f" {unit}"
    return _not_finite(value) or _number(value, digits) + behind


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    return ""


def _number(value: float, digits: int) -> str:
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 15:
        raise InvalidValueError(
            field="digits",
            value=digits,
            bound="must be a whole number from 1 to 15",
            remedy="4 suits a table",
        )
    text = f"{value:.{digits}g}"
    rounded = float(text)
    if rounded == 0:
        return "0"
    return f"{rounded:.15g}" if 1e-4 <= abs(rounded) < 1e6 else text


def _scaled(value: float, steps: _Steps, *, after: str, digits: int) -> str:
    if special := _not_finite(value):
        return special
    if value == 0:
        unit = next(unit for unit, size, _ in steps if size == 1)
        return f"{_number(0, digits)} {unit}{after}"
    # Compare what would be shown, so that 999,999 bytes read 1 MB and not 1000 kB.
    fitting = (step for step in reversed(steps) if _fits(value, step, digits))
    unit, size, _ = next(fitting, steps[0])
    return f"{_number(value / size, digits)} {unit}{after}"


def _fits(value: float, step: tuple[str, float, float], digits: int) -> bool:
    _, size, least = step
    return abs(float(_number(value / size, digits))) >= least


def _counted(value: float, name: str, *, after: str, digits: int) -> str:
    if special := _not_finite(value):
        return special
    in_full = abs(value) < 1e15 and (abs(value) >= 100 or float(value).is_integer())
    text = f"{value + 0.0:,.0f}" if in_full else _number(value, digits)
    return f"{text} {name if text == '1' else _plural(name)}{after}"


def _plural(name: str) -> str:
    if name.endswith("y") and name[-2:-1] not in "aeou":
        return f"{name[:-1]}ies"
    return f"{name}s"
