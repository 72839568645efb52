"""Text to base units and back."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvcost import units
from kvcost.errors import InvalidValueError, KvcostError, UnitError
from kvcost.units.spelling import SPELLINGS

PARSERS = {
    "byte": units.parse_bytes,
    "byte/s": units.parse_rate,
    "s": units.parse_seconds,
    "token": units.parse_tokens,
    "FLOP/s": units.parse_flops,
    "1": units.parse_ratio,
}
DIMENSIONED = ("byte", "byte/s", "s", "FLOP/s")


def refused(parse, value, **bounds):
    with pytest.raises(InvalidValueError) as caught:
        parse(value, field="--flag", **bounds)
    error = caught.value
    assert error.field == "--flag"
    assert error.bound
    assert error.remedy
    assert "\n" not in str(error)
    assert len(str(error)) < 300
    return error


@pytest.mark.parametrize(
    ("unit", "text", "expected"),
    [
        ("byte", "320 KiB", 327_680.0),
        ("byte", "0.1 GB", 100_000_000.0),
        ("byte", "80GB", 80e9),
        ("byte", "80 GiB", 85_899_345_920.0),
        ("byte", "320 KB", 320_000.0),
        ("byte", "320 kB", 320_000.0),
        ("byte", "48408 bytes", 48_408.0),
        ("byte/s", "1.71 GB/s", 1.71e9),
        ("byte/s", "1.71GB/s", 1.71e9),
        ("byte/s", " 1.71  GB / s ", 1.71e9),
        ("byte/s", "1.71 GBps", 1.71e9),
        ("byte/s", "400 Gb/s", 50e9),
        ("byte/s", "400Gbps", 50e9),
        ("byte/s", "400 Gbit/s", 50e9),
        ("byte/s", "8 kbit/s", 1000.0),
        ("byte/s", "200 GiB/s", 200.0 * 2**30),
        ("byte/s", "1.5e9 B/s", 1.5e9),
        ("byte/s", "1.5E9B/s", 1.5e9),
        ("byte/s", "100 MB/s", 1e8),
        ("byte/s", "100 Mb/s", 1.25e7),
        ("s", "0.33s", 0.33),
        ("s", "330 ms", 0.33),
        ("s", ".33 sec", 0.33),
        ("s", "19 us", 19e-6),
        ("s", "19 \u00b5s", 19e-6),
        ("s", "19 \u03bcs", 19e-6),
        ("s", "7 ns", 7e-9),
        ("s", "2 min", 120.0),
        ("s", "1 h", 3600.0),
        ("s", "1 d", 86400.0),
        ("token", "16000", 16_000),
        ("token", "16,000", 16_000),
        ("token", "1,048,576", 2**20),
        ("token", "16_000", 16_000),
        ("token", "64k", 64_000),
        ("token", "64Ki", 65_536),
        ("token", "64 k tokens", 64_000),
        ("token", "1M", 1_000_000),
        ("token", "1Mi", 1_048_576),
        ("token", "1.5k", 1_500),
        ("token", "0.5Ki", 512),
        ("token", "1e6", 1_000_000),
        ("token", "65536 tokens", 65_536),
        ("token", "1 token", 1),
        ("token", "9007199254740992", 2**53),
        ("FLOP/s", "989 TFLOP/s", 989e12),
        ("FLOP/s", "989e12", 989e12),
        ("FLOP/s", "2.25 PFLOPS", 2.25e15),
        ("FLOP/s", "5 FLOP/s", 5.0),
        ("1", "50%", 0.5),
        ("1", "0.5", 0.5),
        ("1", "0.1 %", 0.001),
        ("1", "1", 1.0),
    ],
)
def test_reads_exactly(unit, text, expected):
    value = PARSERS[unit](text, field="--flag")
    assert value == expected
    assert type(value) is (int if unit == "token" else float)


@pytest.mark.parametrize(
    ("prefix", "power"), [(p, 3 * n) for n, p in enumerate(("", "k", "M", "G", "T", "P", "E"))]
)
def test_decimal_prefixes_are_those_of_the_si(prefix, power):
    # SI brochure, 9th edition, table 7 (doi:10.59161/AUEZ1291).
    assert SPELLINGS[f"{prefix}B"].factor == 10**power
    assert SPELLINGS[f"{prefix}FLOP/s"].factor == 10**power


@pytest.mark.parametrize(
    ("prefix", "size"),
    # IEC 80000-13:2025, prefixes for binary multiples.
    [("Ki", 1024), ("Mi", 1_048_576), ("Gi", 1_073_741_824), ("Ti", 1_099_511_627_776)],
)
def test_binary_prefixes_are_those_of_the_iec(prefix, size):
    assert SPELLINGS[f"{prefix}B"].factor == size
    assert SPELLINGS[f"{prefix}b/s"].factor == Fraction(size, 8)


@pytest.mark.parametrize(
    ("unit", "text", "words"),
    [
        ("byte", "5 s", ("is a time", "a size in bytes is wanted", "320 KiB")),
        ("byte", "1 GB/s", ("is a rate", "is wanted")),
        ("byte", "2 Gb", ("number of bits", '"2 GB" (bytes)')),
        ("byte", "8 Gbit", ("number of bits",)),
        ("byte", "2 gb", ("letter case", '"2 GB"')),
        ("byte", "1 mB", ("letter case", '"1 MB"')),
        ("byte", "1 mb", ("letter case", '"1 MB"')),
        ("byte", "1.71", ("no unit",)),
        ("byte", "1.71G", ("prefix G but no unit",)),
        ("byte", "1 XB", ("unknown unit XB",)),
        ("byte/s", "1.71", ("no unit", '"1.71 GB/s"', '"1.71 Gb/s"')),
        ("byte/s", "1 gb/s", ('"1 GB/s" (bytes)', '"1 Gbit/s" (bits)')),
        ("byte/s", "400 GBPS", ('"400 GB/s" (bytes)', '"400 Gbit/s" (bits)')),
        ("byte/s", "400 gbps", ('"400 GB/s" (bytes)', '"400 Gbit/s" (bits)')),
        ("byte/s", "8 kbps", ('"8 kB/s" (bytes)', '"8 kbit/s" (bits)')),
        ("byte/s", "8 bps", ('"8 B/s" (bytes)', '"8 bit/s" (bits)')),
        ("byte/s", "8 b/s", ('"8 B/s" (bytes)', '"8 bit/s" (bits)')),
        ("byte/s", "5 GB", ("is a size in bytes",)),
        ("byte/s", "0.33 s", ("is a time",)),
        ("byte/s", "50 tokens/s", ("is a rate in tokens a second",)),
        ("s", "0.33", ("no unit", '"0.33 s"', '"0.33 ms"')),
        ("s", "5 m", ("unknown unit m",)),
        ("s", "5 MS", ('"5 ms"',)),
        ("s", "64k", ("prefix k but no unit",)),
        ("token", "64K", ('"64k" for thousands', '"64Ki" for units of 1,024')),
        ("token", "64 Ktokens", ('"64k"', '"64Ki"')),
        ("token", "64m", ('"64 M"',)),
        ("token", "5 s", ("is a time",)),
        ("token", "64 kB", ("is a size in bytes",)),
        ("FLOP/s", "989", ("no unit", '"989 TFLOP/s"')),
        ("FLOP/s", "989 TFLOP", ("an amount of work", '"989 TFLOP/s"')),
        ("FLOP/s", "989 TFLOPs", ('"989 TFLOPS"',)),
        ("1", "0.5 s", ("is a time", "a ratio is wanted")),
    ],
)
def test_a_wrong_or_ambiguous_unit_is_refused(unit, text, words):
    error = refused(PARSERS[unit], text)
    assert type(error) is UnitError
    assert error.value == text
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize("unit", PARSERS)
@pytest.mark.parametrize(
    "value",
    [
        "",
        " \t",
        "nan",
        "NaN s",
        "inf",
        "-Infinity GB",
        "-1",
        "-1 GB",
        "1e31",
        "1e31 GB/s",
        "1e400 s",
        "1e999999999 B",
        "--5",
        "5 5",
        "16 000",
        "0x10",
        "\u0663",
        "\u22125 s",
        "\uff11 GB",
        "1,5",
        "1__0",
        "_1",
        ".",
        "1.2.3",
        "GB/s",
        "1" * 5000,
        "1 " + "G" * 5000,
        "5\x00s",
        "5 s\n5 s",
        True,
        False,
        None,
        b"5 s",
        [5],
        {},
        1 + 2j,
        Decimal(1),
        math.nan,
        math.inf,
        -math.inf,
        -1,
        1e31,
        10**5000,
        -(10**5000),
        np.float64("nan"),
        np.array([1.0, 2.0]),
        np.True_,
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_what_is_no_quantity_is_refused(unit, value):
    refused(PARSERS[unit], value)


@pytest.mark.parametrize("unit", PARSERS)
def test_zero_only_where_allowed_and_then_without_a_unit(unit):
    parse = PARSERS[unit]
    for zero in ("0", "0.0e3", "-0", 0, 0.0, -0.0):
        assert "above 0" in refused(parse, zero).bound
        assert parse(zero, field="--flag", allow_zero=True) == 0
    assert "at least 0" in refused(parse, -0.5, allow_zero=True).bound


@pytest.mark.parametrize("unit", DIMENSIONED)
def test_tiny_values_are_refused_before_they_become_zero(unit):
    parse = PARSERS[unit]
    symbol = {"byte": "B", "byte/s": "B/s"}.get(unit, unit)
    for tiny in (1e-31, 5e-324, f"1e-31 {symbol}", f"1e-400 {symbol}"):
        assert "at least 1e-30" in refused(parse, tiny).bound
        assert "0 or at least" in refused(parse, tiny, allow_zero=True).bound


def test_an_empty_text_is_shown_as_such():
    assert str(refused(units.parse_bytes, "")).startswith("--flag '' is empty: ")


def test_bounds_are_inclusive_and_named():
    assert units.parse_seconds("1 h", field="ttl", maximum=3600) == 3600
    assert refused(units.parse_seconds, "61 min", maximum=3600).bound == "must be at most 3600 s"
    assert refused(units.parse_ratio, "150%").bound == "must be at most 1"
    assert units.parse_ratio("150%", field="ratio", maximum=2) == 1.5


@pytest.mark.parametrize("value", [16000, 16000.0, np.int64(16000), np.float32(16000), "16k"])
def test_tokens_are_python_integers(value):
    tokens = units.parse_tokens(value, field="tokens")
    assert tokens == 16000
    assert type(tokens) is int


@pytest.mark.parametrize(
    "value",
    [
        "16.000",
        "1.5",
        "0.0005k",
        "1e-1",
        0.5,
        "99.9999999999999999999 tokens",
        "9007199254740993",
        2**53 + 2,
        "16,00",
        "0,330",
        "1,6,000",
        "1,5k",
    ],
)
def test_tokens_are_whole_and_exact(value):
    refused(units.parse_tokens, value)


@pytest.mark.parametrize("unit", PARSERS)
def test_numbers_from_python_are_base_units(unit):
    for number in (1, 1.0, np.float64(1), np.int32(1), Fraction(1)):
        assert PARSERS[unit](number, field="--flag") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16000=0.31s", (16_000, 0.31)),
        ("16k = 310 ms", (16_000, 0.31)),
        ("16,000=0.31 s", (16_000, 0.31)),
    ],
)
def test_a_measured_point_is_tokens_and_seconds(text, expected):
    assert units.parse_assignment(text, field="--prefill") == expected


@pytest.mark.parametrize(
    "text",
    ["", "16000", "=", "a=b=c", "16000=", "=0.31s", "0=1s", "16000=0s", "16000=-1s", "1=" * 9000],
)
def test_a_malformed_point_is_refused(text):
    with pytest.raises(InvalidValueError, match=r"^--prefill") as caught:
        units.parse_assignment(text, field="--prefill")
    assert len(str(caught.value)) < 300


def test_a_point_names_the_half_that_is_wrong():
    with pytest.raises(UnitError, match=r"--prefill time 0\.31 has no unit"):
        units.parse_assignment("16000=0.31", field="--prefill")
    with pytest.raises(UnitError, match="--prefill tokens 16K may be in thousands"):
        units.parse_assignment("16K=0.31s", field="--prefill")
    with pytest.raises(InvalidValueError):
        units.parse_assignment(16000, field="--prefill")


@given(text=st.text(max_size=80), unit=st.sampled_from(sorted(PARSERS)))
@example(text="1e", unit="s")
@example(text="1e5000 s", unit="s")
def test_any_text_is_read_or_refused_with_one_line(text, unit):
    try:
        value = PARSERS[unit](text, field="--flag")
    except KvcostError as error:
        assert len(str(error).splitlines()) <= 1  # noqa: PT017
    else:
        assert 0 < value <= 1e30


@given(
    number=st.decimals(min_value="0.001", max_value="1e6", allow_nan=False, places=6),
    text=st.sampled_from(sorted(SPELLINGS)),
)
def test_reading_rounds_once(number, text):
    kind, factor, _ = SPELLINGS[text]
    if kind.base not in DIMENSIONED:
        return
    exact = Fraction(number) * factor
    assert PARSERS[kind.base](f"{number:f} {text}", field="--flag") == float(exact)


@pytest.mark.parametrize(
    ("show", "value", "expected"),
    [
        (units.format_bytes, 327_680, "327.7 kB"),
        (units.format_bytes, 48_408, "48.41 kB"),
        (units.format_bytes, 999, "999 B"),
        (units.format_bytes, 0.5625, "0.5625 B"),
        (units.format_bytes, 999_960, "1 MB"),
        (units.format_bytes, 80e9, "80 GB"),
        (units.format_bytes, 3e21, "3000 EB"),
        (units.format_bytes, 3e26, "3e+08 EB"),
        (units.format_bytes, -1.5e9, "-1.5 GB"),
        (units.format_bytes, 0, "0 B"),
        (units.format_bytes, -0.0, "0 B"),
        (units.format_rate, 1.71e9, "1.71 GB/s"),
        (units.format_rate, 50e9, "50 GB/s"),
        (units.format_seconds, 0.31, "0.31 s"),
        (units.format_seconds, 0.099996, "0.1 s"),
        (units.format_seconds, 0.05, "50 ms"),
        (units.format_seconds, 19.4e-6, "19.4 us"),
        (units.format_seconds, 83, "83 s"),
        (units.format_seconds, 119, "119 s"),
        (units.format_seconds, 5400, "90 min"),
        (units.format_seconds, 36 * 3600, "36 h"),
        (units.format_seconds, 30 * 86400, "30 d"),
        (units.format_seconds, 1e-12, "0.001 ns"),
        (units.format_seconds, -0.02, "-20 ms"),
        (units.format_seconds, 0, "0 s"),
        (units.format_tokens, 16_000, "16,000 tokens"),
        (units.format_tokens, 17_031.87, "17,032 tokens"),
        (units.format_tokens, 12.345, "12.35 tokens"),
        (units.format_tokens, 1, "1 token"),
        (units.format_tokens, 0, "0 tokens"),
        (units.format_tokens, -0.0, "0 tokens"),
        (units.format_tokens, -2000, "-2,000 tokens"),
        (units.format_tokens, 1e20, "1e+20 tokens"),
        (units.format_flops, 989e12, "989 TFLOP/s"),
        (units.format_flops, 2.25e15, "2.25 PFLOP/s"),
        (units.format_ratio, 0.5, "50%"),
        (units.format_ratio, -0.0115, "-1.15%"),
        (units.format_ratio, 0, "0%"),
    ],
)
def test_shows(show, value, expected):
    assert show(value) == expected
    assert show(np.float64(value)) == expected


def test_binary_prefixes_on_request():
    assert units.format_bytes(327_680, binary=True) == "320 KiB"
    assert units.format_bytes(2**31, binary=True) == "2 GiB"
    assert units.format_bytes(1023, binary=True) == "1023 B"
    assert units.format_rate(200 * 2**30, binary=True) == "200 GiB/s"


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("byte", 327_680, "327.7 kB"),
        ("byte/token", 48_408, "48.41 kB/token"),
        ("byte/s", 1.71e9, "1.71 GB/s"),
        ("s", 5400, "90 min"),
        ("s/token", 19.375e-6, "19.38 us/token"),
        ("s/token", 600.0, "600 s/token"),
        ("s/token^2", 1.5e-9, "1.5 ns/token^2"),
        ("FLOP", 2e12, "2 TFLOP"),
        ("FLOP/s", 989e12, "989 TFLOP/s"),
        ("FLOP/token", 80e9, "80 GFLOP/token"),
        ("token", 16_000, "16,000 tokens"),
        ("token/s", 50.0, "50 tokens/s"),
        ("layer", 1, "1 layer"),
        ("key", 2, "2 keys"),
        ("copy", 8, "8 copies"),
        ("entry", 1, "1 entry"),
        ("request/s", 0.5, "0.5 requests/s"),
        ("1", 0.25, "0.25"),
        ("1/s", 0.25, "0.25 per s"),
        ("USD", 1.5, "1.5 USD"),
        ("USD/s", 0.002, "0.002 USD/s"),
        ("byte", 0, "0 B"),
        ("1", 0, "0"),
    ],
)
def test_shows_by_the_unit_of_the_glossary(unit, value, expected):
    assert units.format_quantity(value, unit) == expected
    assert units.format_quantity(math.nan, unit) == "not defined"
    assert units.format_quantity(math.inf, unit) == "infinite"
    assert units.format_quantity(-math.inf, unit) == "minus infinite"


@pytest.mark.parametrize("digits", [0, 16, 2.5, True])
@pytest.mark.parametrize("value", [0, 1.5, 1e6])
def test_digits_have_bounds(digits, value):
    with pytest.raises(InvalidValueError, match="digits"):
        units.format_bytes(value, digits=digits)


def test_more_digits_on_request():
    assert units.format_bytes(327_680, digits=6) == "327.68 kB"
    assert units.format_seconds(71.38523761375126e-6, digits=8) == "71.385238 us"


@pytest.mark.parametrize("unit", DIMENSIONED)
@pytest.mark.parametrize("binary", [False, True])
@given(value=st.floats(min_value=1e-20, max_value=1e29), digits=st.integers(1, 15))
@example(value=999_960.0, digits=4)
@example(value=1023.99 * 1024, digits=4)
@example(value=119.96, digits=4)
def test_what_is_shown_reads_back(unit, binary, value, digits):
    options = {"byte": "format_bytes", "byte/s": "format_rate"}
    if binary and unit in options:
        text = getattr(units, options[unit])(value, binary=True, digits=digits)
    else:
        text = units.format_quantity(value, unit, digits=digits)
    back = PARSERS[unit](text, field="--flag")
    assert math.isclose(back, value, rel_tol=0.5001 * 10.0 ** (1 - digits))


@given(tokens=st.integers(1, 10**14))
def test_tokens_read_back_exactly(tokens):
    assert units.parse_tokens(units.format_tokens(tokens), field="tokens") == tokens


@given(ratio=st.floats(min_value=1e-9, max_value=1.0))
def test_ratios_read_back(ratio):
    back = units.parse_ratio(units.format_ratio(ratio), field="ratio")
    assert math.isclose(back, ratio, rel_tol=0.0005001)


def test_loads_no_heavy_module():
    code = (
        "import sys, kvcost.units; "
        "print([m for m in ('numpy', 'sympy', 'pandas', 'scipy', 'pint') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
