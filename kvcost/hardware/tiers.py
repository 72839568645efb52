"""Places that KV can come from: tiers and stores."""

from __future__ import annotations

from dataclasses import dataclass

from kvcost import facts
from kvcost.errors import InvalidValueError, MissingFactError, UnknownNameError, nearest_names
from kvcost.facts import Provenance, weakest
from kvcost.hardware.checks import MAX_BANDWIDTH, MAX_BYTES, MAX_SECONDS, text, whole
from kvcost.units import parse_bytes, parse_rate, parse_seconds

__all__ = ["Store", "Tier", "store", "tier_sets", "tiers"]


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A place that KV can come from, as one node sees it.

    Parameters
    ----------
    name : str
        Its name.
    bandwidth : float
        Bytes a second of the whole node.
    provenance : Provenance
        How the bandwidth is known.
    medium : str
        What it is: HBM, host RAM, RDMA, NVMe, object store.
    shared : bool
        Whether all accelerators of the node (or all nodes) draw on the one bandwidth, so that it
        does not grow with their number.
    overhead_seconds : float or None
        Fixed time of a fetch; None: nobody has stated it.
    capacity_bytes : float or None
        What it holds; None: nobody has stated it.

    Raises
    ------
    InvalidValueError
        If a number is negative, not finite or absurd; texts with units are read.

    Examples
    --------
    >>> [(tier.medium, tier.bandwidth) for tier in tiers("bite-the-bullet")][:2]
    [('HBM', 13400000000000.0), ('host RAM', 220000000000.0)]
    """

    name: str
    bandwidth: float
    provenance: Provenance
    medium: str
    shared: bool
    overhead_seconds: float | None = None
    capacity_bytes: float | None = None

    def __post_init__(self) -> None:
        for field in ("name", "medium"):
            text(getattr(self, field), field=field)
        _settle(self)

    def overhead(self) -> float:
        """Return the fixed time of a fetch in seconds.

        Raises
        ------
        MissingFactError
            If nobody has stated it.
        """
        if self.overhead_seconds is None:
            raise MissingFactError(
                fact="the fixed time of a fetch",
                subject=f"tier {self.name}",
                remedy="state it in seconds, 0 if it is to be left out",
            )
        return self.overhead_seconds


@dataclass(frozen=True, kw_only=True)
class Store:
    """A remote store: the bandwidth of its shards together, and its fixed costs.

    Parameters
    ----------
    name : str
        Its name.
    bandwidth : float
        Bytes a second that all `shards` together deliver.
    provenance : Provenance
        Weakest of its numbers.
    shards : int or None
        How many shards that was; None: not stated.
    overhead_seconds : float or None
        Fixed time of a hit; None: nobody has stated it.
    key_seconds : float or None
        Time of one key beyond its bytes; None: nobody has stated it.
    chunk_bytes : float or None
        Size of one value for which the bandwidth holds.
    capacity_bytes : float or None
        What it holds.

    Raises
    ------
    InvalidValueError
        If a number is negative, not finite or absurd; texts with units are read.

    Examples
    --------
    >>> store("valkey-8").bandwidth
    10760000000.0
    """

    name: str
    bandwidth: float
    provenance: Provenance
    shards: int | None = None
    overhead_seconds: float | None = None
    key_seconds: float | None = None
    chunk_bytes: float | None = None
    capacity_bytes: float | None = None

    def __post_init__(self) -> None:
        text(self.name, field="name")
        if self.shards is not None:
            object.__setattr__(self, "shards", whole(self.shards, field="shards"))
        _settle(self)

    @property
    def shard_bandwidth(self) -> float:
        """Bytes a second of one shard, as a share of what the shards deliver together.

        Raises
        ------
        MissingFactError
            If it is not known for how many shards the bandwidth stands.
        """
        if self.shards is None:
            raise MissingFactError(
                fact="the number of shards",
                subject=f"store {self.name}",
                remedy="state the bandwidth of one shard yourself",
            )
        return self.bandwidth / self.shards


def tier_sets() -> tuple[str, ...]:
    """Return the names of the ladders of tiers.

    Examples
    --------
    >>> tier_sets()
    ('bite-the-bullet', 'object-store')
    """
    sets = (facts.get("tier", name).attributes["set"] for name in facts.names("tier"))
    return tuple(dict.fromkeys(str(each) for each in sets))


def tiers(set_name: str) -> tuple[Tier, ...]:
    """Return a ladder of tiers, fastest first as its study lists them.

    Parameters
    ----------
    set_name : str
        One of `tier_sets`.

    Returns
    -------
    tuple of Tier
        The tiers of one node.

    Raises
    ------
    UnknownNameError
        If there is no such ladder; the nearest are listed.
    """
    entries = [facts.get("tier", name) for name in facts.names("tier")]
    found = [entry for entry in entries if entry.attributes["set"] == set_name]
    if not found:
        raise UnknownNameError(
            kind="tier set",
            name=str(set_name),
            nearest=nearest_names(str(set_name), tier_sets()),
            remedy="see kvcost facts list tier",
        )
    return tuple(
        Tier(
            name=entry.name,
            bandwidth=entry.value("bandwidth"),
            provenance=weakest(entry.fact("bandwidth")),
            medium=str(entry.attributes["medium"]),
            shared=bool(entry.attributes["shared"]),
            overhead_seconds=_optional(entry, "overhead"),
            capacity_bytes=_optional(entry, "capacity"),
        )
        for entry in found
    )


def store(name: str) -> Store:
    """Return a store as it was measured.

    Parameters
    ----------
    name : str
        A name of kind ``store``.

    Returns
    -------
    Store
        With the weakest provenance of its numbers.

    Raises
    ------
    UnknownNameError
        If there is no such store; the nearest three are listed.
    """
    entry = facts.get("store", name)
    shards = _optional(entry, "shards")
    return Store(
        name=entry.name,
        bandwidth=entry.value("bandwidth"),
        provenance=entry.provenance,
        shards=None if shards is None else int(shards),
        overhead_seconds=_optional(entry, "overhead"),
        chunk_bytes=_optional(entry, "chunk"),
    )


def _optional(entry: facts.Entry, name: str) -> float | None:
    return entry.value(name) if name in entry.facts else None


def _settle(spec: Tier | Store) -> None:
    bandwidth = parse_rate(spec.bandwidth, field="bandwidth", maximum=MAX_BANDWIDTH)
    object.__setattr__(spec, "bandwidth", bandwidth)
    object.__setattr__(spec, "provenance", Provenance(spec.provenance))
    for field in ("overhead_seconds", "key_seconds"):
        value = getattr(spec, field, None)
        if value is not None:
            seconds = parse_seconds(value, field=field, allow_zero=True, maximum=MAX_SECONDS)
            object.__setattr__(spec, field, seconds)
    for field in ("chunk_bytes", "capacity_bytes"):
        value = getattr(spec, field, None)
        if value is not None:
            object.__setattr__(spec, field, parse_bytes(value, field=field, maximum=MAX_BYTES))
    if isinstance(spec, Tier) and not isinstance(spec.shared, bool):
        raise InvalidValueError(
            field="shared",
            value=spec.shared,
            bound="must be true or false",
            remedy="say whether all accelerators draw on the one bandwidth",
        )
