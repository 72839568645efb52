"""A scenario: replicas, workload, caches, network and policy, as a dataclass and as a TOML file."""

from __future__ import annotations

import dataclasses
import math
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import ConfigError, InvalidValueError, UnknownNameError, nearest_names
from kvcost.facts import data_path
from kvcost.scenario.parts import (
    BehaviourPart,
    CachePart,
    ModelPart,
    NetworkPart,
    PolicyPart,
    ReplicaPart,
    RunPart,
)
from kvcost.scenario.reckon import replica_costs
from kvcost.scenario.work import KINDS, Work, work_from

if TYPE_CHECKING:
    from kvcost.scenario.costs import ReplicaCosts
    from kvcost.workload import Requests

__all__ = ["Scenario", "load_scenario", "shipped_scenarios"]

_MOST_BYTES = 1 << 20
_REMEDY = "give a TOML file with the tables of a scenario, such as the shipped ones"
_PARTS: dict[str, Any] = {
    "model": ModelPart,
    "replica": ReplicaPart,
    "cache": CachePart,
    "network": NetworkPart,
    "behaviour": BehaviourPart,
    "policy": PolicyPart,
    "run": RunPart,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scenario:
    """What is served, on what, to whom, and how it is routed.

    Attributes
    ----------
    title : str
        What it is.
    model : ModelPart
        The model.
    replica : ReplicaPart
        The replicas.
    workload : BurstWork, WindowWork, SteadyWork, MixedWork or TraceWork
        The requests.
    cache : CachePart
        The prefix cache.
    network : NetworkPart
        Between replicas.
    behaviour : BehaviourPart
        When things are seen, and how loading is done.
    policy : PolicyPart
        The routing policy.
    run : RunPart
        Seed and number of simulated runs.

    Examples
    --------
    >>> scenario = load_scenario("bullet-70b-burst")
    >>> costs = scenario.costs()
    >>> round(costs.prefill(65_792), 6), costs.slots(65_793)
    (4.696578, 8)
    """

    title: str = ""
    model: ModelPart
    replica: ReplicaPart
    workload: Work
    cache: CachePart = dataclasses.field(default_factory=CachePart)
    network: NetworkPart = dataclasses.field(default_factory=NetworkPart)
    behaviour: BehaviourPart = dataclasses.field(default_factory=BehaviourPart)
    policy: PolicyPart = dataclasses.field(default_factory=PolicyPart)
    run: RunPart = dataclasses.field(default_factory=RunPart)

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> Scenario:
        """Return the scenario that nested tables describe.

        Parameters
        ----------
        table : dict
            As ``tomllib`` reads it.

        Returns
        -------
        Scenario
            Checked entry by entry.

        Raises
        ------
        UnknownNameError
            If a table or key is unknown.
        MissingFactError
            If a needed table or entry is missing.
        InvalidValueError
            If an entry is of the wrong kind or out of range.
        """
        known = {"title", "workload", *_PARTS}
        for key in table:
            if key not in known:
                raise UnknownNameError(
                    kind="table of a scenario",
                    name=key,
                    nearest=nearest_names(key, sorted(known)),
                    remedy=f"its tables are {', '.join(sorted(known - {'title'}))}",
                )
        parts = {
            name: part.from_table(table.get(name, {}), where=name)
            for name, part in _PARTS.items()
            if name in table or name in {"model", "replica"}
        }
        work = work_from(table.get("workload", {}))
        title = table.get("title", "")
        if not isinstance(title, str):
            raise InvalidValueError(
                field="title", value=title, bound="must be a text", remedy="write it in quotes"
            )
        return cls(title=title, workload=work, **parts)

    @classmethod
    def from_toml(cls, text: str, *, path: str = "the text") -> Scenario:
        """Return the scenario that a TOML text describes.

        Parameters
        ----------
        text : str
            TOML.
        path : str
            Where it is from, for messages.

        Returns
        -------
        Scenario
            See `from_table`.

        Raises
        ------
        ConfigError
            If the text is no TOML.
        """
        try:
            table = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError
            problem = f"is not TOML ({' '.join(str(error).split())[:120]})"
            raise ConfigError(path=path, problem=problem, remedy=_REMEDY) from None
        return cls.from_table(table)

    def to_table(self) -> dict[str, Any]:
        """Return nested tables from which `from_table` makes an equal scenario; base units."""
        kinds = {part: kind for kind, part in KINDS.items()}
        tables = {name: getattr(self, name).to_table() for name in _PARTS}
        tables["workload"] = {"kind": kinds[type(self.workload)], **self.workload.to_table()}
        found: dict[str, Any] = {"title": self.title} if self.title else {}
        return found | {name: table for name, table in tables.items() if table}

    def to_toml(self) -> str:
        """Return a TOML text from which `from_toml` makes an equal scenario; base units."""
        tables = self.to_table()
        lines = [f"title = {_toml(tables.pop('title'))}"] if self.title else []
        for name, table in tables.items():
            if table:
                lines += ["", f"[{name}]"]
                lines += [f"{key} = {_toml(value)}" for key, value in table.items()]
        return "\n".join(lines).lstrip("\n") + "\n"

    def costs(self) -> ReplicaCosts:
        """Return what a replica needs and can hold.

        Returns
        -------
        ReplicaCosts
            From the model, the hardware and the cache.

        Raises
        ------
        MissingFactError
            If a fact about the model or the hardware is missing.
        CapacityError
            If the weights do not fit.
        """
        return replica_costs(
            model=self.model, replica=self.replica, cache=self.cache, network=self.network
        )

    def requests(self, seed: int | None = None) -> Requests:
        """Return the requests of one run.

        Parameters
        ----------
        seed : int, optional
            Of all random numbers; that of `run` if not given.

        Returns
        -------
        Requests
            Sorted by arrival.
        """
        rng = np.random.default_rng(self.run.seed if seed is None else seed)
        return self.workload.draw(rng, block_tokens=self.cache.block_tokens)

    @property
    def key_blocks(self) -> int | None:
        """Leading blocks by which a policy tells prefixes apart; None where nothing is shared."""
        if self.policy.key_blocks is not None:
            return self.policy.key_blocks
        return self.workload.shared // self.cache.block_tokens or None

    def replace(self, **changes: Any) -> Scenario:
        """Return a copy with other parts."""
        return dataclasses.replace(self, **changes)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # inf is TOML, but a bare number has no unit where one is needed
        return '"inf"' if math.isinf(value) else repr(value)
    if isinstance(value, int):
        return str(value)
    escaped = "".join(_escape(letter) for letter in str(value))
    return f'"{escaped}"'


def _escape(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return letter if letter.isprintable() else f"\\U{ord(letter):08X}"


def shipped_scenarios() -> tuple[str, ...]:
    """Return the names of the scenarios that ship with kvcost."""
    return tuple(sorted(path.stem for path in data_path("scenarios").glob("*.toml")))


def load_scenario(name: str | os.PathLike[str]) -> Scenario:
    """Read a scenario.

    Parameters
    ----------
    name : str or path
        Path of a TOML file, or the name of a shipped scenario.

    Returns
    -------
    Scenario
        Checked.

    Raises
    ------
    UnknownNameError
        If no such scenario ships.
    ConfigError
        If the file cannot be read.
    """
    text = os.fspath(name)
    if text in shipped_scenarios():
        path = data_path("scenarios") / f"{text}.toml"
    elif text.endswith(".toml") or os.sep in text:
        path = Path(text)
    else:
        raise UnknownNameError(
            kind="scenario",
            name=text,
            nearest=nearest_names(text, shipped_scenarios()),
            remedy="give the path of a .toml file, or one of " + ", ".join(shipped_scenarios()),
        )
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(path=str(path), problem="is no regular file", remedy=_REMEDY)
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(path=str(path), problem="is larger than 1 MiB", remedy=_REMEDY)
        content = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        problem = error.strerror or "cannot be read"
        raise ConfigError(path=str(path), problem=problem, remedy=_REMEDY) from None
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 ({error.reason})"
        raise ConfigError(path=str(path), problem=problem, remedy=_REMEDY) from None
    return Scenario.from_toml(content, path=str(path))
