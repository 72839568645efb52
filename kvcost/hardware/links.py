"""Links at line rate, and beside them what was achieved."""

from __future__ import annotations

from dataclasses import dataclass

from kvcost import facts
from kvcost.errors import MissingFactError
from kvcost.facts import Provenance, weakest
from kvcost.hardware.checks import MAX_BANDWIDTH, text, whole
from kvcost.units import parse_rate, parse_ratio

__all__ = ["Efficiency", "Link", "efficiency", "link"]


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link at its line rate, one way.

    Parameters
    ----------
    name : str
        Catalogue name, or a name of your own.
    bandwidth : float
        Bytes a second.
    provenance : Provenance
        How the rate is known.

    Raises
    ------
    InvalidValueError
        If the bandwidth is not positive and finite, or absurd; text with a unit is read.

    Examples
    --------
    >>> link("400g").times(8).bandwidth
    400000000000.0
    """

    name: str
    bandwidth: float
    provenance: Provenance

    def __post_init__(self) -> None:
        text(self.name, field="name")
        bandwidth = parse_rate(self.bandwidth, field="bandwidth", maximum=MAX_BANDWIDTH)
        object.__setattr__(self, "bandwidth", bandwidth)
        object.__setattr__(self, "provenance", Provenance(self.provenance))

    def times(self, count: int) -> Link:
        """Return `count` such links used together, at the sum of their line rates.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        Link
            The node's aggregate; what it achieves may be less, see `efficiency`.
        """
        count = whole(count, field="count")
        return Link(
            name=f"{count} x {self.name}",
            bandwidth=count * self.bandwidth,
            provenance=self.provenance,
        )


@dataclass(frozen=True, kw_only=True)
class Efficiency:
    """The share of a stated peak that is achieved: a calibration, never a data-sheet value.

    Parameters
    ----------
    name : str
        Name of the calibration.
    ratio : float
        Achieved over stated, at most 1.
    of : str
        The peak it refers to.
    provenance : Provenance
        Measured, or assumed by a study.
    note : str
        Under which conditions.

    Raises
    ------
    InvalidValueError
        If the ratio is not above 0 and at most 1.
    """

    name: str
    ratio: float
    of: str
    provenance: Provenance
    note: str = ""

    def __post_init__(self) -> None:
        text(self.name, field="name")
        object.__setattr__(self, "ratio", parse_ratio(self.ratio, field="ratio"))
        object.__setattr__(self, "provenance", Provenance(self.provenance))


def link(name: str) -> Link:
    """Return a link of the catalogue, at line rate.

    Raises
    ------
    UnknownNameError
        If it is not in the catalogue; the nearest three are listed.

    Examples
    --------
    >>> link("pcie5-x16").bandwidth == 32e9 * 16 / 8 * 128 / 130
    True
    """
    entry = facts.get("link", name)
    rate = entry.fact("bandwidth")
    return Link(name=entry.name, bandwidth=rate.value, provenance=rate.provenance)


def efficiency(name: str) -> Efficiency:
    """Return a calibration: a stated ratio, or a measured rate over its line rate.

    Parameters
    ----------
    name : str
        A name of kind ``efficiency`` or ``link efficiency``.

    Returns
    -------
    Efficiency
        With the weakest provenance of the two rates.

    Raises
    ------
    UnknownNameError
        If there is no such calibration.
    MissingFactError
        If no line rate stands beside the measured one.

    Examples
    --------
    >>> round(efficiency("pcie5-h2d-pinned").ratio, 3)
    0.863
    >>> efficiency("bite-the-bullet-mfu").provenance.value
    'assumed'
    """
    if name not in facts.names("link efficiency"):
        entry = facts.get("efficiency", name)
        stated = entry.fact("ratio")
        return Efficiency(
            name=entry.name,
            ratio=stated.value,
            of=str(entry.attributes["of"]),
            provenance=stated.provenance,
            note=stated.note,
        )
    entry = facts.get("link efficiency", name)
    achieved = entry.fact("bandwidth")
    if "of" not in entry.attributes:
        raise MissingFactError(
            fact="the line rate",
            subject=f"calibration {entry.name}",
            remedy="use its measured bandwidth as it stands",
        )
    line = link(str(entry.attributes["of"]))
    return Efficiency(
        name=entry.name,
        ratio=achieved.value / line.bandwidth,
        of=line.name,
        provenance=weakest(achieved, line),
        note=achieved.note or entry.title,
    )
