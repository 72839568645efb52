"""Units at the faces: text to base units, and base units to text.

Inside, every quantity is in its base unit: bytes, seconds, tokens, FLOP, dollars, and rates per
second. Prefixes exist only here.

Notes
-----
- Decimal and binary prefixes never share a name: GB is 1e9 bytes, GiB is 2**30. For tokens k is
  1,000 and Ki is 1,024; ``64K`` is refused, since it is in use for both.
- Case counts: ``B`` is a byte and ``b`` a bit, so ``400 Gb/s`` is 50 GB/s. Spellings that say
  neither (``gb/s``, ``GBPS``) are refused.
- Text needs its unit. A bare number is accepted for tokens and ratios, for FLOP/s from 1e9 on,
  and for zero where zero is allowed. Numbers that come from Python are in base units.
- Reading is exact up to the one rounding to a float: ``0.1 GB`` is 100000000.0.
"""

from kvcost.units.parse import (
    parse_assignment,
    parse_bytes,
    parse_flops,
    parse_rate,
    parse_ratio,
    parse_seconds,
    parse_tokens,
)
from kvcost.units.show import (
    format_bytes,
    format_flops,
    format_quantity,
    format_rate,
    format_ratio,
    format_seconds,
    format_tokens,
)

__all__ = [
    "format_bytes",
    "format_flops",
    "format_quantity",
    "format_rate",
    "format_ratio",
    "format_seconds",
    "format_tokens",
    "parse_assignment",
    "parse_bytes",
    "parse_flops",
    "parse_rate",
    "parse_ratio",
    "parse_seconds",
    "parse_tokens",
]
