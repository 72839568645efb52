"""What the answer stands on: the scenario, facts with their sources, methods with their errors."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from kvcost import facts
from kvcost.report.blocks import Heading, Items, Paragraph, Table
from kvcost.units import format_bytes, format_quantity, format_rate, format_seconds, format_tokens

if TYPE_CHECKING:
    from kvcost.planning import Comparison
    from kvcost.report.blocks import Block
    from kvcost.report.scene import Scene

__all__ = ["assumptions"]

_TIMES = frozenset(
    {
        "burst_span",
        "decoy_high",
        "decoy_low",
        "duration",
        "every",
        "first",
        "index_lag",
        "jitter",
        "latency",
        "load_staleness",
        "span",
        "within",
    }
)


def _shown(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("bandwidth"):
        return format_rate(value)
    if name.endswith("memory"):
        return "no limit" if math.isinf(value) else format_bytes(value)
    if name in _TIMES:
        return format_seconds(value)
    if name.endswith("_tokens"):
        return format_tokens(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def _entries(scene: Scene) -> Table:
    rows = []
    for name in ("model", "replica", "cache", "network", "behaviour", "workload", "policy"):
        part = getattr(scene.scenario, name)
        docs = {f.name: f.metadata.get("doc", "") for f in dataclasses.fields(part)}
        rows += [
            (f"{name}: {key.replace('_', ' ')}", _shown(key, value), docs.get(key, ""))
            for key, value in part.to_table().items()
        ]
    return Table(
        caption="Stated in the scenario, where it differs from the defaults",
        header=("entry", "value", "what it is"),
        rows=tuple(rows),
    )


def _derived(scene: Scene) -> Table:
    costs = scene.costs
    rows = [
        ("KV bytes of a token", format_bytes(scene.kv_bytes_per_token)),
        ("KV memory beside the weights", format_tokens(costs.kv_tokens)),
        ("decode step, reading the weights", format_seconds(costs.decode_fixed)),
    ]
    if scene.prompt is not None:
        rows += [
            (f"prefill of {format_tokens(scene.prompt)}", format_seconds(_cold(scene))),
            ("such prompts in memory at once", f"{costs.slots(scene.prompt):,}"),
        ]
        if math.isfinite(costs.copy_seconds_per_token):
            rows.append(
                ("copy of such a prompt's KV", format_seconds(costs.copy(scene.prompt))),
            )
    return Table(caption="Computed for one replica", header=("what", "value"), rows=tuple(rows))


def _cold(scene: Scene) -> float:
    assert scene.prompt is not None
    return float(scene.prefill.seconds(scene.prompt))


def _hardware(scene: Scene) -> list[Block]:
    replica = scene.scenario.replica
    entry = facts.get("accelerator", replica.accelerator)
    used = ("hbm_bytes", "hbm_bandwidth", *_peak(entry.facts, replica.compute_dtype))
    kept = {name: fact for name, fact in entry.facts.items() if name in used}
    rows = [
        (
            f"{entry.title}: {name.replace('_', ' ')}",
            format_quantity(fact.value, fact.unit),
            str(fact.provenance),
            f"{fact.source}, {fact.date.isoformat()}",
        )
        for name, fact in kept.items()
    ]
    blocks: list[Block] = [
        Table(
            caption="Facts of the catalogue",
            header=("fact", "value", "known by", "source"),
            rows=tuple(rows),
        )
    ]
    name = scene.scenario.model.name
    if name is None:
        blocks.append(
            Paragraph(text="The model's figures are stated in the scenario and were not checked.")
        )
    else:
        from kvcost.model import load  # noqa: PLC0415 - the catalogue is large

        spec = load(name)
        sources = "; ".join(map(str, spec.sources)) or "the catalogue"
        blocks.append(Paragraph(text=f"Shape of {spec.name}: {spec.provenance}, from {sources}."))
        blocks += [Items(texts=tuple(spec.notes))] if spec.notes else []
    blocks.append(
        Paragraph(
            text="Shares of peaks that are achieved (MFU, decode bandwidth) and rates of host and "
            "network are assumptions of the scenario; an answer is as good as the weakest of them."
        )
    )
    return blocks


def _peak(known: Any, dtype: str) -> tuple[str, ...]:
    from kvcost.hardware.accelerator import COMPUTE_DTYPES  # noqa: PLC0415

    name = f"peak_flops_{COMPUTE_DTYPES.get(dtype, dtype)}"
    return (name,) if name in known else ()


def _methods(found: Comparison) -> Items:
    methods: dict[str, list[str]] = {}
    for answer in found.answers:
        closed, simulated = answer.closed, answer.simulated
        if closed is not None:
            text = f"{closed.method}; {closed.error.text}"
        else:
            text = f"simulated, since no closed form covers {answer.missing}"
        if simulated is not None:
            text += (
                f"; 95% interval of {simulated.runs} simulated runs "
                f"{format_seconds(simulated.low)} to {format_seconds(simulated.high)}"
            )
        methods.setdefault(text, []).append(answer.policy)
    warnings = {
        f"Note: {warning}": None
        for answer in found.answers
        for warning in (answer.closed.warnings if answer.closed else ())
    }
    return Items(texts=(*(f"{', '.join(n)}: {text}" for text, n in methods.items()), *warnings))


def assumptions(scene: Scene, found: Comparison) -> tuple[Block, ...]:
    """Return the blocks under the heading of the assumptions.

    Parameters
    ----------
    scene : Scene
        The scenario.
    found : Comparison
        What its policies give.

    Returns
    -------
    tuple of Block
        Tables and lists with their headings of level 3.
    """
    return (
        Heading(level=3, text="The scenario"),
        _entries(scene),
        _derived(scene),
        Heading(level=3, text="Facts and their sources"),
        *_hardware(scene),
        Heading(level=3, text="How each answer was found, and its error"),
        _methods(found),
    )
