"""How a model is stored: the layers that count, dtypes and layout, with every name checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from kvcost.errors import InvalidValueError
from kvcost.model.checks import checked_choice
from kvcost.model.dtypes import KVDtype, index_dtype, kv_dtype
from kvcost.model.spec import IndexLayers, LatentLayers, LayerGroup, ModelSpec

__all__ = ["LAYOUTS", "Layout", "Storage", "counted_groups", "storage_of"]

Layout: TypeAlias = Literal["logical", "vllm", "sglang"]

LAYOUTS = ("logical", "vllm", "sglang")
"""Names of layouts: the elements alone, or the records of an engine."""


@dataclass(frozen=True, kw_only=True)
class Storage:
    """How a model's KV and index are stored.

    Parameters
    ----------
    layout : {"logical", "vllm", "sglang"}
        Whose records.
    dtype : KVDtype
        Of K, V, latents and entries.
    index : {"bf16", "fp8"} or None
        Of index keys; None as engines store them by default.
    sparse : bool
        Whether the model has latents with an indexer, which take other records in some engines.
    """

    layout: Layout
    dtype: KVDtype
    index: str | None
    sparse: bool


def storage_of(
    spec: ModelSpec,
    *,
    kv_dtype_name: str,
    index_dtype_name: str | None,
    layout: str,
    group_size: int | None = None,
    group_scale_bytes: float | None = None,
) -> Storage:
    """Return how a model is stored, with every name checked.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    kv_dtype_name : str
        KV dtype.
    index_dtype_name : str or None
        Index dtype; None as engines store it.
    layout : str
        One of `LAYOUTS`.
    group_size, group_scale_bytes : int, float, optional
        Of int4.

    Returns
    -------
    Storage
        The choices.

    Raises
    ------
    InvalidValueError, UnknownNameError, MissingFactError
        If a name is not known, or int4 lacks its group.
    """
    kinds = {type(group) for group in spec.groups}
    asked: dict[str, Any] = {
        "kv_dtype_name": kv_dtype_name,
        "index_dtype_name": index_dtype_name,
        "layout": layout,
        "group_size": group_size,
        "group_scale_bytes": group_scale_bytes,
        "sparse": IndexLayers in kinds and LatentLayers in kinds,
    }
    try:
        return _storage(**asked)
    except TypeError:
        # Only what cannot be hashed gets here, and the checks behind the cache name it.
        return _storage.__wrapped__(**asked)


@lru_cache(maxsize=256, typed=True)
def _storage(
    *,
    kv_dtype_name: str,
    index_dtype_name: str | None,
    layout: str,
    group_size: int | None,
    group_scale_bytes: float | None,
    sparse: bool,
) -> Storage:
    return Storage(
        layout=checked_choice(layout, field="layout", choices=LAYOUTS),  # type: ignore[arg-type]
        dtype=kv_dtype(kv_dtype_name, group_size=group_size, group_scale_bytes=group_scale_bytes),
        index=None if index_dtype_name is None else index_dtype(index_dtype_name),
        sparse=sparse,
    )


def counted_groups(
    spec: ModelSpec, *, mtp: bool, index_on_every_layer: bool
) -> tuple[LayerGroup, ...]:
    """Return the groups of layers that count.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    mtp : bool
        Whether MTP layers count.
    index_on_every_layer : bool
        Whether every latent layer keeps an index, as engine builds without indexer elision do.

    Returns
    -------
    tuple of layer groups
        The model's, then the MTP layers'.

    Raises
    ------
    InvalidValueError
        If `index_on_every_layer` is asked of a model without an index beside latents.
    """
    if not isinstance(mtp, bool):
        raise InvalidValueError(
            field="mtp", value=mtp, bound="must be True or False", remedy="say whether MTP counts"
        )
    groups = spec.groups + spec.mtp_groups if mtp else spec.groups
    if not index_on_every_layer:
        return groups
    latent = [group for group in spec.groups if isinstance(group, LatentLayers)]
    index = [group for group in spec.groups if isinstance(group, IndexLayers)]
    if not latent or len(index) != 1:
        raise InvalidValueError(
            field="index_on_every_layer",
            value=index_on_every_layer,
            bound=f"says nothing about {spec.name}",
            remedy="use it for models that keep one kind of index beside latents",
        )
    every = IndexLayers(
        layers=sum(group.layers for group in latent),
        head_dim=index[0].head_dim,
        tokens_per_entry=index[0].tokens_per_entry,
        storage=index[0].storage,
    )
    return tuple(every if group is index[0] else group for group in groups)
