"""What vLLM's paged pool sets aside for a token where layers of several kinds mix."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvcost.model.formulas import pool_bytes_per_token
from kvcost.model.spec import CrossAttentionLayers, RecurrentLayers
from kvcost.model.token_sizes import cross_bytes, token_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvcost.model.spec import LayerGroup
    from kvcost.model.storage import Storage

__all__ = ["Pool", "equal_page_pool"]

# vLLM pads the smaller kinds up to the largest when the largest has less than this many times
# the layers of the smallest, and otherwise cuts all kinds into groups as large as the smallest.
_PAD_UP_BELOW = 1.5


@dataclass(frozen=True, kw_only=True)
class Pool:
    """How a pool of equal pages is cut.

    Parameters
    ----------
    layer_groups : int
        Groups of layers that share the pool.
    group_layers : int
        Layers of a group, padding included.
    padding_layers : int
        Layers that exist only as padding.
    bytes_per_token : float
        Pool bytes over the tokens that the pool is said to hold.
    """

    layer_groups: int
    group_layers: int
    padding_layers: int
    bytes_per_token: float


def equal_page_pool(groups: Iterable[LayerGroup], storage: Storage) -> Pool | None:
    """Return how vLLM cuts its pool for layers of several kinds.

    Parameters
    ----------
    groups : iterable of layer groups
        Layers with heads, latents, windows, states or cross attention.
    storage : Storage
        How they are stored.

    Returns
    -------
    Pool or None
        None where no layer has pages of tokens, or the pages of two kinds do not divide each
        other, which releases treat differently.

    Notes
    -----
    Kinds with smaller pages get longer blocks until all pages are equal; the page of a recurrent
    state is padded to that of attention, whose blocks are made long enough. Each kind is cut into
    groups of equally many layers.

    References
    ----------
    .. [1] vLLM project, KV cache groups,
       https://github.com/vllm-project/vllm/blob/main/vllm/v1/core/kv_cache_utils.py
    """
    kinds: dict[LayerGroup, int] = {}
    pages: list[float] = []
    for group in groups:
        kind = replace(group, layers=1)
        kinds[kind] = kinds.get(kind, 0) + group.layers
        if not isinstance(group, RecurrentLayers):
            pages.append(_layer_page(kind, storage))
    if not pages:
        return None
    widest = max(pages)
    if any(widest % page for page in pages):
        return None
    fewest, most = min(kinds.values()), max(kinds.values())
    group_layers = most if most < _PAD_UP_BELOW * fewest else fewest
    layer_groups = sum(math.ceil(layers / group_layers) for layers in kinds.values())
    return Pool(
        layer_groups=layer_groups,
        group_layers=group_layers,
        padding_layers=layer_groups * group_layers - sum(kinds.values()),
        bytes_per_token=float(
            pool_bytes_per_token(
                layer_groups=layer_groups, group_layers=group_layers, layer_bytes_per_token=widest
            )
        ),
    )


def _layer_page(layer: LayerGroup, storage: Storage) -> float:
    if isinstance(layer, CrossAttentionLayers):
        return cross_bytes(layer, storage, source_tokens=1)
    return token_bytes(layer, storage)
