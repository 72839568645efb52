"""Published measurements and the published numbers of the seed studies, as rows."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

from kvcost.errors import ConfigError, UnknownNameError, nearest_names
from kvcost.facts.paths import data_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["Measurement", "PublishedNumber", "measurements", "published", "studies"]

_Row = TypeVar("_Row")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One number that somebody measured and published; nothing was run again.

    Parameters
    ----------
    study : str
        Which body of measurements it belongs to.
    model, hardware, parallelism : str
        What ran where; empty where the source does not say.
    tokens : float or None
        Prompt tokens; None where they are not one number (then `condition` says more).
    tier : str
        Where the KV came from: ``recompute``, ``host-ram``, ``peer-ram-rdma``, ``valkey``.
    policy : str
        Routing or queueing policy, if the study compares those.
    quantity : str
        What was measured: ``ttft``, ``transfer_time``, ``bandwidth``, ``served_rate``.
    statistic : str
        ``mean``, ``p50``, ``p90``, ``max``, ``low``; empty for a single value.
    condition : str
        The rest, as ``name=value`` or words, separated by semicolons.
    value : float
        The number, in `unit`.
    unit : str
        Base unit.
    kind : str
        ``measured``, ``reported`` (an abstract), ``simulated``, ``fitted``, ``model`` or
        ``computed``.
    source : str
        Public place of the number.
    note : str
        What a reader must know to use it.
    """

    study: str
    model: str
    hardware: str
    parallelism: str
    tokens: float | None
    tier: str
    policy: str
    quantity: str
    statistic: str
    condition: str
    value: float
    unit: str
    kind: str
    source: str
    note: str


@dataclass(frozen=True, kw_only=True)
class PublishedNumber:
    """One number as a seed study prints it.

    Parameters
    ----------
    study : str
        ``bite-the-bullet`` or ``glm-5.3-remote-kv``.
    quantity, statistic, condition, model, hardware : str
        What it is a number of.
    tokens : float or None
        Prompt tokens, where the number belongs to one length.
    value : float or None
        The number, in `unit`; None where the study states in words that there is none.
    text : str
        Those words.
    unit : str
        Base unit.
    kind : str
        ``measured``, ``simulated``, ``computed``, ``model``, ``rounded`` or ``definition``.
    note : str
        What is known about it: rounded, leaves something out, disagrees with other rows.
    """

    study: str
    quantity: str
    statistic: str
    condition: str
    model: str
    hardware: str
    tokens: float | None
    value: float | None
    text: str
    unit: str
    kind: str
    note: str


def measurements(
    *,
    study: str | None = None,
    quantity: str | None = None,
    tier: str | None = None,
    policy: str | None = None,
    statistic: str | None = None,
    kind: str | None = None,
) -> tuple[Measurement, ...]:
    """Return the published measurements that match every filter given.

    Parameters
    ----------
    study, quantity, tier, policy, statistic, kind : str, optional
        Exact values of the fields of `Measurement`; not given: any.

    Returns
    -------
    tuple of Measurement
        In file order; by increasing length within one study and quantity.

    Raises
    ------
    UnknownNameError
        If no measurement has a value that was asked for; the nearest are listed.

    Examples
    --------
    >>> rows = measurements(study="llm-d-p2p-glm-5.2-h200", tier="recompute")
    >>> [(row.tokens, row.value) for row in rows][:2]
    [(8070.0, 1.0), (13648.0, 1.74)]
    """
    found = _measurements()
    asked = {
        "study": study,
        "quantity": quantity,
        "tier": tier,
        "policy": policy,
        "statistic": statistic,
        "kind": kind,
    }
    for name, wanted in asked.items():
        if wanted is not None:
            _known(wanted, kind=f"{name} of a measurement", names=_values(_measurements(), name))
            found = tuple(row for row in found if getattr(row, name) == wanted)
    return found


def studies() -> tuple[str, ...]:
    """Return the names of the seed studies.

    Examples
    --------
    >>> studies()
    ('bite-the-bullet', 'glm-5.3-remote-kv')
    """
    return tuple(sorted(path.stem for path in data_path("studies").glob("*.csv")))


def published(
    study: str,
    *,
    quantity: str | None = None,
    statistic: str | None = None,
    tokens: float | None = None,
) -> tuple[PublishedNumber, ...]:
    """Return the numbers that one seed study prints.

    Parameters
    ----------
    study : str
        One of `studies`.
    quantity, statistic : str, optional
        Exact values of the fields of `PublishedNumber`; not given: any.
    tokens : float, optional
        Only rows of this prompt length.

    Returns
    -------
    tuple of PublishedNumber
        In the order of the study.

    Raises
    ------
    UnknownNameError
        If there is no such study or quantity; the nearest are listed.

    Examples
    --------
    >>> published("glm-5.3-remote-kv", quantity="prefill_time")[0].value
    0.31
    """
    _known(study, kind="study", names=studies())
    found = _published(study)
    if quantity is not None:
        _known(quantity, kind=f"quantity of {study}", names=_values(found, "quantity"))
        found = tuple(row for row in found if row.quantity == quantity)
    if statistic is not None:
        found = tuple(row for row in found if row.statistic == statistic)
    if tokens is not None:
        found = tuple(row for row in found if row.tokens == tokens)
    return found


def _known(name: str, *, kind: str, names: Iterable[str]) -> None:
    known = tuple(names)
    if name not in known:
        raise UnknownNameError(
            kind=kind,
            name=str(name),
            nearest=nearest_names(str(name), known),
            remedy=f"use one of {len(known)} known values",
        )


def _values(rows: Iterable[object], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(getattr(row, name) for row in rows if getattr(row, name)))


@functools.cache
def _measurements() -> tuple[Measurement, ...]:
    paths = sorted(data_path("measurements").glob("*.csv"))
    return tuple(row for path in paths for row in _read(path, Measurement, {}))


@functools.cache
def _published(study: str) -> tuple[PublishedNumber, ...]:
    path = data_path("studies", f"{study}.csv")
    return tuple(_read(path, PublishedNumber, {"study": study}))


def _read(path: Path, row_type: Callable[..., _Row], given: dict[str, str]) -> list[_Row]:
    columns = [each.name for each in fields(row_type) if each.name not in given]  # type: ignore[arg-type]
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != columns:
            raise ConfigError(
                path=f"data/{path.parent.name}/{path.name}",
                problem=f"its columns are not {', '.join(columns)}",
                remedy="install kvcost again, or mend the file",
            )
        return [row_type(**given, **_numbers(raw)) for raw in reader]


def _numbers(raw: dict[str, str]) -> dict[str, object]:
    row: dict[str, object] = dict(raw)
    for name in ("tokens", "value"):
        row[name] = float(raw[name]) if raw[name] else None
    return row
