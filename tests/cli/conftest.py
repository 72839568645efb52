"""Calling the command line in the test's own process."""

from __future__ import annotations

import json

import pytest

from kvcost.cli import main


@pytest.fixture
def run(capsys):
    """Return exit code, output and error text of a command."""

    def call(*words):
        code = main(list(words))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def answer(run):
    """Return the JSON of a command that must succeed without a word on stderr."""

    def call(*words):
        code, out, err = run(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call
