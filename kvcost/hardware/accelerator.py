"""One accelerator: what its maker states."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from kvcost import facts
from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.facts import Provenance, weakest
from kvcost.hardware.checks import MAX_BANDWIDTH, MAX_BYTES, MAX_FLOPS, text
from kvcost.units import parse_bytes, parse_flops, parse_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMPUTE_DTYPES", "Accelerator", "accelerator"]

COMPUTE_DTYPES: Mapping[str, str] = MappingProxyType(
    {
        "bf16": "bf16",
        "fp16": "bf16",
        "fp8": "fp8",
        "fp4": "fp4",
        "nvfp4": "fp4",
        "mxfp4": "fp4",
        "int8": "int8",
    }
)
"""Which stated peak a compute dtype runs at; fp16 and bf16 share one on every part listed."""


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """An accelerator, as its maker states it: dense peaks and memory.

    Parameters
    ----------
    name : str
        Catalogue name, or a name of your own.
    peak_flops : mapping of str to float
        Dense peak in FLOP/s by compute dtype (``bf16``, ``fp8``, ``fp4``, ``int8``), without
        structured sparsity.
    hbm_bytes : float
        Memory in bytes.
    hbm_bandwidth : float
        Memory bandwidth in bytes a second.
    interconnect_bandwidth : float or None
        Bandwidth to its peers in the node, one way, in bytes a second; None if not stated.
    label : str
        Short name for messages; the name in capitals if not given.
    provenance : Provenance
        Weakest of the numbers above.
    notes : tuple of str
        Where sources disagree.

    Raises
    ------
    InvalidValueError
        If a number is not positive and finite, or absurd; texts with units are read.

    Examples
    --------
    >>> accelerator("h100").peak("bf16")
    989000000000000.0
    """

    name: str
    peak_flops: Mapping[str, float]
    hbm_bytes: float
    hbm_bandwidth: float
    provenance: Provenance
    interconnect_bandwidth: float | None = None
    label: str = ""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        text(self.name, field="name")
        peaks = {
            self._dtype(dtype): parse_flops(peak, field=f"peak_flops {dtype}", maximum=MAX_FLOPS)
            for dtype, peak in self.peak_flops.items()
        }
        settled: dict[str, object] = {
            "peak_flops": MappingProxyType(peaks),
            "hbm_bytes": parse_bytes(self.hbm_bytes, field="hbm_bytes", maximum=MAX_BYTES),
            "hbm_bandwidth": parse_rate(
                self.hbm_bandwidth, field="hbm_bandwidth", maximum=MAX_BANDWIDTH
            ),
            "provenance": Provenance(self.provenance),
            "label": self.label or self.name.upper(),
        }
        if self.interconnect_bandwidth is not None:
            settled["interconnect_bandwidth"] = parse_rate(
                self.interconnect_bandwidth, field="interconnect_bandwidth", maximum=MAX_BANDWIDTH
            )
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def peak(self, dtype: str) -> float:
        """Return the dense peak in FLOP/s at which `dtype` runs.

        Parameters
        ----------
        dtype : str
            One of `COMPUTE_DTYPES`.

        Returns
        -------
        float
            FLOP/s.

        Raises
        ------
        InvalidValueError
            If the dtype is none that accelerators compute in.
        MissingFactError
            If the maker states no peak for it; the rate of another dtype is never taken instead.
        """
        wanted = self._dtype(dtype)
        if wanted not in self.peak_flops:
            raise MissingFactError(
                fact=f"the {wanted} peak",
                subject=f"accelerator {self.name}",
                remedy=f"choose one of {', '.join(self.peak_flops)}, or state the peak yourself",
            )
        return self.peak_flops[wanted]

    @staticmethod
    def _dtype(dtype: str) -> str:
        if dtype not in COMPUTE_DTYPES:
            raise InvalidValueError(
                field="compute dtype",
                value=dtype,
                bound=f"must be one of {', '.join(COMPUTE_DTYPES)}",
                remedy="name the dtype that the matrix units compute in",
            )
        return COMPUTE_DTYPES[dtype]


def accelerator(name: str) -> Accelerator:
    """Return an accelerator of the catalogue.

    Parameters
    ----------
    name : str
        A name or an alias; see ``facts.names("accelerator")``.

    Returns
    -------
    Accelerator
        With its numbers as the maker states them.

    Raises
    ------
    UnknownNameError
        If it is not in the catalogue; the nearest three are listed.

    Examples
    --------
    >>> accelerator("b300").hbm_bytes
    288000000000.0
    """
    entry = facts.get("accelerator", name)
    stated = entry.facts
    peaks = {
        label.removeprefix("peak_flops_"): fact.value
        for label, fact in stated.items()
        if label.startswith("peak_flops_")
    }
    used = ("hbm_bytes", "hbm_bandwidth", *(f"peak_flops_{dtype}" for dtype in peaks))
    between = stated.get("interconnect_bandwidth")
    return Accelerator(
        name=entry.name,
        label=name.strip().upper(),
        peak_flops=peaks,
        hbm_bytes=entry.value("hbm_bytes"),
        hbm_bandwidth=entry.value("hbm_bandwidth"),
        interconnect_bandwidth=None if between is None else between.value,
        provenance=weakest(*(entry.fact(label) for label in used)),
        notes=entry.notes,
    )
