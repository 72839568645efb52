"""The registered formulas that a scenario's answer uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import formula as formulas
from kvcost.report.blocks import Equation, Heading, Paragraph
from kvcost.scenario import SteadyWork

if TYPE_CHECKING:
    from kvcost.report.blocks import Block
    from kvcost.report.scene import Scene

__all__ = ["equations"]


def _names(scene: Scene) -> list[str]:
    names = ["prefill_seconds", "prefill_per_token", "decode_step_seconds", "kv_budget"]
    if scene.paths:
        names += [
            "moved_bytes",
            "seconds_per_byte",
            "transfer_seconds",
            "break_even_bandwidth",
            "break_even_tokens_infinite_bandwidth",
        ]
    if scene.prompt is not None and "another replica" in scene.paths:
        names.append("split_seconds")
    if isinstance(scene.scenario.workload, SteadyWork):
        names += ["offered_load", "utilization"]
    return names


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return words.replace("kv ", "KV ") if words.startswith("kv ") else words.capitalize()


def equations(scene: Scene) -> tuple[Block, ...]:
    """Return the equations, each under a heading of level 3.

    Parameters
    ----------
    scene : Scene
        The scenario.

    Returns
    -------
    tuple of Block
        Headings and equations.
    """
    blocks: list[Block] = [
        Paragraph(
            text="Costs of a replica are closed forms. Waits under a policy are recursions and "
            "laws of queues; the method of each is named above."
        )
    ]
    for name in _names(scene):
        blocks.append(Heading(level=3, text=_title(name)))
        blocks.append(Equation(formula=formulas.get(name)))
    return tuple(blocks)
