"""What a workbook is about: the inputs that it ships with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.compute import PrefillCurve
    from kvcost.model import ModelSpec
    from kvcost.transfer import TransferPath

__all__ = ["Question"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """The deployment that a workbook is about.

    Attributes
    ----------
    title : str
        What it is; written as text.
    model : ModelSpec
        The model.
    size_options : mapping
        Keyword arguments of `kvcost.model.kv_size`.
    prefill : PrefillCurve
        Time to compute a prompt.
    path : TransferPath
        Time to fetch one.
    tokens : float
        Length of the prompt.
    accelerator : str
        Name in the catalogue.
    accelerators : int
        How many make a replica.
    mfu : float
        Share of the peak that prefill achieves.
    loading : {"async", "sync"}
        Whether the GPU serves others while KV loads.
    last_token : bool
        Whether the last token is computed even if it is stored.
    notes : tuple of str
        Shown on sheet About.
    """

    title: str
    model: ModelSpec
    prefill: PrefillCurve
    path: TransferPath
    tokens: float
    size_options: Mapping[str, Any] = field(default_factory=dict)
    accelerator: str = "b300"
    accelerators: int = 8
    mfu: float = 0.5
    loading: str = "async"
    last_token: bool = False
    notes: tuple[str, ...] = ()
