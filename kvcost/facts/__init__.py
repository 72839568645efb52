"""Facts with their sources: the catalogue, measured efficiencies, published measurements."""

from kvcost.facts.catalogue import Calibration, Entry, FactRow, get, kinds, names, rows
from kvcost.facts.paths import data_path
from kvcost.facts.provenance import Fact, HasProvenance, Provenance, weakest
from kvcost.facts.tables import Measurement, PublishedNumber, measurements, published, studies

__all__ = [
    "Calibration",
    "Entry",
    "Fact",
    "FactRow",
    "HasProvenance",
    "Measurement",
    "Provenance",
    "PublishedNumber",
    "data_path",
    "get",
    "kinds",
    "measurements",
    "names",
    "published",
    "rows",
    "studies",
    "weakest",
]
