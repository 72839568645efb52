"""Sheet Break-even: fetch or recompute, and what would change the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.sheet.nodes import Node, Positive, Product, Total, Verdict, result
from kvcost.sheet.plan.fetch import fetch, steps
from kvcost.sheet.plan.parts import AXIS, Chart, Page, Sweep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.sheet.nodes import Table

__all__ = ["page"]

_LENGTHS = (0.0625, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0)


def page(tables: Mapping[str, Table]) -> Page:
    """Return the page.

    Parameters
    ----------
    tables : mapping of str to Table
        The stores.

    Returns
    -------
    Page
        The page.
    """
    return Page(
        name="Break-even",
        title="Fetch the KV, or compute it anew?",
        text="One request on an idle server; waiting is on sheet Waiting.",
        rows=(*_answer(), *_thresholds(), *_splits(), *fetch(tables), *steps()),
        sweeps=(_by_length(), _by_bandwidth()),
    )


def _answer() -> tuple[Node | str, ...]:
    return (
        "Answer",
        Verdict(
            key="verdict",
            label="faster for the request",
            recompute="recompute_seconds",
            hit="hit_seconds",
            margin="margin",
        ),
        result("margin", "share of the recompute that fetching saves"),
        Total(
            key="hit_seconds",
            label="time until a fetched prompt is ready",
            unit="s",
            plus=("load_seconds", "suffix_seconds"),
        ),
        result("hit_gpu_seconds", "time that a hit keeps the GPU from other work"),
        result(
            "gpu_margin",
            "share of GPU time that fetching saves",
            "margin",
            hit_seconds="hit_gpu_seconds",
        ),
        Verdict(
            key="gpu_verdict",
            label="shorter on the GPU",
            recompute="recompute_seconds",
            hit="hit_gpu_seconds",
            margin="gpu_margin",
        ),
    )


def _thresholds() -> tuple[Node | str, ...]:
    lengths = {"overhead_seconds": "fixed_fetch_seconds", "bandwidth": "effective_bandwidth"}
    return (
        "What would change it",
        Positive(
            key="break_even_bandwidth",
            label="bandwidth from which fetching wins",
            unit="byte/s",
            note="#N/A: no bandwidth wins",
            test="spare_seconds",
            then="needed_bandwidth",
            otherwise="none",
        ),
        result(
            "break_even_bandwidth_without_overhead",
            "the same without the overhead",
            tokens="fetched_tokens",
            kv_bytes_per_token="wire_bytes_per_token",
            recompute_seconds="left_seconds",
        ),
        result(
            "break_even_overhead",
            "overhead below which fetching wins",
            note="#N/A: none is small enough",
            tokens="fetched_tokens",
            kv_bytes_per_token="moved_bytes_per_token",
            recompute_seconds="left_seconds",
            bandwidth="coded_bandwidth",
        ),
        result(
            "break_even_tokens",
            "length from which fetching wins",
            note="#N/A: at no length; of prompts that are stored whole, without chunks",
            **lengths,
        ),
        result(
            "break_even_tokens_infinite_bandwidth",
            "length below which no bandwidth wins",
            note="costs of keys and pieces left out",
            overhead_seconds="bare_fetch_seconds",
        ),
        result(
            "break_even_tokens_linear",
            "length from which fetching wins, attention left out",
            **lengths,
        ),
        result("crossing_low_tokens", "length at which a fetch that led falls behind", **lengths),
        result("floor_window_tokens", "length up to which the floor of prefill loses", **lengths),
    )


def _splits() -> tuple[Node | str, ...]:
    lengths = {"overhead_seconds": "fixed_fetch_seconds", "bandwidth": "effective_bandwidth"}
    return (
        "Both at once",
        result("partial_hit_tokens", "first tokens that must be stored to pay", **lengths),
        result("split_tokens", "tokens to compute while the others load", **lengths),
        result("split_seconds", "time when both go at once", **lengths),
        result("ideal_split_seconds", "the same at even rates, a bound"),
    )


def _by_length() -> Sweep:
    return Sweep(
        key="by_length",
        title="By length of the prompt, stored whole",
        axis="tokens",
        base="tokens",
        steps=_LENGTHS,
        columns=(
            result(
                "by_length_recompute",
                "recompute",
                "prefill_seconds",
                new_tokens=AXIS,
                cached_tokens="nothing",
            ),
            result("by_length_keys", "keys", "keys", fetched_tokens=AXIS),
            Product(
                key="by_length_pieces",
                label="pieces",
                unit="descriptor",
                times=("descriptors_per_token", AXIS),
            ),
            result("by_length_bytes", "bytes moved", "moved_bytes", fetched_tokens=AXIS),
            result(
                "by_length_fetch",
                "fetch",
                "transfer_seconds",
                keys="by_length_keys",
                descriptors="by_length_pieces",
                moved_bytes="by_length_bytes",
            ),
            result(
                "by_length_bandwidth",
                "break-even bandwidth",
                "break_even_bandwidth",
                tokens=AXIS,
                recompute_seconds="by_length_recompute",
                overhead_seconds="fixed_fetch_seconds",
            ),
        ),
        chart=Chart(
            title="Fetch or recompute, by length",
            x_title="prompt [token]",
            y_title="time [s]",
            series=("by_length_recompute", "by_length_fetch"),
            log_x=True,
            log_y=True,
        ),
    )


def _by_bandwidth() -> Sweep:
    return Sweep(
        key="by_bandwidth",
        title="By rate at which KV arrives",
        axis="byte/s",
        base="effective_bandwidth",
        steps=(0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0, 100.0),
        columns=(
            result(
                "by_bandwidth_tokens",
                "break-even length",
                "break_even_tokens",
                overhead_seconds="fixed_fetch_seconds",
                bandwidth=AXIS,
            ),
            result(
                "by_bandwidth_split",
                "both at once",
                "split_seconds",
                overhead_seconds="fixed_fetch_seconds",
                bandwidth=AXIS,
            ),
        ),
        chart=Chart(
            title="Length from which fetching wins, by bandwidth",
            x_title="bandwidth [byte/s]",
            y_title="prompt [token]",
            series=("by_bandwidth_tokens",),
            log_x=True,
        ),
    )
