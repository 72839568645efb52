"""Budgets in a folder of their own, read or checked as a user would."""

from __future__ import annotations

import pytest

from kvcost.checks import read_budgets
from kvcost.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def read(folder):
    """Return the budgets of a text."""

    def call(text, name="budgets.toml"):
        (folder / name).write_text(text, encoding="utf-8")
        return read_budgets(name)

    return call


@pytest.fixture
def one(read):
    """Return the outcome of one good budget, given its keys."""

    def call(kind, **keys):
        found = read(table(kind, **keys))
        assert not found.errors, found.errors
        return found.budgets[0].judge()

    return call


@pytest.fixture
def refused(read):
    """Return what is said of one bad budget, given its keys."""

    def call(kind, **keys):
        found = read(table(kind, **keys))
        assert not found.budgets
        return str(found.errors[0])

    return call


@pytest.fixture
def check(folder, capsys, monkeypatch):
    """Return exit code, output and error text of ``kvcost check budgets.toml``."""

    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")

    def call(text, *flags, name="budgets.toml"):
        (folder / name).write_text(text, encoding="utf-8")
        code = main(["check", name, *flags])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def table(kind, name="a budget", **keys):
    """Return a budget as TOML."""
    lines = [f'[[budget]]\nname = "{name}"\nkind = "{kind}"']
    lines += [f"{key} = {_toml(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return repr(value)
