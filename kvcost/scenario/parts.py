"""The tables of a scenario: model, replicas, cache, network, behaviour, policy, run."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.scenario import schema as of
from kvcost.scenario.schema import Part

__all__ = [
    "BehaviourPart",
    "CachePart",
    "ModelPart",
    "NetworkPart",
    "PolicyPart",
    "ReplicaPart",
    "RunPart",
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelPart(Part):
    """The model: a name in the catalogue, or its figures."""

    name: str | None = of.text("name in the catalogue", None)
    kv_dtype: str = of.text("dtype of the KV, where the model comes from the catalogue", "bf16")
    parameters: float | None = of.number("all weights", None)
    active_parameters: float | None = of.number("weights that a token uses", None)
    bytes_per_weight: float = of.number("bytes of one weight", 2.0)
    kv_bytes_per_token: float | None = of.number("bytes of KV that a token adds", None)
    count_attention: bool | None = of.flag("whether attention's own arithmetic counts", None)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReplicaPart(Part):
    """The replicas, all alike."""

    count: int = of.count("replicas", high=1024)
    accelerator: str = of.text("name in the catalogue")
    accelerators: int = of.count("accelerators of one replica", high=100_000)
    mfu: float = of.ratio("share of the peak that prefill achieves")
    decode_bandwidth_share: float = of.ratio("share of the HBM bandwidth that decode achieves")
    compute_dtype: str = of.text("dtype that selects the peak", "bf16")
    hbm_share: float = of.ratio("share of the HBM that the engine may use", 1.0)
    max_batch: int = of.count("requests in a batch", 256, high=65_536)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CachePart(Part):
    """The prefix cache of a replica."""

    block_tokens: int = of.tokens("tokens of a block", 256)
    host_memory: float = of.size("host memory for KV, of a replica", 0.0)
    host_bandwidth: float | None = of.bandwidth("host memory to one accelerator", None)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkPart(Part):
    """The network between replicas."""

    bandwidth: float | None = of.bandwidth("of one accelerator, one way", None)
    latency: float = of.seconds("of one copy", 0.0)
    copies: str = of.choice(
        "what a copy keeps busy: its target, or one side of two network cards",
        ("holds_target", "nic"),
        "nic",
    )
    pipelined_layers: int = of.count(
        "layers by which copies follow the prefill", 0, low=0, high=10_000
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class BehaviourPart(Part):
    """When things are seen, and how loading is done."""

    visibility: str | None = of.choice("both of the next two", ("admission", "computed"), None)
    index_visibility: str = of.choice(
        "when routing sees a prefix", ("admission", "computed"), "admission"
    )
    copy_visibility: str = of.choice(
        "when a prefix can be copied", ("admission", "computed"), "computed"
    )
    loads: str = of.choice("how a replica loads", ("sync", "async"), "sync")
    index_lag: float = of.seconds("delay of the index", 0.0)
    load_staleness: float = of.seconds("time between two looks at the loads", 0.0)
    gateways: int = of.count("routers that see only their own share", 1, high=1024)
    pull_blocks: int = of.count("blocks more that make a request pull from a peer", 0, low=0)

    @classmethod
    def from_table(cls, table: Any, *, where: str) -> Self:
        """Return the part that a TOML table describes; one visibility or two, not both."""
        both = {"index_visibility", "copy_visibility"}
        if isinstance(table, dict) and "visibility" in table and both & table.keys():
            raise InvalidValueError(
                field=f"{where}.visibility",
                value=table["visibility"],
                bound=f"sets what {' and '.join(sorted(both & table.keys()))} sets too",
                remedy="state one or the other",
            )
        return super().from_table(table, where=where)

    def to_table(self) -> dict[str, Any]:
        """Return the entries that differ from their defaults."""
        table = super().to_table()
        if "visibility" in table:
            table = {k: v for k, v in table.items() if not k.endswith("_visibility")}
        return table

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.visibility is not None:
            object.__setattr__(self, "index_visibility", self.visibility)
            object.__setattr__(self, "copy_visibility", self.visibility)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyPart:
    """The routing policy and the parameters that differ from production defaults.

    Attributes
    ----------
    name : str
        The policy.
    params : mapping
        Its parameters by name.
    key_blocks : int or None
        Leading blocks by which prefixes are told apart and which are copied; None for the whole
        shared prefix of a burst.
    """

    name: str = "cache_aware"
    params: dict[str, Any] = dataclasses.field(default_factory=dict)
    key_blocks: int | None = None

    @classmethod
    def from_table(cls, table: Any, *, where: str) -> PolicyPart:
        """Return the policy that a TOML table describes."""
        if not isinstance(table, dict):
            raise InvalidValueError(
                field=where, value=table, bound="must be a table", remedy=f"write [{where}]"
            )
        rest = {key: value for key, value in table.items() if key not in {"name", "key_blocks"}}
        if "name" not in table:
            raise MissingFactError(
                fact="name (the routing policy)", subject=f"[{where}]", remedy="add it"
            )
        key = table.get("key_blocks")
        if key is not None and (isinstance(key, bool) or not isinstance(key, int) or key < 1):
            raise InvalidValueError(
                field=f"{where}.key_blocks",
                value=key,
                bound="must be a whole number of at least 1",
                remedy="leave it out for the whole shared prefix",
            )
        if not isinstance(table["name"], str):
            raise InvalidValueError(
                field=f"{where}.name",
                value=table["name"],
                bound="must be a text",
                remedy='write e.g. name = "least_load"',
            )
        return cls(name=table["name"], params=rest, key_blocks=key)

    def to_table(self) -> dict[str, Any]:
        """Return what `from_table` reads."""
        key = {} if self.key_blocks is None else {"key_blocks": self.key_blocks}
        return {"name": self.name, **key, **self.params}


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunPart(Part):
    """How simulations are run."""

    seed: int = of.count("of all random numbers", 1, low=0, high=2**62)
    replications: int = of.count("independent runs", 20, high=1_000_000)
