"""README.md shows real output: every console and Python block is run and compared.

``KVCOST_FIX_README=1 pytest tests/test_readme.py`` writes what the commands print now.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
from pathlib import Path

import pytest

from kvcost.cli import main

README = Path(__file__).parent.parent / "README.md"
CONSOLE = re.compile(r"```console\n(?P<body>.*?)```", re.DOTALL)
PYTHON = re.compile(r"```pycon\n(?P<body>.*?)```", re.DOTALL)
EXIT_CODE = "# exit code "


def _output(command: str) -> str:
    words = shlex.split(command)
    assert words[0] == "kvcost", command
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(words[1:])
    return out.getvalue() + (f"{EXIT_CODE}{code}\n" if code else "")


def _rerun(body: str) -> str:
    text = body.replace("\\\n", "")
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    shown = re.findall(r"^\$ (?:.*\\\n)*.*\n", body, re.MULTILINE)
    return "".join(
        prompt + _output(command) for prompt, command in zip(shown, commands, strict=True)
    )


def _blocks():
    text = README.read_text(encoding="utf-8")
    return [match["body"] for match in CONSOLE.finditer(text) if "$ kvcost" in match["body"]]


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """A folder for the files that commands write, in which the examples' own paths hold."""
    (tmp_path / "data").symlink_to(README.parent / "data")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("empty_folder")
@pytest.mark.parametrize("body", _blocks(), ids=lambda body: body.split("\n")[0][2:50])
def test_console_blocks_show_real_output(body):
    fresh = _rerun(body)
    if os.environ.get("KVCOST_FIX_README"):
        README.write_text(README.read_text(encoding="utf-8").replace(body, fresh), encoding="utf-8")
        return
    assert body == fresh, "run KVCOST_FIX_README=1 pytest tests/test_readme.py"


def test_python_blocks_are_doctests():
    found = list(PYTHON.finditer(README.read_text(encoding="utf-8")))
    assert found
    parser, runner = (
        doctest.DocTestParser(),
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS),
    )
    space: dict[str, object] = {}
    for match in found:
        example = parser.get_doctest(match["body"], space, "README.md", None, 0)
        runner.run(example, clear_globs=False)
        space = example.globs
    assert runner.summarize().failed == 0
