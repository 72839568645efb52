"""The part of sheet Break-even that says what a fetch takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.sheet.nodes import Choice, Constant, Lookup, Node, Positive, Product, Total, result
from kvcost.sheet.plan.inputs import NO_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.sheet.nodes import Table

__all__ = ["fetch", "steps"]


def fetch(tables: Mapping[str, Table]) -> tuple[Node | str, ...]:
    """Return the rows of the fetch, part by part.

    Parameters
    ----------
    tables : mapping of str to Table
        The stores.

    Returns
    -------
    tuple of Node or str
        Rows under a heading.
    """
    asked = {"tokens": "asked_tokens"}
    stores = tables["stores"]
    free = {"bandwidth": "no_limit"}
    return (
        "The fetch, part by part",
        Lookup(
            key="fact_store_bandwidth",
            label="rate of the store, from sheet Facts",
            unit="byte/s",
            column="bandwidth",
            table=stores,
            name="store",
        ),
        Lookup(
            key="fact_overhead",
            label="fixed time, from sheet Facts",
            unit="s",
            column="overhead",
            table=stores,
            name="store",
        ),
        Total(
            key="asked_tokens",
            label="length that the formulas are asked for",
            unit="token",
            note="they keep one token back; without that rule it is one that does not exist",
            plus=("tokens", "one"),
            minus=("last_token",),
        ),
        result("gained_tokens", "tokens that need not be computed", **asked),
        result("fetched_tokens", "tokens that are moved", **asked),
        Total(
            key="suffix_tokens",
            label="tokens that are computed",
            unit="token",
            plus=("tokens",),
            minus=("local_tokens", "gained_tokens"),
        ),
        Total(
            key="held_tokens",
            label="tokens that they attend to",
            unit="token",
            plus=("local_tokens", "gained_tokens"),
        ),
        result("bandwidth", "rate of the path"),
        Choice(
            key="seconds_per_byte",
            label="time of a byte",
            unit="s/byte",
            word_key="coding",
            word="pipelined",
            then="pipelined_seconds_per_byte",
            otherwise="turn_seconds_per_byte",
        ),
        result("turn_seconds_per_byte", "coded and moved in turn", "seconds_per_byte"),
        result("pipelined_seconds_per_byte", "coded and moved at once"),
        Choice(
            key="coding_seconds_per_byte",
            label="of it, coding",
            unit="s/byte",
            word_key="coding",
            word="pipelined",
            then="pipelined_coding",
            otherwise="turn_coding",
        ),
        result("turn_coding", "coding in turn", "seconds_per_byte", **free),
        result("pipelined_coding", "coding at once", "pipelined_seconds_per_byte", **free),
        result("keys", "keys that are asked for"),
        Product(
            key="descriptors",
            label="pieces of memory",
            unit="descriptor",
            times=("descriptors_per_token", "fetched_tokens"),
        ),
        result("moved_bytes", "bytes that are moved, uncompressed"),
        result("fetch_seconds", "time of the fetch", "transfer_seconds"),
        Positive(
            key="load_seconds",
            label="time until the KV is there",
            unit="s",
            note="the lookup alone where nothing is gained",
            test="gained_tokens",
            then="fetch_seconds",
            otherwise="lookup_seconds",
        ),
        result(
            "suffix_seconds",
            "time to compute the rest",
            "prefill_seconds",
            new_tokens="suffix_tokens",
            cached_tokens="held_tokens",
        ),
        Total(
            key="computed_then_fetched",
            label="computed once, then fetched",
            unit="s",
            plus=("recompute_seconds", "load_seconds"),
        ),
    )


def steps() -> tuple[Node | str, ...]:
    """Return the rows between the fetch and the thresholds."""
    return (
        "Steps between",
        Constant(key="none", number=float("nan"), label="what has no value"),
        Constant(key="no_limit", number=NO_LIMIT, label="a rate that does not limit"),
        Total(
            key="left_seconds",
            label="time that a fetch may take",
            unit="s",
            plus=("recompute_seconds",),
            minus=("suffix_seconds",),
        ),
        Product(
            key="moved_bytes_per_token",
            label="bytes moved for each token",
            unit="byte/token",
            times=("moved_bytes",),
            over=("fetched_tokens",),
        ),
        Product(
            key="wire_bytes_per_token",
            label="the same, compressed",
            unit="byte/token",
            times=("moved_bytes",),
            over=("compression_ratio", "fetched_tokens"),
        ),
        result(
            "byteless_seconds",
            "the fetch without its bytes",
            "transfer_seconds",
            moved_bytes="nothing",
        ),
        Product(
            key="coding_seconds",
            label="coding",
            unit="s",
            times=("moved_bytes", "coding_seconds_per_byte"),
        ),
        Total(
            key="byteless_and_coding",
            label="both",
            unit="s",
            plus=("byteless_seconds", "coding_seconds"),
        ),
        Total(
            key="spare_seconds",
            label="time left for the wire",
            unit="s",
            plus=("left_seconds",),
            minus=("byteless_seconds", "coding_seconds"),
        ),
        Choice(
            key="unhidden_seconds",
            label="what the wire cannot hide",
            unit="s",
            word_key="coding",
            word="pipelined",
            then="byteless_seconds",
            otherwise="byteless_and_coding",
        ),
        result(
            "needed_bandwidth",
            "bandwidth of equal times",
            "break_even_bandwidth",
            tokens="fetched_tokens",
            kv_bytes_per_token="wire_bytes_per_token",
            recompute_seconds="left_seconds",
            overhead_seconds="unhidden_seconds",
        ),
        Product(
            key="coded_bandwidth",
            label="rate with coding",
            unit="byte/s",
            times=("one",),
            over=("seconds_per_byte",),
        ),
        result(
            "fixed_fetch_seconds",
            "part of a fetch that no token causes",
            "transfer_seconds",
            keys="nothing",
            descriptors="nothing",
            moved_bytes="fixed_bytes",
        ),
        result(
            "bare_fetch_seconds",
            "the same without any bytes",
            "transfer_seconds",
            keys="nothing",
            descriptors="nothing",
            moved_bytes="nothing",
        ),
        Product(
            key="keys_per_token",
            label="keys of a token",
            unit="key/token",
            times=("keys_per_chunk",),
            over=("chunk_tokens",),
        ),
        result(
            "bytes_of_one",
            "bytes of one token, all copies",
            "moved_bytes",
            fetched_tokens="one",
            fixed_bytes="nothing",
        ),
        result(
            "seconds_of_one",
            "time that one more token takes",
            "transfer_seconds",
            lookup_seconds="nothing",
            overhead_seconds="nothing",
            keys="keys_per_token",
            descriptors="descriptors_per_token",
            moved_bytes="bytes_of_one",
        ),
        Product(
            key="effective_bandwidth",
            label="rate at which KV arrives, counted once",
            unit="byte/s",
            times=("kv_bytes_per_token",),
            over=("seconds_of_one",),
        ),
    )
