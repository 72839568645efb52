"""The unit spellings that kvcost knows, and what each of them measures."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

__all__ = [
    "BYTES",
    "FLOPS",
    "PREFIXES",
    "RATE",
    "RATIO",
    "SECONDS",
    "SPELLINGS",
    "TOKENS",
    "Kind",
    "Spelling",
    "same_but_for_case",
]


class Kind(NamedTuple):
    """One kind of quantity.

    Attributes
    ----------
    base : str
        Base unit, as the glossary writes it.
    noun : str
        What it is called in a message.
    example : str
        Text that would be read.
    usual : tuple of str
        Units to offer when a number has none.
    """

    base: str
    noun: str
    example: str
    usual: tuple[str, ...] = ()


class Spelling(NamedTuple):
    """What a unit text stands for: a kind and the size of one unit in base units."""

    kind: Kind
    factor: Fraction
    label: str


BYTES = Kind("byte", "a size in bytes", "320 KiB", ("MB", "MiB"))
RATE = Kind("byte/s", "a rate in bytes or bits a second", "1.71 GB/s", ("GB/s", "Gb/s"))
SECONDS = Kind("s", "a time", "330 ms", ("s", "ms"))
TOKENS = Kind("token", "a number of tokens", "64k")
FLOPS = Kind("FLOP/s", "a computing rate in FLOP/s", "989 TFLOP/s", ("TFLOP/s", "PFLOP/s"))
RATIO = Kind("1", "a ratio", "50%")
_BITS = Kind("bit", "a number of bits", "8 Gbit")
_WORK = Kind("FLOP", "an amount of work in FLOP", "2 TFLOP")
_TOKEN_RATE = Kind("token/s", "a rate in tokens a second", "50 tokens/s")

_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY = {f"{letter}i": 2 ** (10 * n) for n, letter in enumerate("KMGTPE", start=1)}
PREFIXES = frozenset({*_DECIMAL, *_BINARY, "K"})
_SECOND_PARTS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "\u00b5s": Fraction(1, 10**6),  # micro sign
    "\u03bcs": Fraction(1, 10**6),  # Greek mu, the same to the eye
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "sec": Fraction(1),
    "second": Fraction(1),
    "seconds": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}


def _spellings() -> dict[str, Spelling]:
    known: dict[str, Spelling] = {}

    def add(kind: Kind, factor: Fraction | int, label: str, *texts: str) -> None:
        for text in texts:
            known[text] = Spelling(kind, Fraction(factor), label)

    decimal = {"": 1, **_DECIMAL}
    for prefix, size in {**decimal, "K": 1000, **_BINARY}.items():
        byte, bit = f"{prefix}B", f"{prefix}bit"
        add(BYTES, size, "bytes", byte)
        add(RATE, size, "bytes", f"{byte}/s", f"{byte}ps")
        add(_BITS, size, "bits", bit)
        add(RATE, Fraction(size, 8), "bits", f"{bit}/s")
        # "b", "kb/s" and "bps" are in use for bytes too: only a capital prefix sets bits apart.
        if prefix not in {"", "k"}:
            add(_BITS, size, "bits", f"{prefix}b")
            add(RATE, Fraction(size, 8), "bits", f"{prefix}b/s", f"{prefix}bps")
    add(BYTES, 1, "bytes", "byte", "bytes")
    add(RATE, 1, "bytes", "byte/s", "bytes/s")
    for prefix, size in decimal.items():
        add(FLOPS, size, "per second", f"{prefix}FLOP/s", f"{prefix}FLOPS")
        add(_WORK, size, "work", f"{prefix}FLOP")
    for text, seconds in _SECOND_PARTS.items():
        add(SECONDS, seconds, "time", text)
    for prefix, size in {**decimal, **_BINARY}.items():
        names = [f"{prefix}{name}" for name in ("token", "tokens", "tok")]
        add(TOKENS, size, "tokens", *names)
        add(_TOKEN_RATE, size, "tokens a second", *(f"{name}/s" for name in names))
        if prefix:
            add(TOKENS, size, "tokens", prefix)
    add(RATIO, Fraction(1, 100), "percent", "%")
    return known


SPELLINGS = _spellings()


def same_but_for_case(text: str, kind: Kind) -> dict[str, str]:
    """Return the spellings of `kind` that differ from `text` in letter case only, with a label.

    Rates in ``bps`` and ``bit/s`` count as other spellings of ``b/s``.

    Parameters
    ----------
    text : str
        A unit that is not known as it stands.
    kind : Kind
        The kind of quantity that is wanted.

    Returns
    -------
    dict of str to str
        Spelling to label; one spelling for each size.

    Examples
    --------
    >>> same_but_for_case("gb/s", RATE)
    {'GB/s': 'bytes', 'Gbit/s': 'bits'}
    """
    found: dict[Spelling, str] = {}
    for spelled, spelling in SPELLINGS.items():
        if spelling.kind is kind and _folded(spelled) == _folded(text):
            found.setdefault(spelling, spelled)
    return {spelled: spelling.label for spelling, spelled in found.items()}


def _folded(text: str) -> str:
    return text.lower().replace("bit/s", "b/s").replace("bps", "b/s")
