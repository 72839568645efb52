"""The way that KV takes from a store to an engine, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.facts.provenance import Provenance
from kvcost.hardware.checks import MAX_BANDWIDTH, MAX_SECONDS, whole
from kvcost.transfer import rates
from kvcost.transfer.checks import amounts, bounded
from kvcost.transfer.times import keys, moved_bytes, transfer_seconds
from kvcost.units import parse_rate, parse_ratio, parse_seconds, parse_tokens

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = ["TransferPath"]

_TIMES = ("lookup_seconds", "overhead_seconds", "per_key_seconds", "per_descriptor_seconds")
_LIMITS = ("client_bandwidth", "link_bandwidth", "store_bandwidth")
_CODERS = ("encode_rate", "decode_rate")
_COUNTS = ("shards", "active_engines", "ranks", "keys_per_chunk")


@dataclass(frozen=True, kw_only=True)
class TransferPath:
    """A way to fetch KV: fixed costs, costs a key and a piece, and the rates that limit it.

    A cost term that is not given is not charged, and `left_out` lists it. Texts with units are
    read.

    Parameters
    ----------
    lookup_seconds : float
        Time to ask what the store holds, paid without a hit too.
    overhead_seconds : float
        Fixed time of a fetch: scheduling, waiting for ranks, setting up.
    client_bandwidth : float, optional
        Rate of one rank's client; no limit if not given.
    link_bandwidth : float, optional
        Rate of the narrowest link of the path, all ranks together; no limit if not given.
    store_bandwidth : float, optional
        Rate of one shard of the store; no limit if not given. One of the three must be given.
    shards : int
        Shards of the store.
    shard_efficiency : float, optional
        Rate of all shards together over that of as many single ones; needed from two shards on.
        `kvcost.transfer.shard_efficiency` estimates it for counts that nobody measured.
    active_engines : int
        Engines that read the store at once and share its rate equally.
    ranks : int
        Ranks of the engine; each has a client, and all must finish.
    rank_balance : float
        Slowest rank's rate over the mean.
    copies : float
        Copies of the KV that the ranks hold together, each moved (see `kvcost.model.kv_size`).
    chunk_tokens : int, optional
        Tokens of a store's chunk; no rounding if not given.
    keys_per_chunk : int
        Keys of a chunk.
    per_key_seconds : float
        Time that a key takes; needs `chunk_tokens`.
    descriptors_per_token : float
        Pieces of memory that one token's KV adds to a fetch.
    per_descriptor_seconds : float
        Time that a piece takes.
    compression_ratio : float
        Bytes before over after compression.
    encode_rate, decode_rate : float, optional
        Rates of the coder in uncompressed bytes a second; free if not given. What a store keeps
        encoded needs no encoder on the way to a hit.
    pipelined : bool
        Whether pieces are encoded, moved and decoded at once.
    provenance : Provenance
        How the numbers are known; assumed if not said.

    Raises
    ------
    InvalidValueError
        If a number is out of bounds or does not go with the others.
    MissingFactError
        If no rate limits the path, or shards have no efficiency.

    Examples
    --------
    One Valkey instance of the GLM-5.3 study:

    >>> path = TransferPath(overhead_seconds=0.33, store_bandwidth="1.71 GB/s")
    >>> round(path.seconds(16_000, kv_bytes_per_token=48_408), 4)
    0.7829
    >>> path.limits
    ('store',)
    """

    lookup_seconds: float = 0.0
    overhead_seconds: float = 0.0
    client_bandwidth: float | None = None
    link_bandwidth: float | None = None
    store_bandwidth: float | None = None
    shards: int = 1
    shard_efficiency: float | None = None
    active_engines: int = 1
    ranks: int = 1
    rank_balance: float = 1.0
    copies: float = 1.0
    chunk_tokens: int | None = None
    keys_per_chunk: int = 1
    per_key_seconds: float = 0.0
    descriptors_per_token: float = 0.0
    per_descriptor_seconds: float = 0.0
    compression_ratio: float = 1.0
    encode_rate: float | None = None
    decode_rate: float | None = None
    pipelined: bool = False
    provenance: Provenance = Provenance.ASSUMED

    def __post_init__(self) -> None:
        for name in _TIMES:
            self._set(
                name,
                parse_seconds(
                    getattr(self, name), field=name, allow_zero=True, maximum=MAX_SECONDS
                ),
            )
        for name in (*_LIMITS, *_CODERS):
            if getattr(self, name) is not None:
                rate = parse_rate(getattr(self, name), field=name, maximum=MAX_BANDWIDTH)
                self._set(name, rate)
        for name in _COUNTS:
            self._set(name, whole(getattr(self, name), field=name))
        self._set("rank_balance", parse_ratio(self.rank_balance, field="rank_balance"))
        for name, low, remedy in (
            ("copies", 1.0, "give how often the ranks hold the KV together"),
            ("compression_ratio", 1.0, "give bytes before over after compression"),
            ("descriptors_per_token", 0.0, "give the pieces of a fetch over its tokens"),
        ):
            number = bounded(getattr(self, name), field=name, low=low, high=1e6, remedy=remedy)
            self._set(name, number)
        if self.chunk_tokens is not None:
            self._set("chunk_tokens", parse_tokens(self.chunk_tokens, field="chunk_tokens"))
        if not isinstance(self.pipelined, bool):
            raise InvalidValueError(
                field="pipelined", value=self.pipelined, bound="must be True or False",
                remedy="say whether pieces are encoded, moved and decoded at once",
            )  # fmt: skip
        self._set("provenance", Provenance(self.provenance))
        self._check_together()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_together(self) -> None:
        if all(getattr(self, name) is None for name in _LIMITS):
            raise MissingFactError(
                fact="every bandwidth",
                subject="the transfer path",
                remedy=f"give at least one of {', '.join(_LIMITS)}",
            )
        if self.shards > 1 and self.store_bandwidth is None:
            raise MissingFactError(
                fact="store_bandwidth",
                subject=f"a store of {self.shards} shards",
                remedy="give the rate of one shard",
            )
        if self.shards > 1 and self.shard_efficiency is None:
            raise MissingFactError(
                fact="shard_efficiency",
                subject=f"a store of {self.shards} shards",
                remedy="give their rate over that of as many single ones; 1 where each adds fully",
            )
        if self.shard_efficiency is not None:
            share = parse_ratio(self.shard_efficiency, field="shard_efficiency")
            self._set("shard_efficiency", share)
            if self.shards == 1 and share != 1:
                raise InvalidValueError(
                    field="shard_efficiency",
                    value=share,
                    bound="must be 1 for one shard",
                    remedy="state the number of shards, or put the efficiency in store_bandwidth",
                )
        if self.per_key_seconds and self.chunk_tokens is None:
            raise MissingFactError(
                fact="chunk_tokens",
                subject="a path with a cost per key",
                remedy="give the tokens of a chunk, which fix the number of keys",
            )
        if bool(self.per_descriptor_seconds) != bool(self.descriptors_per_token):
            raise InvalidValueError(
                field="per_descriptor_seconds",
                value=self.per_descriptor_seconds,
                bound="must go with descriptors_per_token",
                remedy="give both, or neither",
            )

    @property
    def bandwidth(self) -> float:
        """The rate of the narrowest of clients, link and store [byte/s], for encoded bytes."""
        return min(self._rates().values())

    @property
    def limits(self) -> tuple[str, ...]:
        """What limits the rate: ``client``, ``link``, ``store``, or a coder that works alongside.

        Several where they are equal.
        """
        reached = {name: self.compression_ratio * rate for name, rate in self._rates().items()}
        if self.pipelined:
            for name in _CODERS:
                if getattr(self, name) is not None:
                    reached[name.removesuffix("_rate") + "r"] = getattr(self, name)
        lowest = min(reached.values())
        return tuple(name for name, rate in reached.items() if rate <= lowest * (1 + 1e-12))

    @property
    def left_out(self) -> tuple[str, ...]:
        """The cost terms that are not charged, in words."""
        spread = self.ranks > 1 and self.client_bandwidth is not None and self.rank_balance == 1
        absent = {
            "lookup": not self.lookup_seconds,
            "fixed overhead": not self.overhead_seconds,
            "limit of the client": self.client_bandwidth is None,
            "limit of the link": self.link_bandwidth is None,
            "limit of the store": self.store_bandwidth is None,
            "other engines at the store": self.store_bandwidth is not None
            and self.active_engines == 1,
            "spread between ranks": spread,
            "rounding to chunks": self.chunk_tokens is None,
            "cost per key": not self.per_key_seconds,
            "cost per descriptor": not self.per_descriptor_seconds,
            "encoding": self.compression_ratio > 1 and self.encode_rate is None,
            "decoding": self.compression_ratio > 1 and self.decode_rate is None,
            "waiting in queues": True,
        }
        return tuple(term for term, missing in absent.items() if missing)

    @property
    def seconds_per_byte(self) -> float:
        """The time that a byte of KV takes [s/byte], coding included."""
        law = rates.pipelined_seconds_per_byte if self.pipelined else rates.seconds_per_byte
        time: float = law(
            bandwidth=self.bandwidth,
            compression_ratio=self.compression_ratio,
            encode_rate=math.inf if self.encode_rate is None else self.encode_rate,
            decode_rate=math.inf if self.decode_rate is None else self.decode_rate,
        )
        return time

    def seconds(self, tokens: Num, *, kv_bytes_per_token: Num, fixed_bytes: Num = 0.0) -> Num:
        """Return the time to fetch the KV of tokens.

        Parameters
        ----------
        tokens : float or array
            Tokens that are fetched; see `kvcost.transfer.fetched_tokens` for how many those are.
        kv_bytes_per_token : float or array
            Bytes that one token adds to the KV, one copy.
        fixed_bytes : float or array
            Bytes of the request whatever its length (recurrent states, full windows), all ranks
            together.

        Returns
        -------
        float or array
            Seconds.

        Raises
        ------
        InvalidValueError
            If a number is negative or not finite.
        """
        fetched = amounts(tokens, field="tokens")
        asked: Num = 0.0
        if self.chunk_tokens is not None:
            asked = keys(
                fetched_tokens=fetched,
                chunk_tokens=self.chunk_tokens,
                keys_per_chunk=self.keys_per_chunk,
            )
        return self._time(
            tokens=fetched,
            asked=asked,
            kv_bytes_per_token=amounts(kv_bytes_per_token, field="kv_bytes_per_token"),
            fixed_bytes=amounts(fixed_bytes, field="fixed_bytes"),
            fixed=True,
        )

    def fixed_seconds(self, *, fixed_bytes: Num = 0.0) -> Num:
        """Return the part of the time that no token causes.

        Parameters
        ----------
        fixed_bytes : float or array
            Bytes of the request whatever its length.

        Returns
        -------
        float or array
            Seconds.
        """
        return self.seconds(0.0, kv_bytes_per_token=0.0, fixed_bytes=fixed_bytes)

    def seconds_per_token(self, *, kv_bytes_per_token: Num) -> Num:
        """Return the time that one more token takes.

        Parameters
        ----------
        kv_bytes_per_token : float or array
            Bytes that one token adds to the KV, one copy.

        Returns
        -------
        float or array
            Seconds a token. With `fixed_seconds` it gives `seconds` exactly where no key is
            charged, and for whole chunks; between, the last chunk's keys are charged in part.
        """
        share = 0.0 if self.chunk_tokens is None else self.keys_per_chunk / self.chunk_tokens
        return self._time(
            tokens=1.0,
            asked=share,
            kv_bytes_per_token=amounts(kv_bytes_per_token, field="kv_bytes_per_token"),
            fixed_bytes=0.0,
            fixed=False,
        )

    def effective_bandwidth(self, *, kv_bytes_per_token: Num) -> Num:
        """Return the rate at which KV arrives, counted once and uncompressed.

        Parameters
        ----------
        kv_bytes_per_token : float or array
            Bytes that one token adds to the KV, one copy.

        Returns
        -------
        float or array
            Bytes a second: the `bandwidth` of the closed forms, with copies, keys, pieces and
            coding in it.
        """
        size = amounts(kv_bytes_per_token, field="kv_bytes_per_token", above_zero=True)
        return size / self.seconds_per_token(kv_bytes_per_token=size)

    def _rates(self) -> dict[str, float]:
        found = {}
        for name in _LIMITS:
            if getattr(self, name) is not None:
                found[name.removesuffix("_bandwidth")] = self._rate(name)
        return found

    def _rate(self, only: str) -> float:
        limits = dict.fromkeys(_LIMITS, math.inf) | {only: getattr(self, only)}
        rate: float = rates.bandwidth(
            client_bandwidth=limits["client_bandwidth"],
            ranks=self.ranks,
            rank_balance=self.rank_balance,
            link_bandwidth=limits["link_bandwidth"],
            store_bandwidth=limits["store_bandwidth"],
            shards=self.shards,
            shard_efficiency=1.0 if self.shard_efficiency is None else self.shard_efficiency,
            active_engines=self.active_engines,
        )
        return rate

    def _time(
        self, *, tokens: Num, asked: Num, kv_bytes_per_token: Num, fixed_bytes: Num, fixed: bool
    ) -> Num:
        return transfer_seconds(
            lookup_seconds=self.lookup_seconds if fixed else 0.0,
            overhead_seconds=self.overhead_seconds if fixed else 0.0,
            keys=asked,
            per_key_seconds=self.per_key_seconds,
            descriptors=self.descriptors_per_token * tokens,
            per_descriptor_seconds=self.per_descriptor_seconds,
            moved_bytes=moved_bytes(
                fetched_tokens=tokens,
                kv_bytes_per_token=kv_bytes_per_token,
                kv_copies=self.copies,
                fixed_bytes=fixed_bytes,
            ),
            seconds_per_byte=self.seconds_per_byte,
        )
