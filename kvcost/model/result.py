"""The sizes of a model's KV, as results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kvcost.model.formulas import cache_bytes, window_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.facts.provenance import Provenance

__all__ = ["KVPart", "KVSize", "Method", "bytes_of_parts"]

Method: TypeAlias = Literal["exact", "bound"]


@dataclass(frozen=True, kw_only=True)
class KVPart:
    """What one group of layers adds to the sizes.

    Parameters
    ----------
    kind : str
        ``attention``, ``latent``, ``index``, ``compressed``, ``window``, ``state`` or ``cross``.
    layers : int
        Layers of the group.
    bytes_per_token : float
        Bytes of one token, for a window as long as the token is inside it; 0 for states and cross
        attention.
    window : int or None
        Tokens that the group keeps at most; None where it keeps all.
    fixed_bytes : float
        Bytes of a request that do not grow: a full window, a state, the encoder's tokens.
    mtp : bool
        Whether it is an MTP layer's.
    """

    kind: str
    layers: int
    bytes_per_token: float
    window: int | None
    fixed_bytes: float
    mtp: bool

    @property
    def growing_bytes(self) -> float:
        """Bytes that each token adds for good."""
        return self.bytes_per_token if self.window is None else 0.0


@dataclass(frozen=True, kw_only=True)
class KVSize:
    """The sizes of a model's KV.

    Parameters
    ----------
    bytes_per_token : float
        Growing bytes of one token, one copy, in the layout's records; windows and states are not
        in it.
    fixed_bytes_per_request : float
        Bytes of a request that do not grow with it: windows at their full length, recurrent and
        convolution states, the encoder's tokens.
    reserved_bytes_per_token : float or None
        Bytes that the layout sets aside for a token; None where no fact says, and a note says why.
    bytes_at_tokens : float or None
        Bytes of a request of `tokens` tokens, one copy; None if no length was asked for.
    per_rank : float
        Growing bytes of one token on the rank that has most.
    copies : float
        Copies of the KV that the ranks of a request hold together.
    method : {"exact", "bound"}
        Bound where the layers of a pipeline stage are not known one by one.
    provenance : Provenance
        How the geometry is known.
    notes : tuple of str
        What was counted and how.
    tokens : int or None
        The length asked for.
    parts : tuple of KVPart
        The sizes, group of layers by group.
    """

    bytes_per_token: float
    fixed_bytes_per_request: float
    reserved_bytes_per_token: float | None
    bytes_at_tokens: float | None
    per_rank: float
    copies: float
    method: Method
    provenance: Provenance
    notes: tuple[str, ...]
    tokens: int | None
    parts: tuple[KVPart, ...]

    def at(self, tokens: Any) -> Any:
        """Return the bytes of a request of so many tokens, one copy.

        Parameters
        ----------
        tokens : number or array
            Length of the request; arrays broadcast.

        Returns
        -------
        float or array
            Growing bytes, windowed layers at min(tokens, window), states and the encoder's tokens.
        """
        return bytes_of_parts(self.parts, tokens)


def bytes_of_parts(parts: Sequence[KVPart], tokens: Any) -> Any:
    """Return the bytes of a request of so many tokens, one copy.

    Parameters
    ----------
    parts : sequence of KVPart
        The sizes, group of layers by group.
    tokens : number or array
        Length of the request; arrays broadcast.

    Returns
    -------
    float or array
        Growing bytes, windows at min(tokens, window), states and the encoder's tokens.
    """
    windows: Any = 0.0
    for part in parts:
        if part.window is not None:
            windows = windows + window_bytes(
                window_bytes_per_token=part.bytes_per_token, window=part.window, tokens=tokens
            )
    return cache_bytes(
        kv_bytes_per_token=sum(part.growing_bytes for part in parts),
        tokens=tokens,
        window_bytes=windows,
        state_bytes=sum(part.fixed_bytes for part in parts if part.window is None),
    )
