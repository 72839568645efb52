"""The three sizes of a model's KV: growing, fixed and reserved, and what a rank keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.model.checks import checked_whole
from kvcost.model.dtypes import state_element_bytes
from kvcost.model.formulas import (
    block_rounded_tokens,
    chunk_rounded_tokens,
    state_bytes,
    window_bytes,
)
from kvcost.model.layouts import layout_notes, reserved
from kvcost.model.notes import length_notes, size_notes
from kvcost.model.parallel import Ranks, rank_sizes
from kvcost.model.result import KVPart, KVSize, bytes_of_parts
from kvcost.model.spec import (
    AttentionLayers,
    CompressedLayers,
    CrossAttentionLayers,
    IndexLayers,
    LatentLayers,
    ModelSpec,
    RecurrentLayers,
)
from kvcost.model.storage import counted_groups, storage_of
from kvcost.model.token_sizes import cross_bytes, token_bytes, window_of

if TYPE_CHECKING:
    from kvcost.model.spec import LayerGroup
    from kvcost.model.storage import Storage

__all__ = ["kv_bytes_per_token", "kv_size"]

_MOST_TOKENS = 10**12


def kv_bytes_per_token(
    spec: ModelSpec,
    *,
    kv_dtype: str = "bf16",
    index_dtype: str | None = None,
    layout: str = "logical",
    mtp: bool = False,
) -> float:
    """Return the growing bytes of one token, and nothing else.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    kv_dtype : str
        Dtype of K, V, latents and entries.
    index_dtype : str, optional
        Dtype of index keys; without it, as engines store them.
    layout : {"logical", "vllm", "sglang"}
        Whose records.
    mtp : bool
        Whether MTP layers count.

    Returns
    -------
    float
        Bytes, one copy; windows and states are not in it.

    Raises
    ------
    UnknownNameError, InvalidValueError, MissingFactError
        As `kv_size`.
    """
    _check_spec(spec)
    storage = storage_of(spec, kv_dtype_name=kv_dtype, index_dtype_name=index_dtype, layout=layout)
    groups = counted_groups(spec, mtp=mtp, index_on_every_layer=False)
    return _whole(sum(token_bytes(group, storage) for group in groups if window_of(group) is None))


def _check_spec(spec: object) -> None:
    if not isinstance(spec, ModelSpec):
        raise InvalidValueError(
            field="spec",
            value=spec,
            bound="must be a ModelSpec",
            remedy='load one, as in kvcost.model.load("glm-5.3")',
        )


def kv_size(
    spec: ModelSpec,
    *,
    kv_dtype: str = "bf16",
    index_dtype: str | None = None,
    state_dtype: str = "fp32",
    conv_dtype: str = "bf16",
    layout: str = "logical",
    mtp: bool = False,
    tokens: int | None = None,
    tp: int = 1,
    dp_attention: int = 1,
    dcp: int = 1,
    pp: int = 1,
    pp_layers: tuple[int, ...] | None = None,
    uneven_heads: Literal["refuse", "pad"] = "refuse",
    block_tokens: int | None = None,
    chunk_tokens: int | None = None,
    source_tokens: int | None = None,
    index_on_every_layer: bool = False,
    group_size: int | None = None,
    group_scale_bytes: float | None = None,
) -> KVSize:
    """Return the sizes of a model's KV.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    kv_dtype : str
        Dtype of K, V, latents and entries; never taken from the weights.
    index_dtype : str, optional
        Dtype of index keys; without it, as engines store them.
    state_dtype, conv_dtype : str
        Dtypes of recurrent and convolution states.
    layout : {"logical", "vllm", "sglang"}
        Elements alone, or the records of an engine.
    mtp : bool
        Whether MTP layers count.
    tokens : int, optional
        Length for `KVSize.bytes_at_tokens`.
    tp, dp_attention, dcp, pp, pp_layers, uneven_heads
        How the model is spread; see `kvcost.model.Ranks`.
    block_tokens : int, optional
        Round the length up to blocks of so many tokens.
    chunk_tokens : int, optional
        Round the length down to chunks of so many tokens, as stores do.
    source_tokens : int, optional
        Tokens of the encoder, where the config does not fix them.
    index_on_every_layer : bool
        Count an index on every latent layer, as engine builds without indexer elision keep it.
    group_size, group_scale_bytes : int, float, optional
        Elements that share a scale and bytes of the scale; int4 needs both.

    Returns
    -------
    KVSize
        Growing, fixed and reserved bytes, bytes at the length, bytes on a rank, copies.

    Raises
    ------
    UnknownNameError
        If a dtype is not known.
    MissingFactError
        If the layout, int4 or cross attention lacks a fact.
    InvalidValueError
        If a number is out of bounds or heads do not divide over the ranks.

    Examples
    --------
    >>> from kvcost.facts import Provenance
    >>> spec = ModelSpec(
    ...     name="Qwen3-235B-A22B",
    ...     architecture="qwen3_moe",
    ...     groups=(AttentionLayers(layers=94, kv_heads=4, head_dim_k=128, head_dim_v=128),),
    ...     total_layers=94,
    ...     provenance=Provenance.DATA_SHEET,
    ... )
    >>> size = kv_size(spec, tp=8)
    >>> size.bytes_per_token, size.per_rank, size.copies
    (192512, 48128, 2)
    """
    _check_spec(spec)
    storage = storage_of(
        spec,
        kv_dtype_name=kv_dtype,
        index_dtype_name=index_dtype,
        layout=layout,
        group_size=group_size,
        group_scale_bytes=group_scale_bytes,
    )
    groups = counted_groups(spec, mtp=mtp, index_on_every_layer=index_on_every_layer)
    ranks = Ranks(
        tp=tp,
        dp_attention=dp_attention,
        dcp=dcp,
        pp=pp,
        pp_layers=pp_layers,
        uneven_heads=uneven_heads,
    )
    states = (
        state_element_bytes(state_dtype),
        state_element_bytes(conv_dtype, field="conv_dtype"),
    )
    parts = tuple(
        _part(spec, group, storage, states, source_tokens, mtp=place >= len(spec.groups))
        for place, group in enumerate(groups)
    )
    set_aside = reserved(groups, storage)
    on_ranks = rank_sizes(spec, groups, storage, ranks)
    length = _counted_length(tokens, block_tokens=block_tokens, chunk_tokens=chunk_tokens)
    reserved_bytes = set_aside.bytes_per_token
    return KVSize(
        bytes_per_token=_whole(sum(part.growing_bytes for part in parts)),
        fixed_bytes_per_request=_whole(sum(part.fixed_bytes for part in parts)),
        reserved_bytes_per_token=None if reserved_bytes is None else _whole(reserved_bytes),
        bytes_at_tokens=None if length is None else _whole(bytes_of_parts(parts, length)),
        per_rank=_whole(on_ranks.per_rank),
        copies=_whole(on_ranks.copies),
        method="exact" if on_ranks.exact else "bound",
        provenance=spec.provenance,
        notes=(
            *size_notes(spec, groups, storage, ranks, mtp=mtp),
            *layout_notes(groups, storage),
            *((set_aside.note,) if set_aside.note else ()),
            *on_ranks.notes,
            *length_notes(spec, tokens, length),
        ),
        tokens=tokens,
        parts=parts,
    )


def _part(
    spec: ModelSpec,
    group: LayerGroup,
    storage: Storage,
    states: tuple[float, float],
    source_tokens: int | None,
    *,
    mtp: bool,
) -> KVPart:
    window = window_of(group)
    token = token_bytes(group, storage)
    if isinstance(group, RecurrentLayers):
        fixed = state_bytes(
            layers=group.layers,
            state_elements=group.state_elements,
            state_element_bytes=states[0],
            conv_elements=group.conv_elements,
            conv_element_bytes=states[1],
        )
    elif isinstance(group, CrossAttentionLayers):
        fixed = cross_bytes(
            group, storage, source_tokens=_source_tokens(spec, group, source_tokens)
        )
    elif window is not None:
        fixed = window_bytes(window_bytes_per_token=token, window=window, tokens=window)
    else:
        fixed = 0.0
    return KVPart(
        kind="window" if window is not None else _KINDS[type(group)],
        layers=group.layers,
        bytes_per_token=token,
        window=window,
        fixed_bytes=fixed,
        mtp=mtp,
    )


_KINDS: dict[type, str] = {
    AttentionLayers: "attention",
    LatentLayers: "latent",
    IndexLayers: "index",
    CompressedLayers: "compressed",
    RecurrentLayers: "state",
    CrossAttentionLayers: "cross",
}


def _source_tokens(spec: ModelSpec, group: CrossAttentionLayers, given: int | None) -> int:
    if given is not None:
        return checked_whole(
            given,
            field="source_tokens",
            low=0,
            high=_MOST_TOKENS,
            remedy="give the tokens of the encoder",
        )
    if group.source_tokens is None:
        raise MissingFactError(
            fact="the number of encoder tokens",
            subject=spec.name,
            remedy="give source_tokens: the config does not fix it",
        )
    return group.source_tokens


def _counted_length(
    tokens: int | None, *, block_tokens: int | None, chunk_tokens: int | None
) -> float | None:
    """Return the length that counts after rounding to blocks or chunks."""
    for field, value in (("block_tokens", block_tokens), ("chunk_tokens", chunk_tokens)):
        if value is not None:
            checked_whole(
                value, field=field, low=1, high=_MOST_TOKENS, remedy="give tokens, or leave it out"
            )
    if block_tokens is not None and chunk_tokens is not None:
        raise InvalidValueError(
            field="chunk_tokens",
            value=chunk_tokens,
            bound="cannot go with block_tokens",
            remedy="round up to an engine's blocks or down to a store's chunks, one at a time",
        )
    if tokens is None:
        return None
    checked_whole(
        tokens, field="tokens", low=0, high=_MOST_TOKENS, remedy="give the length of the request"
    )
    if block_tokens is not None:
        return float(block_rounded_tokens(tokens=tokens, block_tokens=block_tokens))
    if chunk_tokens is not None:
        return float(chunk_rounded_tokens(tokens=tokens, chunk_tokens=chunk_tokens))
    return float(tokens)


def _whole(value: float) -> float:
    """Return whole bytes as an int, which prints as one, and any other number as it is."""
    return int(value) if float(value).is_integer() else float(value)
