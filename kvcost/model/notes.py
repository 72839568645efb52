"""Sentences that say what a size counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.model.spec import AttentionLayers, IndexLayers, RecurrentLayers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.model.parallel import Ranks
    from kvcost.model.spec import LayerGroup, ModelSpec
    from kvcost.model.storage import Storage

__all__ = ["length_notes", "size_notes"]


def size_notes(
    spec: ModelSpec,
    groups: Sequence[LayerGroup],
    storage: Storage,
    ranks: Ranks,
    *,
    mtp: bool,
) -> tuple[str, ...]:
    """Return what is counted: MTP layers, index, windows, states.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    groups : sequence of layer groups
        The layers that count.
    storage : Storage
        How they are stored.
    ranks : Ranks
        How the model is spread.
    mtp : bool
        Whether MTP layers count.

    Returns
    -------
    tuple of str
        Sentences.
    """
    notes = [_mtp_note(spec, mtp=mtp)] if spec.mtp_groups or mtp else []
    indexed = [group for group in groups if isinstance(group, IndexLayers)]
    if indexed:
        stored = storage.index or {"fp8_record": "fp8", "bf16": "bf16"}[indexed[0].storage]
        form = "FP8 records with their scales" if stored == "fp8" else "bf16, whatever the KV dtype"
        layers = sum(group.layers for group in indexed)
        notes.append(f"the index of {layers} layers is counted in {form}")
    if any(
        isinstance(group, AttentionLayers) and group.window_kind == "chunked" for group in groups
    ):
        notes.append(
            "chunked layers start anew at each chunk: their part is the most that they hold"
        )
    if ranks.attention_ranks > 1 and any(isinstance(group, RecurrentLayers) for group in groups):
        notes.append("fixed bytes are those of one copy; how ranks split the states is not stated")
    if storage.dtype.note:
        notes.append(storage.dtype.note)
    return (*notes, *spec.notes)


def _mtp_note(spec: ModelSpec, *, mtp: bool) -> str:
    layers = max((group.layers for group in spec.mtp_groups), default=0)
    if not layers:
        return "the model states no MTP layers, so none are counted"
    return f"MTP layers are {'' if mtp else 'not '}counted ({layers})"


def length_notes(spec: ModelSpec, tokens: int | None, counted: float | None) -> tuple[str, ...]:
    """Return what a reader must know of the length.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    tokens : int or None
        The length asked for.
    counted : float or None
        The length after rounding.

    Returns
    -------
    tuple of str
        Sentences.
    """
    if tokens is None or counted is None:
        return ()
    notes = []
    if counted != tokens:
        notes.append(f"{tokens:,} tokens are counted as {counted:,.0f}, in whole blocks or chunks")
    if spec.max_context is not None and tokens > spec.max_context:
        notes.append(f"{tokens:,} tokens exceed the model's context of {spec.max_context:,}")
    return tuple(notes)
