"""Groups of layers that store KV in the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from kvcost.errors import InvalidValueError
from kvcost.model.checks import checked_choice, checked_whole

__all__ = [
    "GROUP_TYPES",
    "MOST_HEADS",
    "MOST_LAYERS",
    "MOST_TOKENS",
    "MOST_WIDTH",
    "AttentionLayers",
    "CompressedLayers",
    "CrossAttentionLayers",
    "IndexLayers",
    "IndexStorage",
    "LatentLayers",
    "LayerGroup",
    "RecurrentLayers",
    "WindowKind",
    "WindowedLatentLayers",
    "check_count",
    "check_optional",
]

WindowKind: TypeAlias = Literal["sliding", "chunked"]
IndexStorage: TypeAlias = Literal["fp8_record", "bf16"]

# Far above every published model, so only slips of the pen (bytes for tokens, 1e12 layers) fail.
MOST_LAYERS = 100_000
MOST_HEADS = 100_000
MOST_WIDTH = 10_000_000
MOST_TOKENS = 10**12
_MOST_ELEMENTS = 10**15


def check_count(owner: object, name: str, *, low: int, high: int, noun: str) -> None:
    """Raise InvalidValueError unless a field of `owner` is a whole number from low to high."""
    checked_whole(
        getattr(owner, name),
        field=f"{type(owner).__name__}.{name}",
        low=low,
        high=high,
        remedy=f"give the number of {noun} as the model's config states it",
    )


def check_optional(owner: object, name: str, *, low: int, high: int, noun: str) -> None:
    """Check a field of `owner` as `check_count` does, unless it is None."""
    if getattr(owner, name) is not None:
        check_count(owner, name, low=low, high=high, noun=noun)


def _check_choice(owner: object, name: str, choices: tuple[str, ...]) -> None:
    checked_choice(getattr(owner, name), field=f"{type(owner).__name__}.{name}", choices=choices)


def _check_layers(owner: object) -> None:
    check_count(owner, "layers", low=1, high=MOST_LAYERS, noun="layers")


def _check_heads(owner: object) -> None:
    check_count(owner, "kv_heads", low=1, high=MOST_HEADS, noun="key-value heads of a layer")
    check_count(owner, "head_dim_k", low=1, high=MOST_WIDTH, noun="elements of a key head")
    check_count(owner, "head_dim_v", low=0, high=MOST_WIDTH, noun="elements of a value head")


@dataclass(frozen=True, kw_only=True)
class AttentionLayers:
    """Layers that keep K and V per head: MHA, MQA, GQA, full or windowed.

    Parameters
    ----------
    layers : int
        Layers of this kind.
    kv_heads : int
        Key-value heads of a layer.
    head_dim_k, head_dim_v : int
        Width of a key and of a value head; `head_dim_v` is 0 where V is read from K.
    window : int, optional
        Tokens kept at most; None where every token is kept.
    window_kind : {"sliding", "chunked"}, optional
        How the window moves; stated exactly when there is a window.
    q_heads : int, optional
        Query heads, where they differ from the model's.

    Raises
    ------
    InvalidValueError
        If a number is not whole or out of bounds, or window and window kind do not go together.
    """

    layers: int
    kv_heads: int
    head_dim_k: int
    head_dim_v: int
    window: int | None = None
    window_kind: WindowKind | None = None
    q_heads: int | None = None

    def __post_init__(self) -> None:
        _check_layers(self)
        _check_heads(self)
        check_optional(self, "window", low=1, high=MOST_TOKENS, noun="tokens of the window")
        check_optional(self, "q_heads", low=1, high=MOST_HEADS, noun="query heads of a layer")
        if self.window_kind is not None:
            _check_choice(self, "window_kind", ("sliding", "chunked"))
        if (self.window is None) != (self.window_kind is None):
            raise InvalidValueError(
                field="AttentionLayers.window_kind",
                value=self.window_kind,
                bound="must be stated exactly when there is a window",
                remedy='set window_kind to "sliding" or "chunked" beside the window, or drop both',
            )


@dataclass(frozen=True, kw_only=True)
class LatentLayers:
    """MLA layers: one latent and one rotary key a token, shared by all heads.

    Parameters
    ----------
    layers : int
        Layers of this kind.
    kv_lora_rank : int
        Width of the latent.
    rope_dim : int
        Width of the rotary key; 0 for models without one.

    Raises
    ------
    InvalidValueError
        If a number is not whole or out of bounds.
    """

    layers: int
    kv_lora_rank: int
    rope_dim: int

    def __post_init__(self) -> None:
        _check_layers(self)
        check_count(self, "kv_lora_rank", low=1, high=MOST_WIDTH, noun="latent elements")
        check_count(self, "rope_dim", low=0, high=MOST_WIDTH, noun="rotary key elements")


@dataclass(frozen=True, kw_only=True)
class IndexLayers:
    """Sparse-attention indexer cache that some layers keep beside their KV.

    Parameters
    ----------
    layers : int
        Layers that keep an index.
    head_dim : int
        Width of the index key.
    tokens_per_entry : int
        Tokens that share one entry.
    storage : {"fp8_record", "bf16"}
        What engines store by default: the 132-byte record, or bf16 elements.

    Raises
    ------
    InvalidValueError
        If a number is not whole or out of bounds, or the storage is not one of the two.
    """

    layers: int
    head_dim: int
    tokens_per_entry: int = 1
    storage: IndexStorage = "fp8_record"

    def __post_init__(self) -> None:
        _check_layers(self)
        check_count(self, "head_dim", low=1, high=MOST_WIDTH, noun="index key elements")
        check_count(self, "tokens_per_entry", low=1, high=MOST_TOKENS, noun="tokens an entry")
        _check_choice(self, "storage", ("fp8_record", "bf16"))


@dataclass(frozen=True, kw_only=True)
class CompressedLayers:
    """Compressed attention of the DeepSeek-V4 kind: one shared entry, K and V alike, per `ratio`.

    Parameters
    ----------
    layers : int
        Layers of this ratio.
    entry_dim : int
        Width of the entry, rotary part included.
    rope_dim : int
        Rotary part of the entry.
    ratio : int
        Tokens per stored entry.

    Raises
    ------
    InvalidValueError
        If a number is not whole or out of bounds, or the rotary part exceeds the entry.
    """

    layers: int
    entry_dim: int
    rope_dim: int
    ratio: int

    def __post_init__(self) -> None:
        _check_layers(self)
        _check_entry(self)
        check_count(self, "ratio", low=1, high=MOST_TOKENS, noun="tokens an entry")


@dataclass(frozen=True, kw_only=True)
class WindowedLatentLayers:
    """Window part of compressed attention: one shared entry a token, at most `window` of them.

    Parameters
    ----------
    layers : int
        Layers of this kind.
    entry_dim : int
        Width of the entry, rotary part included.
    rope_dim : int
        Rotary part of the entry.
    window : int
        Tokens kept at most.

    Raises
    ------
    InvalidValueError
        If a number is not whole or out of bounds, or the rotary part exceeds the entry.
    """

    layers: int
    entry_dim: int
    rope_dim: int
    window: int

    def __post_init__(self) -> None:
        _check_layers(self)
        _check_entry(self)
        check_count(self, "window", low=1, high=MOST_TOKENS, noun="tokens of the window")


def _check_entry(owner: CompressedLayers | WindowedLatentLayers) -> None:
    check_count(owner, "entry_dim", low=1, high=MOST_WIDTH, noun="elements of an entry")
    check_count(owner, "rope_dim", low=0, high=MOST_WIDTH, noun="rotary elements of an entry")
    if owner.rope_dim > owner.entry_dim:
        raise InvalidValueError(
            field=f"{type(owner).__name__}.rope_dim",
            value=owner.rope_dim,
            bound=f"must be at most entry_dim, {owner.entry_dim}",
            remedy="entry_dim is the whole entry, the rotary part included",
        )


@dataclass(frozen=True, kw_only=True)
class RecurrentLayers:
    """Layers of linear attention, Mamba or another recurrence: a state a request, no growth.

    Parameters
    ----------
    layers : int
        Layers of this kind.
    state_elements : int
        Elements of the recurrent state of one layer and request.
    conv_elements : int
        Elements of the convolution state of one layer and request.

    Raises
    ------
    InvalidValueError
        If a number is not whole or out of bounds.
    """

    layers: int
    state_elements: int
    conv_elements: int

    def __post_init__(self) -> None:
        _check_layers(self)
        check_count(self, "state_elements", low=0, high=_MOST_ELEMENTS, noun="state elements")
        check_count(self, "conv_elements", low=0, high=_MOST_ELEMENTS, noun="state elements")


@dataclass(frozen=True, kw_only=True)
class CrossAttentionLayers:
    """Decoder layers that keep K and V of the encoder's tokens, fixed once the source is encoded.

    Parameters
    ----------
    layers : int
        Layers with cross attention.
    kv_heads : int
        Key-value heads of a layer.
    head_dim_k, head_dim_v : int
        Width of a key and of a value head.
    source_tokens : int or None
        Tokens of the encoder; None where the config does not fix them, and then they must be
        given when sizes are asked for.

    Raises
    ------
    InvalidValueError
        If a number is not whole or out of bounds.
    """

    layers: int
    kv_heads: int
    head_dim_k: int
    head_dim_v: int
    source_tokens: int | None

    def __post_init__(self) -> None:
        _check_layers(self)
        _check_heads(self)
        check_optional(self, "source_tokens", low=0, high=MOST_TOKENS, noun="tokens of the encoder")


LayerGroup: TypeAlias = (
    AttentionLayers
    | LatentLayers
    | IndexLayers
    | CompressedLayers
    | WindowedLatentLayers
    | RecurrentLayers
    | CrossAttentionLayers
)

GROUP_TYPES = (
    AttentionLayers,
    LatentLayers,
    IndexLayers,
    CompressedLayers,
    WindowedLatentLayers,
    RecurrentLayers,
    CrossAttentionLayers,
)
