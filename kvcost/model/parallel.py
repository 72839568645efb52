"""What one rank keeps of a token, and how many copies the ranks hold together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from kvcost.errors import InvalidValueError
from kvcost.model.checks import checked_choice, checked_whole
from kvcost.model.formulas import kv_copies
from kvcost.model.spec import AttentionLayers, CrossAttentionLayers
from kvcost.model.token_sizes import attention_token_bytes_on_rank, token_bytes, window_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.model.spec import LayerGroup, ModelSpec
    from kvcost.model.storage import Storage

__all__ = ["RankSizes", "Ranks", "UnevenHeads", "rank_sizes", "stage_layers"]

UnevenHeads: TypeAlias = Literal["refuse", "pad"]

_MOST_RANKS = 65_536


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """How a model is spread over accelerators.

    Parameters
    ----------
    tp : int
        Ranks of a tensor-parallel group.
    dp_attention : int
        Data-parallel attention groups among those ranks; each keeps the KV of its own requests, so
        `tp` over `dp_attention` ranks share a request.
    dcp : int
        Decode-context-parallel ranks: ranks that keep the same heads and split their tokens.
    pp : int
        Pipeline stages, each with its own layers and `tp` ranks.
    pp_layers : tuple of int, optional
        Layers of each stage; without it, as evenly as vLLM splits them.
    uneven_heads : {"refuse", "pad"}
        What to do with KV heads that do not divide over the ranks: refuse, as vLLM and SGLang do,
        or pad them, so that the rank with most heads decides.

    Raises
    ------
    InvalidValueError
        If a number is not whole or out of bounds, or they do not divide.
    """

    tp: int = 1
    dp_attention: int = 1
    dcp: int = 1
    pp: int = 1
    pp_layers: tuple[int, ...] | None = None
    uneven_heads: UnevenHeads = "refuse"

    def __post_init__(self) -> None:
        for name, noun in (
            ("tp", "tensor-parallel ranks"),
            ("dp_attention", "data-parallel attention groups"),
            ("dcp", "decode-context-parallel ranks"),
            ("pp", "pipeline stages"),
        ):
            checked_whole(
                getattr(self, name),
                field=name,
                low=1,
                high=_MOST_RANKS,
                remedy=f"give the number of {noun}, 1 for none",
            )
        checked_choice(self.uneven_heads, field="uneven_heads", choices=("refuse", "pad"))
        if self.tp % self.dp_attention:
            raise InvalidValueError(
                field="dp_attention",
                value=self.dp_attention,
                bound=f"must divide the {self.tp} tensor-parallel ranks",
                remedy="use a divisor of tp",
            )
        if self.attention_ranks % self.dcp:
            raise InvalidValueError(
                field="dcp",
                value=self.dcp,
                bound=f"must divide the {self.attention_ranks} ranks that share a request",
                remedy="use a divisor of tp / dp_attention",
            )
        if self.pp_layers is not None:
            self._check_stages(self.pp_layers)

    def _check_stages(self, layers: tuple[int, ...]) -> None:
        if not isinstance(layers, tuple) or len(layers) != self.pp:
            raise InvalidValueError(
                field="pp_layers",
                value=layers,
                bound=f"must be a tuple of the layers of {self.pp} stages",
                remedy="give one number for each pipeline stage",
            )
        for count in layers:
            checked_whole(
                count, field="pp_layers", low=0, high=100_000, remedy="give layers of each stage"
            )

    @property
    def attention_ranks(self) -> int:
        """Ranks of a stage that share one request."""
        return self.tp // self.dp_attention


@dataclass(frozen=True, kw_only=True)
class RankSizes:
    """What a rank keeps of a token.

    Parameters
    ----------
    per_rank : float
        Growing bytes per token on the rank that has most.
    copies : float
        Copies of the KV that the ranks hold together.
    exact : bool
        False where the layers of a stage are not known one by one.
    notes : tuple of str
        What a reader must know.
    """

    per_rank: float
    copies: float
    exact: bool
    notes: tuple[str, ...]


def stage_layers(*, total_layers: int, stages: int) -> tuple[int, ...]:
    """Return the layers of each pipeline stage, split as vLLM splits them.

    Parameters
    ----------
    total_layers : int
        Layers of the model.
    stages : int
        Pipeline stages.

    Returns
    -------
    tuple of int
        Layers of each stage; what does not divide goes to the stages before the last.

    Raises
    ------
    InvalidValueError
        If there are more stages than layers.

    Examples
    --------
    >>> stage_layers(total_layers=78, stages=4)
    (19, 20, 20, 19)
    """
    if stages > total_layers:
        raise InvalidValueError(
            field="pp",
            value=stages,
            bound=f"must be at most the {total_layers} layers of the model",
            remedy="use fewer pipeline stages",
        )
    least, left = divmod(total_layers, stages)
    counts = [least] * stages
    for place in range(left):
        counts[-2 - place if stages > 1 else -1] += 1
    return tuple(counts)


def rank_sizes(
    spec: ModelSpec, groups: Sequence[LayerGroup], storage: Storage, ranks: Ranks
) -> RankSizes:
    """Return what one rank keeps of a token, and the copies that all hold.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    groups : sequence of layer groups
        The layers that count, MTP layers last.
    storage : Storage
        How they are stored.
    ranks : Ranks
        How the model is spread.

    Returns
    -------
    RankSizes
        Bytes on the rank that has most, copies, notes.

    Raises
    ------
    InvalidValueError
        If the heads do not divide over the ranks, or more ranks split the tokens of a head than
        keep it.

    Notes
    -----
    Heads are split over the ranks and kept several times where there are more ranks than heads;
    latents, index keys and compressed entries have one head, which every rank keeps. Ranks that
    keep the same head may split its tokens (decode context parallelism). Where every layer is
    windowed, nothing grows, and copies are those of the window.
    """
    notes = _checked_heads(spec, groups, ranks)
    kept = [_Kept(group=group, mtp=place >= len(spec.groups)) for place, group in enumerate(groups)]
    growing = [each for each in kept if window_of(each.group) is None]
    grows = any(token_bytes(each.group, storage) for each in growing)
    if not grows:
        growing = kept
    together = sum(token_bytes(each.group, storage) for each in growing)
    held = sum(_bytes_on_rank(each.group, storage, ranks) for each in growing)
    copies = 1.0
    if together:
        copies = kv_copies(
            rank_bytes_per_token=held, ranks=ranks.attention_ranks, kv_bytes_per_token=together
        )
    exact = True
    if ranks.pp > 1:
        held, exact, said = _worst_stage(spec, growing, storage, ranks)
        notes += said
    if ranks.dcp > 1:
        notes += ("per_rank is an average: ranks deal the tokens of a request out among them",)
    return RankSizes(
        per_rank=held if grows else 0.0, copies=float(copies), exact=exact, notes=notes
    )


@dataclass(frozen=True, kw_only=True)
class _Kept:
    group: LayerGroup
    mtp: bool


def _checked_heads(spec: ModelSpec, groups: Sequence[LayerGroup], ranks: Ranks) -> tuple[str, ...]:
    split = ranks.attention_ranks
    for group in groups:
        if not isinstance(group, AttentionLayers | CrossAttentionLayers):
            continue
        heads = group.kv_heads
        if heads % split and split % heads and ranks.uneven_heads == "refuse":
            raise InvalidValueError(
                field="tp",
                value=split,
                bound=f"does not divide the {heads} KV heads of {spec.name}",
                remedy=f"use {_fitting(heads)} ranks, or uneven_heads='pad' where the engine pads",
            )
        kept = max(1, split // heads)
        if ranks.dcp > 1 and kept % ranks.dcp:
            raise InvalidValueError(
                field="dcp",
                value=ranks.dcp,
                bound=f"must divide the {kept} ranks that keep the same KV head",
                remedy=f"use a divisor of {kept}: tp {split} over {heads} KV heads",
            )
    if spec.q_heads is not None and spec.q_heads % split:
        return (
            f"{spec.q_heads} query heads do not divide over {split} ranks: most engines refuse it",
        )
    return ()


def _fitting(heads: int) -> str:
    return ", ".join(str(count) for count in range(1, heads + 1) if heads % count == 0)


def _bytes_on_rank(group: LayerGroup, storage: Storage, ranks: Ranks) -> float:
    if isinstance(group, AttentionLayers):
        return attention_token_bytes_on_rank(
            group, storage, tensor_ranks=ranks.attention_ranks, context_ranks=ranks.dcp
        )
    return token_bytes(group, storage) / ranks.dcp


def _worst_stage(
    spec: ModelSpec, kept: Sequence[_Kept], storage: Storage, ranks: Ranks
) -> tuple[float, bool, tuple[str, ...]]:
    """Return the bytes of the stage that has most, and whether its layers are known."""
    counts = ranks.pp_layers or stage_layers(total_layers=spec.total_layers, stages=ranks.pp)
    if sum(counts) != spec.total_layers:
        raise InvalidValueError(
            field="pp_layers",
            value=counts,
            bound=f"must add up to the {spec.total_layers} layers of {spec.name}",
            remedy="give the layers of every stage",
        )
    exact = True
    stages = [0.0] * len(counts)
    for each in kept:
        layers, held = each.group.layers, _bytes_on_rank(each.group, storage, ranks)
        if each.mtp:
            stages[-1] += held
            continue
        everywhere = layers == spec.total_layers
        exact = exact and (everywhere or not held)
        for stage, count in enumerate(counts):
            spread = math.ceil(count * layers / spec.total_layers)
            stages[stage] += held / layers * (count if everywhere else spread)
    notes = [f"pipeline stages of {', '.join(map(str, counts))} layers: the largest is given"]
    if not exact:
        notes.append("kinds of layers are taken as spread evenly over the stages")
    return max(stages), exact, tuple(notes)
