"""The tables of facts that a workbook looks values up in."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from kvcost import facts
from kvcost.compute import PrefillCurve, prefill_per_token, prefill_per_token_squared
from kvcost.errors import KvcostError
from kvcost.hardware import accelerator
from kvcost.model import (
    KV_DTYPES,
    AttentionLayers,
    CompressedLayers,
    IndexLayers,
    LatentLayers,
    RecurrentLayers,
    catalogue_names,
    kv_dtype,
    kv_size,
    load,
)
from kvcost.model.formulas import (
    attention_bytes_per_token,
    entry_bytes_per_token,
    latent_bytes_per_token,
    record_bytes_per_token,
    state_bytes,
    window_bytes,
)
from kvcost.model.storage import counted_groups, storage_of
from kvcost.model.token_sizes import index_entry_bytes
from kvcost.sheet.nodes import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.model import KVDtype, LayerGroup, ModelSpec
    from kvcost.sheet.question import ModelFigures

__all__ = [
    "ACCELERATORS",
    "DTYPES",
    "PEAKS",
    "accelerator_table",
    "dtype_table",
    "figures_tables",
    "lookup_name",
    "model_tables",
    "store_table",
]

DTYPES = tuple(name for name in KV_DTYPES if name != "int4")
"""KV dtypes that need no further facts."""

PEAKS = ("bf16", "fp8", "fp4", "int8")
"""Dtypes of arithmetic whose peaks the catalogue holds."""

ACCELERATORS = ("hbm_bytes", "hbm_bandwidth")

_SLOTS = (
    ("attention", ("layers", "kv_heads", "head_dim_k", "head_dim_v")),
    ("window", ("layers", "kv_heads", "head_dim_k", "head_dim_v", "window")),
    ("latent", ("layers", "kv_lora_rank", "rope_dim")),
    ("entry", ("layers", "entry_dim", "ratio")),
    ("index", ("layers", "record_bytes", "tokens_per_entry")),
    ("state", ("layers", "state_elements", "conv_elements")),
)
_PREFILL = ("active_parameters", "alike_layers", "q_heads", "width_k", "width_v")
_MOST_LETTERS = 100
_DENOMINATORS = frozenset({"kv_heads", "ratio", "tokens_per_entry"})
_STATE_BYTES, _CONV_BYTES = 4.0, 2.0
_INT4_ALONE = frozenset({"group_size", "group_scale_bytes"})


def lookup_name(name: str) -> str:
    """Return a name that MATCH finds as it is: short, and without wildcards."""
    plain = re.sub(r"[~*?\x00-\x1f]", "_", name)
    return plain[:_MOST_LETTERS].strip() or "unnamed"


def _slot_of(group: LayerGroup) -> str | None:
    if isinstance(group, AttentionLayers):
        return "attention" if group.window is None else "window"
    kinds = {
        LatentLayers: "latent",
        CompressedLayers: "entry",
        IndexLayers: "index",
        RecurrentLayers: "state",
    }
    return kinds.get(type(group))


def _slots(spec: ModelSpec, options: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the layers that the sheet's formulas count; the first geometry of each kind."""
    storage = storage_of(
        spec,
        kv_dtype_name="bf16",
        index_dtype_name=options.get("index_dtype"),
        layout="logical",
    )
    found: dict[str, dict[str, float]] = {}
    for group in counted_groups(spec, mtp=options.get("mtp", False), index_on_every_layer=False):
        slot = _slot_of(group)
        if slot is None or (isinstance(group, AttentionLayers) and not group.head_dim_v):
            continue
        made = {item.name: getattr(group, item.name) for item in fields(group)}
        if isinstance(group, IndexLayers):
            made["record_bytes"] = index_entry_bytes(group, storage)
        geometry = {name: float(made[name]) for name in dict(_SLOTS)[slot] if name != "layers"}
        known = found.setdefault(slot, {"layers": 0.0, **geometry})
        if all(known[name] == number for name, number in geometry.items()):
            known["layers"] += float(group.layers)
    return found


