"""The README's ``kvcost.toml`` and what pytest says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent
BUDGETS = re.compile(r"```toml\n(?P<body># kvcost\.toml\n.*?)```", re.DOTALL)
SHOWN = re.compile(r"```text\n\$ pytest\n(?P<body>.*?)```", re.DOTALL)


def _text():
    texts = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("README*.md"))]
    return next(text for text in texts if BUDGETS.search(text))


def test_the_blocks_of_the_readme_are_real(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    text = _text()
    (pytester.path / "kvcost.toml").write_text(BUDGETS.search(text)["body"], encoding="utf-8")
    pytester.path.joinpath("bench.json").write_text('{"results": {"ttft": {"p99": 0.88}}}')
    found = pytester.runpytest_subprocess("-p", "kvcost", "-p", "no:cacheprovider")
    assert found.ret == pytest.ExitCode.TESTS_FAILED
    for line in SHOWN.search(text)["body"].splitlines():
        assert line in found.outlines
