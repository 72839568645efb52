"""The attention geometry of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kvcost.errors import InvalidValueError
from kvcost.facts.provenance import Provenance
from kvcost.model.groups import (
    GROUP_TYPES,
    MOST_HEADS,
    MOST_LAYERS,
    MOST_TOKENS,
    MOST_WIDTH,
    AttentionLayers,
    CompressedLayers,
    CrossAttentionLayers,
    IndexLayers,
    IndexStorage,
    LatentLayers,
    LayerGroup,
    RecurrentLayers,
    WindowedLatentLayers,
    WindowKind,
    check_count,
    check_optional,
)

__all__ = [
    "AttentionLayers",
    "CompressedLayers",
    "CrossAttentionLayers",
    "IndexLayers",
    "IndexStorage",
    "LatentLayers",
    "LayerGroup",
    "ModelSpec",
    "RecurrentLayers",
    "WindowKind",
    "WindowedLatentLayers",
]

_MOST_PARAMETERS = 1e17


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """What a model stores for a token and for a request, layer group by layer group.

    Parameters
    ----------
    name : str
        Name of the model.
    architecture : str
        ``model_type`` of its config.
    groups : tuple of layer groups
        Every layer that stores something; a layer with attention and a recurrence stands in both.
    mtp_groups : tuple of layer groups
        Speculative (MTP) layers, counted only when asked for.
    total_layers : int
        Layers of the model, those that store nothing included, MTP layers not.
    shared_layers : int
        Layers that read another layer's KV and store none.
    q_heads, hidden_size, max_context : int, optional
        As the config states them; None where not known.
    total_parameters, active_parameters : float, optional
        Parameters, and those that one token passes through.
    provenance : Provenance
        How the geometry is known.
    sources, notes : tuple of str
        Where it stands, and what a reader must know.

    Raises
    ------
    InvalidValueError
        Naming the field, if one is of the wrong kind or out of bounds.

    Examples
    --------
    >>> spec = ModelSpec(
    ...     name="tiny",
    ...     architecture="llama",
    ...     groups=(AttentionLayers(layers=2, kv_heads=1, head_dim_k=64, head_dim_v=64),),
    ...     total_layers=2,
    ...     provenance=Provenance.ASSUMED,
    ... )
    >>> spec.groups[0].window is None
    True
    """

    name: str
    architecture: str
    groups: tuple[LayerGroup, ...]
    mtp_groups: tuple[LayerGroup, ...] = ()
    total_layers: int
    shared_layers: int = 0
    q_heads: int | None = None
    hidden_size: int | None = None
    max_context: int | None = None
    total_parameters: float | None = None
    active_parameters: float | None = None
    provenance: Provenance
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_texts()
        self._check_groups()
        check_count(self, "total_layers", low=1, high=MOST_LAYERS, noun="layers of the model")
        check_count(self, "shared_layers", low=0, high=self.total_layers, noun="sharing layers")
        check_optional(self, "q_heads", low=1, high=MOST_HEADS, noun="query heads")
        check_optional(self, "hidden_size", low=1, high=MOST_WIDTH, noun="hidden elements")
        check_optional(self, "max_context", low=1, high=MOST_TOKENS, noun="tokens of context")
        self._check_parameters()
        if not isinstance(self.provenance, Provenance):
            object.__setattr__(self, "provenance", _provenance(self.provenance))

    def _check_texts(self) -> None:
        for name in ("name", "architecture"):
            value: Any = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise InvalidValueError(
                    field=f"ModelSpec.{name}",
                    value=value,
                    bound="must be a text that is not empty",
                    remedy=f"state the {name} of the model",
                )

    def _check_groups(self) -> None:
        for name in ("groups", "mtp_groups"):
            value: Any = getattr(self, name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, name, value)
            if not isinstance(value, tuple) or not all(isinstance(g, GROUP_TYPES) for g in value):
                raise InvalidValueError(
                    field=f"ModelSpec.{name}",
                    value=value,
                    bound="must be a tuple of layer groups",
                    remedy="build it from AttentionLayers, LatentLayers and their like",
                )
        if not self.groups:
            raise InvalidValueError(
                field="ModelSpec.groups",
                value=self.groups,
                bound="must hold at least one group",
                remedy="state the layers that store KV or a state",
            )

    def _check_parameters(self) -> None:
        for name in ("total_parameters", "active_parameters"):
            value: Any = getattr(self, name)
            if value is None:
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or not 0 < value <= _MOST_PARAMETERS:
                raise InvalidValueError(
                    field=f"ModelSpec.{name}",
                    value=value,
                    bound=f"must be above 0 and at most {_MOST_PARAMETERS:.0e} parameters",
                    remedy="give parameters, not billions, or leave it out",
                )
        total, active = self.total_parameters, self.active_parameters
        if total is not None and active is not None and active > total:
            raise InvalidValueError(
                field="ModelSpec.active_parameters",
                value=active,
                bound=f"must be at most total_parameters, {total:g}",
                remedy="check which of the two counts a token passes through",
            )


def _provenance(value: object) -> Provenance:
    try:
        return Provenance(value)
    except ValueError:
        raise InvalidValueError(
            field="ModelSpec.provenance",
            value=value,
            bound=f"must be one of {', '.join(str(grade) for grade in Provenance)}",
            remedy="say how the geometry is known",
        ) from None