def _counted(slots: Mapping[str, Mapping[str, float]], dtype: KVDtype) -> tuple[float, float]:
    """Return the growing and the fixed bytes that the sheet's formulas give."""
    heads = {"element_bytes": dtype.element_bytes, "head_scale_bytes": dtype.head_scale_bytes}
    element = dtype.element_bytes
    growing = fixed = 0.0
    for slot, given in slots.items():
        part = dict(given)
        if slot == "attention":
            growing += attention_bytes_per_token(**part, **heads)
        elif slot == "window":
            window = part.pop("window")
            each = attention_bytes_per_token(**part, **heads)
            fixed += window_bytes(window_bytes_per_token=each, window=window, tokens=window)
        elif slot == "latent":
            growing += latent_bytes_per_token(**part, element_bytes=element)
        elif slot == "entry":
            part["tokens_per_entry"] = part.pop("ratio")
            growing += entry_bytes_per_token(**part, element_bytes=element)
        elif slot == "index":
            growing += record_bytes_per_token(**part)
        else:
            fixed += state_bytes(
                **part, state_element_bytes=_STATE_BYTES, conv_element_bytes=_CONV_BYTES
            )
    return growing, fixed


def _rest(
    spec: ModelSpec, slots: Mapping[str, Mapping[str, float]], options: Mapping[str, Any]
) -> tuple[list[float | None], list[float | None]]:
    """Return the bytes that Python counts beyond the sheet's formulas, a dtype each."""
    growing: list[float | None] = []
    fixed: list[float | None] = []
    options = {name: value for name, value in options.items() if name not in _INT4_ALONE}
    for name in DTYPES:
        try:
            size = kv_size(spec, **{**options, "kv_dtype": name})
        except KvcostError:
            growing.append(None)
            fixed.append(None)
            continue
        counted = _counted(slots, kv_dtype(name))
        growing.append(size.bytes_per_token - counted[0])
        fixed.append(size.fixed_bytes_per_request - counted[1])
    return growing, fixed


def _prefill(spec: ModelSpec, source_tokens: int | None) -> list[float | None]:
    """Return parameters and layers that give the model's prefill, as if all layers were alike."""
    part = accelerator("h100-sxm")
    try:
        curve = PrefillCurve.from_hardware(
            spec,
            part,
            accelerators=1,
            mfu=1.0,
            compute_dtype="bf16",
            source_tokens=source_tokens,
        )
    except KvcostError:
        return [None] * len(_PREFILL)
    peak = facts.get("accelerator", "h100-sxm").value("peak_flops_bf16")
    replica = {"accelerators": 1.0, "peak_flops": peak, "mfu": 1.0}
    attention = [group for group in spec.groups if isinstance(group, AttentionLayers)]
    latent = [group for group in spec.groups if isinstance(group, LatentLayers)]
    widths = (128.0, 128.0)
    if attention and attention[0].head_dim_v:
        widths = (float(attention[0].head_dim_k), float(attention[0].head_dim_v))
    elif latent:
        rank = float(latent[0].kv_lora_rank)
        widths = (rank + latent[0].rope_dim, rank)
    q_heads = float(spec.q_heads or 1)
    parameter = prefill_per_token(active_parameters=1.0, **replica)
    layer = prefill_per_token_squared(
        layers=1.0, q_heads=q_heads, head_dim_k=widths[0], head_dim_v=widths[1], **replica
    )
    return [curve.per_token / parameter, curve.per_token_squared / layer, q_heads, *widths]


def model_tables(
    first: tuple[str, ModelSpec, Mapping[str, Any]] | None = None,
) -> tuple[Table, Table, Table]:
    """Return the models' geometry, and what Python counts beyond it, growing and fixed.

    Parameters
    ----------
    first : tuple, optional
        A row above the catalogue's: its name, the model, and options of `kv_size`.

    Returns
    -------
    tuple of Table
        Geometry; growing bytes of a token by dtype; fixed bytes of a request by dtype.
    """
    listed: list[tuple[str, ModelSpec, Mapping[str, Any]]] = [] if first is None else [first]
    listed += [(name, load(name), {}) for name in catalogue_names()]
    columns = tuple(f"{slot} {name}" for slot, names in _SLOTS for name in names)
    rows, growing, fixed, sources = [], [], [], {}
    taken: set[str] = set()
    for given, spec, options in listed:
        name = lookup_name(given)
        if name.lower() in taken:
            continue
        taken.add(name.lower())
        try:
            slots = _slots(spec, options)
        except KvcostError:
            continue
        numbers: list[float | None] = [
            slots.get(slot, {}).get(field, 1.0 if field in _DENOMINATORS else 0.0)
            for slot, names in _SLOTS
            for field in names
        ]
        numbers += _prefill(spec, options.get("source_tokens"))
        rest = _rest(spec, slots, options)
        rows.append((name, tuple(numbers)))
        growing.append((name, tuple(rest[0])))
        fixed.append((name, tuple(rest[1])))
        sources[name] = "; ".join(spec.sources) or str(spec.provenance)
    note = (
        "alike_layers: computed by Python, the layers of this width that take as much "
        "arithmetic; active_parameters: with the part of windows that grows with the length"
    )
    beyond = "computed by Python: what the formulas of sheet Model do not count"
    return (
        Table(
            name="models",
            title="Models: layers by kind",
            columns=columns + _PREFILL,
            rows=tuple(rows),
            source=sources,
            note=note,
        ),
        Table(
            name="growing",
            title="Further bytes of a token, by KV dtype",
            columns=DTYPES,
            rows=tuple(growing),
            note=beyond,
        ),
        Table(
            name="fixed",
            title="Further fixed bytes of a request, by KV dtype",
            columns=DTYPES,
            rows=tuple(fixed),
            note=f"{beyond}; recurrent states in fp32, convolutions in bf16",
        ),
    )


