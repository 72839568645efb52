"""Benchmarks are read only where pytest-benchmark is installed, as ``make bench`` does."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("pytest_benchmark") else ["bench_*.py"]
