"""What importing kvcost loads, and what it offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kvcost

HEAVY = ("sympy", "pandas", "altair", "scipy.stats")


def _loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import kvcost",
        "import kvcost.formula, kvcost.model, kvcost.compute, kvcost.transfer, kvcost.breakeven",
        "from kvcost.cli import main; main(['kv', 'glm-5.3', '--csv'])",
        "from kvcost.cli import main; main('breakeven --deployment glm-5.3-8xb300'.split())",
    ],
)
def test_nothing_heavy_is_loaded(code):
    loaded = _loaded_by(code)
    assert not [name for name in HEAVY if name in loaded]


def test_every_public_name_exists():
    space: dict[str, object] = {}
    exec("from kvcost import *", space)
    assert set(kvcost.__all__) <= set(space)
    assert dir(kvcost) == sorted(kvcost.__all__)
    with pytest.raises(AttributeError, match="no attribute 'brakeeven'"):
        kvcost.brakeeven  # noqa: B018