def figures_tables(name: str, figures: ModelFigures) -> tuple[Table, ...]:
    """Return the tables of `model_tables`, above them a model of which figures alone are known.

    Parameters
    ----------
    name : str
        Its row.
    figures : ModelFigures
        Parameters and bytes of a token, whatever the dtype chosen; its layers count nothing.

    Returns
    -------
    tuple of Table
        As `model_tables`.
    """
    layers = [1.0 if field in _DENOMINATORS else 0.0 for _, names in _SLOTS for field in names]
    prefill = (figures.active_parameters, 0.0, 1.0, 128.0, 128.0)
    rows: dict[str, tuple[float | None, ...]] = {
        "models": (*layers, *prefill),
        "growing": (figures.kv_bytes_per_token,) * len(DTYPES),
        "fixed": (0.0,) * len(DTYPES),
    }
    return tuple(
        replace(
            table,
            rows=((name, rows[table.name]), *table.rows),
            source={**table.source, name: "figures as asked"},
        )
        for table in model_tables()
    )


def dtype_table() -> Table:
    """Return the KV dtypes with their bytes."""
    known = [kv_dtype(name) for name in DTYPES]
    return Table(
        name="dtypes",
        title="KV dtypes",
        columns=("element_bytes", "head_scale_bytes"),
        rows=tuple((dtype.name, (dtype.element_bytes, dtype.head_scale_bytes)) for dtype in known),
        note="element_bytes include the scales of blocks",
    )


def accelerator_table() -> Table:
    """Return the accelerators with their peaks and memory."""
    columns = (*ACCELERATORS, *PEAKS)
    rows, sources = [], {}
    for name in facts.names("accelerator"):
        entry = facts.get("accelerator", name)
        wanted = (*ACCELERATORS, *(f"peak_flops_{dtype}" for dtype in PEAKS))
        rows.append(
            (name, tuple(entry.value(key) if key in entry.facts else None for key in wanted))
        )
        stated = [fact for key, fact in entry.facts.items() if key in wanted]
        sources[name] = f"{entry.provenance}: {stated[0].source}" if stated else ""
    return Table(
        name="accelerators",
        title="Accelerators: memory, and dense peak FLOP/s by dtype",
        columns=columns,
        rows=tuple(rows),
        source=sources,
    )


def store_table(first: tuple[str, float, float] | None = None) -> Table:
    """Return stores and tiers: bandwidth as stated, and the fixed time of a fetch.

    Parameters
    ----------
    first : tuple, optional
        A row above the catalogue's: name, bytes a second, seconds.

    Returns
    -------
    Table
        Bandwidths of all shards together.
    """
    rows: list[tuple[str, tuple[float | None, ...]]] = []
    sources = {}
    if first is not None:
        rows.append((lookup_name(first[0]), first[1:]))
        sources[lookup_name(first[0])] = "as asked for"
    for kind in ("store", "tier"):
        for name in facts.names(kind):
            entry = facts.get(kind, name)
            if "bandwidth" not in entry.facts:
                continue
            overhead = entry.value("overhead") if "overhead" in entry.facts else 0.0
            rows.append((name, (entry.value("bandwidth"), overhead)))
            sources[name] = f"{entry.title}; {entry.provenance}: {entry.fact('bandwidth').source}"
            if "overhead" not in entry.facts:
                sources[name] += "; fixed time not known, 0 taken"
    return Table(
        name="stores",
        title="Stores and tiers: byte/s of all shards together, and fixed seconds of a fetch",
        columns=("bandwidth", "overhead"),
        rows=tuple(rows),
        source=sources,
    )
