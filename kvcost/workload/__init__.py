"""Workloads: requests as arrays, generators of bursts, traces, and audits of what they share."""

from __future__ import annotations

from kvcost.workload.audits import (
    BurstAudit,
    SharingAudit,
    burst_audit,
    growing_sessions,
    sharing_audit,
)
from kvcost.workload.background import background, zipf_shares
from kvcost.workload.bursts import even_burst, poisson_burst, uniform_burst
from kvcost.workload.gaps import GammaGaps, OnOff, PoissonGaps
from kvcost.workload.lengths import Fixed, Geometric, Lognormal
from kvcost.workload.merging import merge
from kvcost.workload.prompts import from_arrivals
from kvcost.workload.requests import Requests
from kvcost.workload.summary import RequestSummary
from kvcost.workload.traces import FORMATS, Trace, open_trace, read_trace
from kvcost.workload.windows import decoys, window

__all__ = [
    "FORMATS",
    "BurstAudit",
    "Fixed",
    "GammaGaps",
    "Geometric",
    "Lognormal",
    "OnOff",
    "PoissonGaps",
    "RequestSummary",
    "Requests",
    "SharingAudit",
    "Trace",
    "background",
    "burst_audit",
    "decoys",
    "even_burst",
    "from_arrivals",
    "growing_sessions",
    "merge",
    "open_trace",
    "poisson_burst",
    "read_trace",
    "sharing_audit",
    "uniform_burst",
    "window",
    "zipf_shares",
]
