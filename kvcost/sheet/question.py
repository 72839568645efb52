"""What a workbook is about: the inputs that it ships with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.compute import PrefillCurve
    from kvcost.model import ModelSpec
    from kvcost.transfer import TransferPath

__all__ = ["ModelFigures", "PolicyFigures", "PolicyTable", "Question", "RoutedBurst", "Stated"]


@dataclass(frozen=True, kw_only=True)
class ModelFigures:
    """A model of which only figures are known, not its layers.

    Attributes
    ----------
    name : str
        What to call it.
    total_parameters, active_parameters : float
        All weights, and those of a token.
    kv_bytes_per_token : float
        Bytes of KV that a token adds.
    """

    name: str
    total_parameters: float
    active_parameters: float
    kv_bytes_per_token: float


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What is known of an input.

    Attributes
    ----------
    yours : float, str or None
        What is written in the cell; None leaves it blank.
    found : str, float or None
        A row, or a number, that stands in where the cell is blank.
    source : str
        Where it comes from; written as text.
    """

    yours: float | str | None = None
    found: str | float | None = None
    source: str


@dataclass(frozen=True, kw_only=True)
class RoutedBurst:
    """A burst of requests that share a prefix, and copies of the prefix.

    Attributes
    ----------
    shared_tokens, private_tokens : float
        Prefix that all share, and what each request has alone.
    spacing : {"inclusive", "exclusive"}
        Whether the last request comes at the end of the burst, or a gap before it.
    copy_bandwidth : float or None
        Of one accelerator between replicas [byte/s]; None where copies are not made.
    copy_latency : float
        What a copy takes beside [s].
    repeats, within : float
        Arrivals that make a burst, and time within which they have to come [s].
    copies : float
        Copies beside the source.
    layers : float or None
        Layers of the model, where known.
    ready : str
        Row that says when copies are ready.
    source : str
        Where all of it comes from.
    """

    shared_tokens: float
    private_tokens: float
    spacing: str
    copy_bandwidth: float | None
    copy_latency: float
    repeats: float
    within: float
    copies: float
    layers: float | None
    ready: str
    source: str


@dataclass(frozen=True, kw_only=True)
class PolicyFigures:
    """Time to first token under a policy.

    Attributes
    ----------
    policy : str
        The policy.
    mean, p50, p95, p99 : float
        Mean and percentiles [s].
    method, error : str
        How they were found, and how far to trust them.
    """

    policy: str
    mean: float
    p50: float
    p95: float
    p99: float
    method: str
    error: str


@dataclass(frozen=True, kw_only=True)
class PolicyTable:
    """What Python finds for the policies of a scenario.

    Attributes
    ----------
    title : str
        How the numbers were found.
    rows : tuple of PolicyFigures
        The best mean first.
    notes : tuple of str
        What is not in the table, and why.
    """

    title: str
    rows: tuple[PolicyFigures, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Question:
    """The deployment that a workbook is about.

    Attributes
    ----------
    title : str
        What it is; written as text.
    model : ModelSpec or ModelFigures
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
    stated : mapping of str to Stated
        Inputs that are known otherwise than the fields above say, by key.
    burst : RoutedBurst or None
        A burst that sheet Routing follows.
    policies : PolicyTable or None
        Policies side by side, on sheet Routing.
    """

    title: str
    model: ModelSpec | ModelFigures
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
    stated: Mapping[str, Stated] = field(default_factory=dict)
    burst: RoutedBurst | None = None
    policies: PolicyTable | None = None
