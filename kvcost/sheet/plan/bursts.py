"""A scenario's burst on sheet Routing: its inputs, its waits, and copies of its prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.formula import GLOSSARY
from kvcost.sheet.nodes import Choice, Given, Node, Positive, Product, Total, Value, result
from kvcost.sheet.plan.parts import AXIS, Chart, Sweep

if TYPE_CHECKING:
    from kvcost.sheet.question import RoutedBurst

__all__ = ["burst_inputs", "burst_rows", "copies_sweep"]

_LAYERS = 80.0


def _known(name: str, yours: Value | None, source: str, *, section: str = "") -> Given:
    known = GLOSSARY[name]
    return Given(
        key=name,
        label=known.text,
        unit=known.unit,
        yours=yours,
        source=source,
        low=known.low,
        high=known.high,
        whole=known.whole,
        section=section,
    )


def burst_inputs(burst: RoutedBurst) -> tuple[Given, ...]:
    """Return the inputs that only a burst with a shared prefix has.

    Parameters
    ----------
    burst : RoutedBurst
        The burst.

    Returns
    -------
    tuple of Given
        Lengths, spacing, copies.
    """
    source = burst.source
    return (
        Given(
            key="shared_tokens",
            label="prefix that all requests of the burst share",
            unit="token",
            yours=burst.shared_tokens,
            source=source,
            whole=True,
            section="Burst that shares a prefix",
        ),
        Given(
            key="private_tokens",
            label="what each request has alone",
            unit="token",
            yours=burst.private_tokens,
            source=source,
            whole=True,
        ),
        Given(
            key="spacing",
            label="the last request comes at the end of the burst, or a gap before",
            yours=burst.spacing,
            source=source,
            choices="inclusive,exclusive",
        ),
        Given(
            key="copy_bandwidth",
            label="network between replicas, of one accelerator",
            unit="byte/s/accelerator",
            yours=burst.copy_bandwidth,
            source="not stated: no copies" if burst.copy_bandwidth is None else source,
        ),
        Given(
            key="copy_latency",
            label="what a copy takes beside",
            unit="s",
            yours=burst.copy_latency,
            source=source,
        ),
        _known("repeats", burst.repeats, "the policy replicate_on_burst"),
        _known("detection_window", burst.within, "the policy replicate_on_burst"),
        _known("prefix_copies", burst.copies, "the policy replicate_on_burst, and the replicas"),
        _known(
            "model_layers",
            _LAYERS if burst.layers is None else burst.layers,
            "assumed: an example, change it" if burst.layers is None else source,
        ),
    )


def burst_rows() -> tuple[Node | str, ...]:
    """Return the rows of the burst.

    Returns
    -------
    tuple of Node or str
        Rows under headings.
    """
    return (*_prefill(), *_waits(), *_copy(), *_ready())


def _prefill() -> tuple[Node | str, ...]:
    return (
        "A request of the burst",
        Total(
            key="prompt_tokens",
            label="prompt",
            unit="token",
            plus=("shared_tokens", "private_tokens"),
        ),
        Total(
            key="prompt_and_one",
            label="length that the next formula is asked for",
            unit="token",
            note="it keeps one token back; what a replica holds is not computed again",
            plus=("prompt_tokens", "one"),
        ),
        result(
            "prefix_tokens",
            "of it, whole blocks of the prefix",
            "fetched_tokens",
            tokens="prompt_and_one",
            hit_tokens="shared_tokens",
            local_tokens="nothing",
        ),
        Total(
            key="own_tokens",
            label="computed where the prefix is there",
            unit="token",
            plus=("prompt_tokens",),
            minus=("prefix_tokens",),
        ),
        result(
            "cold_prefill_seconds",
            "prefill where the prefix is not there",
            "prefill_seconds",
            new_tokens="prompt_tokens",
            cached_tokens="nothing",
        ),
        result(
            "suffix_prefill_seconds",
            "prefill where it is",
            "prefill_seconds",
            new_tokens="own_tokens",
            cached_tokens="prefix_tokens",
        ),
        Total(
            key="gaps_between",
            label="gaps between the requests",
            unit="request",
            plus=("burst_requests",),
            minus=("one",),
        ),
        Choice(
            key="gaps_in_span",
            label="gaps that the burst's time has",
            unit="request",
            word_key="spacing",
            word="inclusive",
            then="gaps_between",
            otherwise="burst_requests",
        ),
        Positive(
            key="burst_gaps",
            label="the same, one for a burst of one request",
            unit="request",
            test="gaps_in_span",
            then="gaps_in_span",
            otherwise="one",
        ),
    )


def _waits() -> tuple[Node | str, ...]:
    gap = {"arrival_gap": "burst_gap"}
    warm = {"servers": "one", "service_seconds": "warm_seconds", **gap}
    last = {"earlier_requests": "gaps_between", **gap}
    cold = "cold_then_warm_wait"
    ends = "waits change evenly from here to the last"
    note = "exact if warm services are no shorter than (servers - 1) gaps"
    return (
        "Waits, even arrivals, decode steps left out",
        result(
            "warm_home_wait",
            "mean, one server that holds the prefix",
            "even_burst_mean_wait",
            **warm,
        ),
        result("warm_home_longest", "longest, the same", "even_burst_longest_wait", **warm),
        result(
            "home_first_wait",
            "second request, one server that computes it",
            cold,
            ends,
            servers="one",
            earlier_requests="one",
            **gap,
        ),
        result("home_last_wait", "last, the same", cold, servers="one", **last),
        result(
            "spread_first_wait",
            "first that waits, spread over all, each computes it",
            cold,
            f"{ends}, {note}",
            earlier_requests="servers",
            **gap,
        ),
        result("spread_last_wait", "last, the same", cold, note, **last),
    )


def _copy() -> tuple[Node | str, ...]:
    free = {"encode_rate": "no_limit", "decode_rate": "no_limit", "compression_ratio": "one"}
    none = {"keys": "nothing", "descriptors": "nothing", "lookup_seconds": "nothing"}
    return (
        "A copy of the prefix",
        result(
            "copy_bytes",
            "bytes of a copy",
            "moved_bytes",
            fetched_tokens="prefix_tokens",
            fixed_bytes="nothing",
            kv_copies="one",
        ),
        Product(
            key="copy_rate",
            label="rate between two replicas",
            unit="byte/s",
            times=("copy_bandwidth", "accelerators"),
        ),
        result(
            "copy_seconds_per_byte",
            "time of a byte of it",
            "seconds_per_byte",
            bandwidth="copy_rate",
            **free,
        ),
        result(
            "copy_seconds",
            "time of a copy",
            "transfer_seconds",
            overhead_seconds="copy_latency",
            moved_bytes="copy_bytes",
            seconds_per_byte="copy_seconds_per_byte",
            **none,
        ),
        result("serial_copies_seconds", "all copies, sent one after another"),
        result("chained_copies_seconds", "all copies, handed on layer by layer"),
        result("tree_copies_seconds", "all copies, every holder sends"),
    )


def _ready() -> tuple[Node | str, ...]:
    first = {"source_ready_seconds": "cold_seconds"}
    return (
        "When the first copy can be used",
        result(
            "detection_seconds",
            "the burst is noticed",
            "even_detection_seconds",
            "#N/A: the gaps are too long; even arrivals",
            arrival_gap="burst_gap",
        ),
        result(
            "computed_copy_ready",
            "copied once the prefix is computed",
            "copy_ready_time",
            **first,
        ),
        result(
            "following_copy_ready",
            "copied layer by layer while it is computed",
            "following_copy_ready_time",
            **first,
        ),
        result(
            "admitted_copy_ready",
            "taken for present once it is admitted",
            "copy_ready_time",
            source_ready_seconds="nothing",
        ),
        result(
            "copy_backlog",
            "requests that wait at the source by then",
            "copy_backlog_requests",
            "of what Inputs take for copy_ready_seconds; even arrivals",
            arrival_gap="burst_gap",
        ),
    )


def copies_sweep() -> Sweep:
    """Return the table of copies by their number."""
    several = {"prefix_copies": AXIS}
    return Sweep(
        key="by_copies",
        title="Time until all copies are there",
        axis="copies",
        steps=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 32.0),
        columns=(
            result("by_copies_serial", "one after another", "serial_copies_seconds", **several),
            result("by_copies_chain", "handed on", "chained_copies_seconds", **several),
            result("by_copies_tree", "every holder sends", "tree_copies_seconds", **several),
        ),
        chart=Chart(
            title="Time until all copies are there",
            x_title="copies beside the source",
            y_title="time [s]",
            series=("by_copies_serial", "by_copies_chain", "by_copies_tree"),
        ),
    )
