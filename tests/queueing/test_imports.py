"""Importing the queueing layer loads nothing heavy, and every public name exists."""

from __future__ import annotations

import subprocess
import sys

import kvcost.queueing

HEAVY = ("sympy", "pandas", "altair", "numba", "scipy.stats", "scipy.optimize", "scipy.linalg")


def test_public_names_exist():
    for name in kvcost.queueing.__all__:
        assert getattr(kvcost.queueing, name) is not None
    assert dir(kvcost.queueing) == kvcost.queueing.__all__


def test_import_is_light():
    code = (
        "import sys, kvcost.queueing as q; q.mmc, q.mgc, q.Lognormal; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"
