"""Sheet Model: what a token and a request weigh, what fits, and how fast prefill is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.sheet.nodes import Choice, Constant, Lookup, Node, Result, Total, result
from kvcost.sheet.plan.parts import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.sheet.nodes import Table

__all__ = ["page"]


def page(tables: Mapping[str, Table]) -> Page:
    """Return the page.

    Parameters
    ----------
    tables : mapping of str to Table
        The models' geometry, dtypes and accelerators.

    Returns
    -------
    Page
        The page.
    """
    return Page(
        name="Model",
        title="What the KV weighs",
        text="Bytes by kind of layer, for the model and dtype chosen on Inputs.",
        rows=(
            *_geometry(tables),
            *_bytes(tables),
            *_memory(),
            *_prefill(tables),
        ),
    )


def _geometry(tables: Mapping[str, Table]) -> tuple[Node | str, ...]:
    models = tables["models"]
    rows: list[Node | str] = ["Geometry, from sheet Facts"]
    rows += [
        Lookup(
            key=f"fact_{column.replace(' ', '_')}",
            label=column.replace("_", " "),
            table=models,
            name="model",
            column=column,
        )
        for column in models.columns
    ]
    rows += [
        Lookup(
            key=column,
            label=column.replace("_", " "),
            unit=unit,
            table=tables["dtypes"],
            name="kv_dtype",
            column=column,
        )
        for column, unit in (("element_bytes", "byte/element"), ("head_scale_bytes", "byte/head"))
    ]
    return tuple(rows)


def _slot(slot: str, *names: str, **other: str) -> dict[str, str]:
    return {name: f"fact_{slot}_{name}" for name in names} | other


def _bytes(tables: Mapping[str, Table]) -> tuple[Node | str, ...]:
    heads = ("layers", "kv_heads", "head_dim_k", "head_dim_v")

    def row(key: str, label: str, formula: str, arguments: Mapping[str, str]) -> Result:
        return result(key, label, formula, **arguments)

    python = "computed by Python, by model and dtype"
    return (
        "Bytes",
        row(
            "attention_bytes",
            "layers with heads",
            "attention_bytes_per_token",
            _slot("attention", *heads),
        ),
        row(
            "latent_bytes",
            "layers with a latent",
            "latent_bytes_per_token",
            _slot("latent", "layers", "kv_lora_rank", "rope_dim"),
        ),
        row(
            "entry_bytes",
            "layers with entries for several tokens",
            "entry_bytes_per_token",
            _slot("entry", "layers", "entry_dim", tokens_per_entry="fact_entry_ratio"),
        ),
        row(
            "index_bytes",
            "indexes of sparse attention",
            "record_bytes_per_token",
            _slot("index", "layers", "record_bytes", "tokens_per_entry"),
        ),
        Lookup(
            key="further_bytes",
            label="what these formulas do not count",
            unit="byte/token",
            note=python,
            table=tables["growing"],
            name="model",
            column_key="kv_dtype",
        ),
        Total(
            key="model_bytes",
            label="KV bytes of a token",
            unit="byte/token",
            plus=(
                "attention_bytes",
                "latent_bytes",
                "entry_bytes",
                "index_bytes",
                "further_bytes",
            ),
        ),
        row(
            "window_bytes_per_token",
            "bytes of a token inside a window",
            "attention_bytes_per_token",
            _slot("window", *heads),
        ),
        row(
            "window_bytes",
            "bytes of windows at the length of the prompt",
            "window_bytes",
            {"window": "fact_window_window"},
        ),
        row(
            "full_window_bytes",
            "bytes of windows when full",
            "window_bytes",
            {"window": "fact_window_window", "tokens": "fact_window_window"},
        ),
        Constant(
            key="state_element_bytes", number=4.0, label="bytes of a recurrent state element, fp32"
        ),
        Constant(
            key="conv_element_bytes", number=2.0, label="bytes of a convolution element, bf16"
        ),
        row(
            "recurrent_bytes",
            "bytes of recurrent states",
            "state_bytes",
            _slot("state", "layers", "state_elements", "conv_elements"),
        ),
        Lookup(
            key="further_fixed_bytes",
            label="what these formulas do not count",
            unit="byte",
            note=python,
            table=tables["fixed"],
            name="model",
            column_key="kv_dtype",
        ),
        Total(
            key="model_fixed_bytes",
            label="bytes of a request that do not grow",
            unit="byte",
            plus=("full_window_bytes", "recurrent_bytes", "further_fixed_bytes"),
        ),
        Total(
            key="state_bytes",
            label="of them, not in windows",
            unit="byte",
            plus=("recurrent_bytes", "further_fixed_bytes"),
        ),
        row("cache_bytes", "KV of a request of this length, one copy", "cache_bytes", {}),
    )


def _memory() -> tuple[Node | str, ...]:
    return (
        "Memory of a replica",
        Result(
            key="kv_budget_bytes",
            label="memory left for KV",
            unit="byte",
            formula="kv_budget",
        ),
        Result(
            key="kv_capacity",
            label="tokens that fit, for so many requests at once",
            unit="token",
            formula="kv_capacity",
            arguments={"state_bytes": "fixed_bytes"},
        ),
        Result(
            key="sequences_that_fit",
            label="requests of this length that fit",
            unit="request",
            formula="sequences_that_fit",
            arguments={"state_bytes": "fixed_bytes"},
        ),
    )


def _prefill(tables: Mapping[str, Table]) -> tuple[Node | str, ...]:
    parts = tables["accelerators"]
    picked = {"word_key": "prefill_source", "word": "hardware"}
    replica = {"peak_flops": "peak_flops"}
    return (
        "Prefill",
        Lookup(
            key="fact_peak_flops",
            label="dense peak of one accelerator",
            unit="FLOP/s",
            table=parts,
            name="accelerator",
            column_key="compute_dtype",
        ),
        Lookup(
            key="fact_hbm_bytes",
            label="memory of one accelerator",
            unit="byte",
            table=parts,
            name="accelerator",
            column="hbm_bytes",
        ),
        Constant(key="nothing", number=0.0, label="zero"),
        Constant(key="one", number=1.0, label="one"),
        Result(
            key="hardware_per_token",
            label="prefill of a token, by arithmetic",
            unit="s/token",
            formula="prefill_per_token",
            arguments=replica,
        ),
        Result(
            key="hardware_per_token_squared",
            label="prefill for the square of the length, by arithmetic",
            unit="s/token^2",
            formula="prefill_per_token_squared",
            arguments={
                "layers": "attention_layers",
                "q_heads": "fact_q_heads",
                "head_dim_k": "fact_width_k",
                "head_dim_v": "fact_width_v",
            },
        ),
        Choice(
            key="prefill_constant",
            label="constant that is used",
            unit="s",
            then="nothing",
            otherwise="stated_constant",
            **picked,
        ),
        Choice(
            key="prefill_per_token",
            label="time of a token that is used",
            unit="s/token",
            then="hardware_per_token",
            otherwise="stated_per_token",
            **picked,
        ),
        Choice(
            key="prefill_per_token_squared",
            label="time for the square that is used",
            unit="s/token^2",
            then="hardware_per_token_squared",
            otherwise="stated_per_token_squared",
            **picked,
        ),
        Result(
            key="recompute_seconds",
            label="time to compute the prompt anew",
            unit="s",
            formula="prefill_seconds",
            arguments={"new_tokens": "tokens", "cached_tokens": "nothing"},
        ),
    )
