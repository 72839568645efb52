"""What a model's prefill computes, layer group by layer group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from kvcost.compute.formulas import attention_flops, compute_seconds, linear_prefill_flops
from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.facts.provenance import Provenance, weakest
from kvcost.hardware.checks import whole
from kvcost.model.groups import (
    AttentionLayers,
    CompressedLayers,
    CrossAttentionLayers,
    IndexLayers,
    LatentLayers,
    LayerGroup,
    RecurrentLayers,
    WindowedLatentLayers,
)
from kvcost.units import parse_ratio

if TYPE_CHECKING:
    from kvcost.hardware.accelerator import Accelerator
    from kvcost.hardware.links import Efficiency
    from kvcost.model.spec import ModelSpec

__all__ = ["AttentionWork", "PrefillTerms", "attention_work", "prefill_terms"]

_Fact = TypeVar("_Fact")


@dataclass(frozen=True, kw_only=True)
class AttentionWork:
    """Arithmetic of a model's attention in prefill.

    Parameters
    ----------
    per_token : float
        FLOP that a token causes whatever the length: full windows, the encoder's tokens.
    per_token_squared : float
        FLOP for the square of the length: attention to all tokens before.
    notes : tuple of str
        What was counted how, and what was left out.
    """

    per_token: float
    per_token_squared: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PrefillTerms:
    """The terms of a prefill curve, with how they were found.

    Parameters
    ----------
    per_token, per_token_squared : float
        As in `PrefillCurve`.
    provenance : Provenance
        Weakest of model, accelerator and share of the peak.
    method : str
        What was computed on what.
    notes : tuple of str
        What was counted how, and what was left out.
    """

    per_token: float
    per_token_squared: float
    provenance: Provenance
    method: str
    notes: tuple[str, ...]


_SAME_SHARE = "attention achieves the same share of the peak as the rest"
_NO_ATTENTION = AttentionWork(
    per_token=0.0,
    per_token_squared=0.0,
    notes=("the arithmetic of attention is left out: long prompts take longer",),
)


def prefill_terms(
    model: ModelSpec,
    accelerator: Accelerator,
    *,
    accelerators: int,
    mfu: float | str | Efficiency,
    compute_dtype: str,
    latent_head_dims: tuple[int, int] | None = None,
    sparse_top_k: int | None = None,
    index_heads: int | None = None,
    source_tokens: int | None = None,
    count_attention: bool = True,
) -> PrefillTerms:
    """Return the time of a token and for the square of the length, from arithmetic.

    Parameters
    ----------
    model, accelerator, accelerators, mfu, compute_dtype
        See `PrefillCurve.from_hardware`.
    latent_head_dims, sparse_top_k, index_heads, source_tokens, count_attention
        See `PrefillCurve.from_hardware`.

    Returns
    -------
    PrefillTerms
        The terms and how they were found.

    Raises
    ------
    MissingFactError
        If a fact that counts is not known.
    InvalidValueError
        If a number is out of bounds.
    """
    count = whole(accelerators, field="accelerators", high=100_000)
    share, known = _share(mfu)
    peak = accelerator.peak(compute_dtype)
    active = _known(
        model.active_parameters,
        fact="the number of active parameters",
        model=model,
        remedy="state active_parameters, or give measured prefill times instead",
    )
    work = _NO_ATTENTION
    if count_attention:
        work = attention_work(
            model,
            latent_head_dims=latent_head_dims,
            sparse_top_k=sparse_top_k,
            index_heads=index_heads,
            source_tokens=source_tokens,
        )

    def seconds(flops: float) -> float:
        time: float = compute_seconds(flops=flops, accelerators=count, peak_flops=peak, mfu=share)
        return time

    linear = linear_prefill_flops(active_parameters=active, new_tokens=1)
    return PrefillTerms(
        per_token=seconds(linear + work.per_token),
        per_token_squared=seconds(work.per_token_squared),
        provenance=weakest(model, accelerator, known),
        method=(
            f"arithmetic of {active / 1e9:g}e9 active parameters"
            f"{' and of attention' if count_attention else ''} on "
            f"{count} x {accelerator.label or accelerator.name} at {share:.0%} of the "
            f"{compute_dtype} peak"
        ),
        notes=(*work.notes, _SAME_SHARE) if count_attention else work.notes,
    )


def attention_work(
    model: ModelSpec,
    *,
    latent_head_dims: tuple[int, int] | None = None,
    sparse_top_k: int | None = None,
    index_heads: int | None = None,
    source_tokens: int | None = None,
) -> AttentionWork:
    """Return the arithmetic of a model's attention in prefill.

    Parameters
    ----------
    model : ModelSpec
        Its query heads must be known.
    latent_head_dims, sparse_top_k, index_heads, source_tokens
        See `PrefillCurve.from_hardware`.

    Returns
    -------
    AttentionWork
        FLOP of a token and for the square of the length. MTP layers are not counted.

    Raises
    ------
    MissingFactError
        If a fact that counts is not known.
    InvalidValueError
        If a number is out of bounds, or does not apply to the model.
    """
    count = _Count(model)
    if latent_head_dims is not None:
        if not isinstance(latent_head_dims, tuple) or len(latent_head_dims) != 2:
            raise InvalidValueError(
                field="latent_head_dims",
                value=latent_head_dims,
                bound="must be two widths",
                remedy="write the widths of a key and of a value head, e.g. (192, 128)",
            )
        for width in latent_head_dims:
            whole(width, field="latent_head_dims")
        count.latent_head_dims = latent_head_dims
    if source_tokens is not None:
        count.source_tokens = whole(source_tokens, field="source_tokens", high=10**12)
    if sparse_top_k is not None:
        count.set_sparse(whole(sparse_top_k, field="sparse_top_k", high=10**12), index_heads)
    for group in model.groups:
        count.add(group)
    if model.shared_layers:
        count.notes.append(
            f"attention of the {model.shared_layers} layers that read another layer's KV is left "
            "out: their windows are not in the geometry"
        )
    return AttentionWork(
        per_token=count.per_token,
        per_token_squared=count.per_token_squared,
        notes=tuple(dict.fromkeys(count.notes)),
    )


class _Count:
    """Adds up what the layer groups of one model compute."""

    def __init__(self, model: ModelSpec) -> None:
        self.model = model
        self.per_token = 0.0
        self.per_token_squared = 0.0
        self.notes: list[str] = []
        self.latent_head_dims: tuple[int, int] | None = None
        self.source_tokens: int | None = None
        self.sparse_top_k: int | None = None
        self.index_heads: int | None = None
        self.indexed = any(isinstance(group, IndexLayers) for group in model.groups)

    def set_sparse(self, top_k: int, index_heads: int | None) -> None:
        latent = any(isinstance(group, LatentLayers) for group in self.model.groups)
        if not (self.indexed and latent):
            raise InvalidValueError(
                field="sparse_top_k",
                value=top_k,
                bound=f"applies to latent layers with an index, which {self.model.name} lacks",
                remedy="leave it out",
            )
        self.sparse_top_k = top_k
        self.index_heads = whole(
            _known(
                index_heads,
                fact="the number of index heads",
                model=self.model,
                remedy="state index_heads beside sparse_top_k",
            ),
            field="index_heads",
        )

    def add(self, group: LayerGroup) -> None:
        if isinstance(group, AttentionLayers):
            self.attention(group)
        elif isinstance(group, LatentLayers):
            self.latent(group)
        elif isinstance(group, IndexLayers):
            self.index(group)
        elif isinstance(group, CompressedLayers):
            whole_entry = self.work(group.layers, group.entry_dim, group.entry_dim)
            self.per_token_squared += whole_entry / 2 / group.ratio
            self.notes.append("compressed attention is counted over all entries: an upper bound")
        elif isinstance(group, WindowedLatentLayers):
            self.window(self.work(group.layers, group.entry_dim, group.entry_dim), group.window)
        elif isinstance(group, CrossAttentionLayers):
            self.cross(group)
        elif isinstance(group, RecurrentLayers):
            self.notes.append("the state updates of recurrent layers are left out")

    def work(self, layers: int, key: int, value: int, *, heads: int | None = None) -> float:
        """FLOP of one pair of tokens."""
        found = heads if heads is not None else self.model.q_heads
        q_heads = _known(
            found,
            fact="the number of query heads",
            model=self.model,
            remedy="state q_heads, or give measured prefill times instead",
        )
        flops: float = attention_flops(
            layers=layers, q_heads=q_heads, head_dim_k=key, head_dim_v=value, pairs=1
        )
        return flops

    def window(self, per_pair: float, window: float) -> None:
        self.per_token += per_pair * window
        self.notes.append(
            "windowed layers attend to a full window from the first token on: an upper bound"
        )

    def attention(self, group: AttentionLayers) -> None:
        # where V is read from K, the values still have K's width
        value = group.head_dim_v or group.head_dim_k
        per_pair = self.work(group.layers, group.head_dim_k, value, heads=group.q_heads)
        if group.window is None:
            self.per_token_squared += per_pair / 2
            if self.indexed:
                self.notes.append("sparse attention is counted as dense: an upper bound")
        else:
            mean = group.window / 2 if group.window_kind == "chunked" else group.window
            self.window(per_pair, mean)

    def latent(self, group: LatentLayers) -> None:
        if self.latent_head_dims is None:
            key, value = group.kv_lora_rank + group.rope_dim, group.kv_lora_rank
            self.notes.append(
                "attention works on the latent itself (absorbed form): an upper bound for a dense "
                "prefill that expands it into heads"
            )
        else:
            key, value = self.latent_head_dims
        per_pair = self.work(group.layers, key, value)
        if self.sparse_top_k is not None:
            self.window(per_pair, self.sparse_top_k)
            return
        self.per_token_squared += per_pair / 2
        if self.indexed:
            self.notes.append("sparse attention is counted as dense: an upper bound")

    def index(self, group: IndexLayers) -> None:
        if self.index_heads is None:
            self.notes.append("the scores of the index are left out")
            return
        scores = self.work(group.layers, group.head_dim, 0, heads=self.index_heads)
        self.per_token_squared += scores / 2 / group.tokens_per_entry

    def cross(self, group: CrossAttentionLayers) -> None:
        given = group.source_tokens if group.source_tokens is not None else self.source_tokens
        source = _known(
            given,
            fact="the number of encoder tokens",
            model=self.model,
            remedy="state source_tokens",
        )
        self.per_token += self.work(group.layers, group.head_dim_k, group.head_dim_v) * source
        self.notes.append("the encoder's own arithmetic is left out")


def _share(mfu: float | str | Efficiency) -> tuple[float, Provenance]:
    if isinstance(mfu, bool | int | float | str):
        return parse_ratio(mfu, field="mfu"), Provenance.ASSUMED
    return mfu.ratio, mfu.provenance


def _known(value: _Fact | None, *, fact: str, model: ModelSpec, remedy: str) -> _Fact:
    if value is None:
        raise MissingFactError(fact=fact, subject=f"model {model.name}", remedy=remedy)
    return value
