"""Readers of public request traces, one small file a format."""

from __future__ import annotations

from kvcost.workload.traces.reading import FORMATS, Trace, open_trace, read_trace

__all__ = ["FORMATS", "Trace", "open_trace", "read_trace"]
