"""Every command teaches: its help holds examples under "Try:", and each of them runs."""

from __future__ import annotations

import re
import shlex
import shutil

import pytest

from kvcost.cli import COMMANDS, main
from kvcost.facts import data_path

PAGES = [(), *((name,) for name in COMMANDS), ("facts", "list"), ("facts", "show")]
TRY = re.compile(r"^Try:\n((?:  .*\n)+)", re.MULTILINE)


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    """Help is laid out for the terminal, and newer Pythons colour it."""
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("NO_COLOR", "1")


def page(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*words, "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def examples(text):
    """Return the commands of the block, those over several lines made one."""
    block = TRY.search(text)
    assert block, text
    lines = re.sub(r"\\\n\s*", "", block[1]).splitlines()
    return [shlex.split(line) for line in lines]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder with the files that the examples take for granted."""
    monkeypatch.chdir(tmp_path)
    for source, target in (
        (data_path("models", "Qwen__Qwen3-8B.json"), "path/to/config.json"),
        (data_path("examples", "glm-5.3-8xb300.toml"), "my.toml"),
        (data_path("examples", "budgets.toml"), "kvcost.toml"),
        (data_path("examples", "budgets.toml"), "data/examples/budgets.toml"),
    ):
        (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, tmp_path / target)
    return tmp_path


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_examples_of_the_help_run(words, reader, capsys):
    found = examples(page(words, capsys))
    assert len(found) >= 1
    for command, *rest in found:
        assert command == "kvcost"
        assert tuple(rest[: len(words)]) == words
        assert main(rest) in {0, 1}, rest
        shown = capsys.readouterr()
        assert shown.err == "", rest
        assert shown.out, rest


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_says_what_each_flag_is_for(words, capsys):
    text = page(words, capsys)
    assert max(map(len, text.splitlines())) <= 100
    unexplained = re.findall(r"^  (--?[\w-]+(?:[ ,]\S+)*)$(?!\n {10})", text, re.MULTILINE)
    assert unexplained == []


def test_every_command_is_listed(capsys):
    text = " ".join(page((), capsys).split())
    for name, summary in COMMANDS.items():
        assert f" {name} {summary}" in text
