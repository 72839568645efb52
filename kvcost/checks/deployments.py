"""A deployment: what a prompt costs to compute and to fetch, read from the keys of a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kvcost.checks.costs import KEYS, prefill_of, size_of, transfer_path
from kvcost.checks.files import merge_file
from kvcost.checks.measured import Files
from kvcost.checks.table import Table

if TYPE_CHECKING:
    from kvcost.breakeven import Decision, Loading
    from kvcost.breakeven.ranges import Ranges
    from kvcost.compute import PrefillCurve
    from kvcost.facts import Provenance
    from kvcost.transfer import TransferPath

__all__ = ["Deployment", "deployment", "read_deployment"]


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """What a prompt costs on one deployment.

    Attributes
    ----------
    tokens : int
        Length of the prompt.
    kv_bytes_per_token, fixed_bytes_per_request : float
        What its KV weighs.
    prefill : PrefillCurve
        Time to compute.
    path : TransferPath
        Way to fetch.
    loading : {'async', 'sync'}
        Whether the engine works on while it loads.
    last_token : bool
        Whether the last token is computed even if it is stored.
    kv_provenance : Provenance
        How the bytes are known.
    notes : tuple of str
        What was assumed of the bytes.
    """

    tokens: int
    kv_bytes_per_token: float
    fixed_bytes_per_request: float
    prefill: PrefillCurve
    path: TransferPath
    loading: Loading
    last_token: bool
    kv_provenance: Provenance
    notes: tuple[str, ...] = ()

    def decision(self) -> Decision:
        """Return whether to fetch or to recompute the prompt."""
        from kvcost.breakeven import decide  # noqa: PLC0415 - loaded only when asked for

        return decide(
            tokens=self.tokens,
            kv_bytes_per_token=self.kv_bytes_per_token,
            fixed_bytes_per_request=self.fixed_bytes_per_request,
            prefill=self.prefill,
            path=self.path,
            loading=self.loading,
            recompute_last_token=self.last_token,
            kv_provenance=self.kv_provenance,
        )

    def at_bandwidth(self, bandwidth: float) -> Deployment:
        """Return the same deployment with a path of another rate, whatever limits it now.

        Parameters
        ----------
        bandwidth : float
            Rate of the whole path [byte/s].

        Returns
        -------
        Deployment
            With that rate.
        """
        path = replace(
            self.path,
            link_bandwidth=bandwidth,
            store_bandwidth=None,
            client_bandwidth=None,
            shards=1,
            shard_efficiency=None,
            active_engines=1,
        )
        return replace(self, path=path)

    def winning_lengths(self) -> Ranges:
        """Return the prompt lengths at which fetching wins, stored whole."""
        from kvcost.breakeven import fetch_ranges  # noqa: PLC0415 - loaded only when asked for

        return fetch_ranges(
            self.prefill,
            self.path,
            kv_bytes_per_token=self.kv_bytes_per_token,
            fixed_bytes_per_request=self.fixed_bytes_per_request,
        )


def deployment(name: str | Path, **changes: Any) -> Deployment:
    """Return a deployment that ships with kvcost, or that of a file.

    Parameters
    ----------
    name : str or pathlib.Path
        A name such as ``glm-5.3-8xb300``, or the path of a ``.toml`` file.
    **changes : str, bool or list
        Keys to state otherwise than the file, with their units: ``bandwidth="5 GB/s"``.

    Returns
    -------
    Deployment
        What a prompt costs there.

    Raises
    ------
    ConfigError
        If the file cannot be read.
    UnknownNameError
        If no such deployment ships.
    InvalidValueError
        If a key is unknown or a value is out of bounds.
    MissingFactError
        If a fact that the answer needs is not stated.

    Examples
    --------
    >>> deployment("glm-5.3-8xb300", bandwidth="5 GB/s", tokens="64k").decision().verdict
    'fetch'
    """
    table = Table({"deployment": str(name), **changes}, files=Files(folder=Path()))
    table.refuse_unknown(KEYS)
    found = read_deployment(table)
    table.refuse_unused()
    return found


def read_deployment(table: Table, *, measured_bandwidth: float | None = None) -> Deployment:
    """Return the deployment that the keys of a table, and the file it names, state.

    Parameters
    ----------
    table : Table
        Its own keys win over those of the file.
    measured_bandwidth : float, optional
        Rate of the whole path, in place of the rates that the keys state [byte/s].

    Returns
    -------
    Deployment
        What a prompt costs there.

    Raises
    ------
    KvcostError
        As `deployment`.
    """
    merge_file(table)
    tokens = table.tokens("tokens")
    if tokens is None:
        table.need("tokens", example='"16000"')
    spec, size = size_of(table)
    path = transfer_path(table, measured_bandwidth)
    prefill = prefill_of(table, spec)
    loading = table.text("loading", choices=("async", "sync")) or "async"
    return Deployment(
        tokens=cast("int", tokens),
        **size,
        prefill=prefill,
        path=path,
        loading=cast("Loading", loading),
        last_token=bool(table.boolean("last_token")),
    )
