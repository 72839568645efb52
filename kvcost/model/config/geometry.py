"""What a family's reader returns, and the register of readers by ``model_type``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from kvcost.model.config.fields import Fields

if TYPE_CHECKING:
    from kvcost.model.spec import LayerGroup

__all__ = ["FAMILIES", "Geometry", "Reader", "family", "merged"]


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """The stored layers of a model, one entry a layer and kind of cache, before merging.

    Parameters
    ----------
    total_layers : int
        Layers of the model, MTP layers not counted.
    groups, mtp_groups : list of layer groups
        What the layers and the MTP layers store; equal entries are merged later.
    shared_layers : int
        Layers that read another layer's KV.
    q_heads, hidden_size, max_context : int, optional
        As the config states them.
    """

    total_layers: int
    groups: list[LayerGroup]
    mtp_groups: list[LayerGroup] = field(default_factory=list)
    shared_layers: int = 0
    q_heads: int | None = None
    hidden_size: int | None = None
    max_context: int | None = None


Reader: TypeAlias = Callable[[Fields], Geometry]

FAMILIES: dict[str, Reader] = {}


def family(*model_types: str) -> Callable[[Reader], Reader]:
    """Register a reader for model types."""

    def register(reader: Reader) -> Reader:
        for model_type in model_types:
            if model_type in FAMILIES:
                raise TypeError(f"two readers for model type {model_type!r}")
            FAMILIES[model_type] = reader
        return reader

    return register


def merged(groups: Iterable[LayerGroup]) -> tuple[LayerGroup, ...]:
    """Return the groups with equal kinds added up, in order of first appearance.

    Examples
    --------
    >>> from kvcost.model.spec import LatentLayers
    >>> one = LatentLayers(layers=1, kv_lora_rank=512, rope_dim=64)
    >>> merged([one, one, one])
    (LatentLayers(layers=3, kv_lora_rank=512, rope_dim=64),)
    """
    layers: Counter[LayerGroup] = Counter()
    for group in groups:
        layers[replace(group, layers=1) if group.layers != 1 else group] += group.layers
    return tuple(
        kind if count == 1 else replace(kind, layers=count) for kind, count in layers.items()
    )
