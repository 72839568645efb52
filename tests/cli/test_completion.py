"""The command ``kvcost completion``: what is printed follows the parsers, and shells obey it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from kvcost.cli import COMMANDS, command_parser, main
from kvcost.cli.completing import words
from kvcost.cli.deployment import shipped_deployments
from kvcost.model import catalogue_names
from kvcost.scenario import shipped_scenarios

# what was typed, with the word at the cursor last; what must be offered; whether more may be
CASES = [
    ([""], set(COMMANDS), False),
    (["br"], {"breakeven"}, False),
    (["kv", "glm-5.3"], {"glm-5.3", "glm-5.3-flash"}, True),
    (["kv", "zai-org/GLM-5.3"], {"zai-org/GLM-5.3"}, True),
    (["kv", "--kv-d"], {"--kv-dtype"}, False),
    (["kv", "--kv-dtype", "f"], {"fp8", "fp16", "fp32"}, True),
    (["kv", "--tokens", "5", "--layout", "vllm", "qwen3-8"], {"qwen3-8b"}, True),
    (["kv", "--tokens", ""], set(), False),
    (["breakeven", "--loading", ""], {"async", "sync"}, False),
    (["breakeven", "--deployment", "glm"], set(shipped_deployments()), False),
    (["breakeven", "--accelerator", "b300"], {"b300"}, True),
    (["facts", ""], {"list", "show"}, False),
    (["facts", "show", "acc"], {"accelerator"}, False),
    (["facts", "show", "accelerator", "b300"], {"b300"}, True),
    (["facts", "list", "--j"], {"--json"}, False),
    (["route", "bullet"], {n for n in shipped_scenarios() if n.startswith("bullet")}, False),
    (["route", "--policy", "cache"], {"cache_aware"}, True),
    (["check", "--format", ""], {"text", "json", "github"}, False),
    (["check", "bud"], {"budgets.toml"}, False),
    (["queue", "--distribution", "logn"], {"lognormal"}, False),
    (["sheet", "--formula", "break_even_tok"], {"break_even_tokens"}, True),
    (["completion", ""], {"bash", "zsh", "fish"}, False),
]
IDS = [" ".join(typed) or "nothing" for typed, _, _ in CASES]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The script of each shell, in a folder with one file to complete."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "budgets.toml").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        for shell in ("bash", "zsh", "fish"):
            shown = []
            patch.setattr("builtins.print", lambda text, end, to=shown: to.append(text))
            assert main(["completion", shell]) == 0
            (folder / f"script.{shell}").write_text("".join(shown))
    return folder


def shell_output(shell, folder, program, *flags):
    if shutil.which(shell) is None:
        pytest.skip(reason=f"{shell} is not installed")
    environment = os.environ | {"HOME": str(folder), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [shell, *flags, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def said(text):
    """Return the words offered for each case, from output with a line ``== n`` before each."""
    parts = re.split(r"^== \d+\n", text, flags=re.MULTILINE)[1:]
    return [{line.split("\t")[0] for line in part.splitlines() if line} for part in parts]


def judge(offered):
    assert len(offered) == len(CASES)
    for (typed, wanted, more), found in zip(CASES, offered, strict=True):
        assert wanted <= found, typed
        assert more or found == wanted, typed


def quoted(texts):
    return " ".join(f"'{text}'" for text in texts)


def test_bash_offers_what_the_parsers_take(written):
    program = ["source script.bash", "complete -p kvcost"]
    for number, (typed, _, _) in enumerate(CASES):
        program += [
            f"COMP_WORDS=(kvcost {quoted(typed)}) COMP_CWORD={len(typed)} COMPREPLY=()",
            f"_kvcost; echo '== {number}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        ]
    out = shell_output("bash", written, "\n".join(program), "--norc", "--noprofile")
    assert out.startswith("complete -F _kvcost kvcost\n")
    judge(said(out))


def test_bash_splits_flags_at_their_equals_sign(written):
    program = """
source script.bash
COMP_WORDS=(kvcost kv --kv-dtype = fp8_) COMP_CWORD=4 COMPREPLY=()
_kvcost; printf '%s\\n' "${COMPREPLY[@]}"
COMP_WORDS=(kvcost breakeven --loading =) COMP_CWORD=3 COMPREPLY=()
_kvcost; printf '%s\\n' "${COMPREPLY[@]}"
"""
    out = shell_output("bash", written, program, "--norc", "--noprofile")
    assert out.split() == ["fp8_per_token_head", "async", "sync"]


def test_zsh_offers_what_the_parsers_take(written):
    # zsh completes at a terminal only: what it would be told is printed instead
    program = [
        "compdef() { : }",
        "_files() { print -l -- budgets.toml }",
        "compadd() { shift; print -l -- ${(M)@:#${cur}*} }",
        "source ./script.zsh",
    ]
    for number, (typed, _, _) in enumerate(CASES):
        program += [
            f"print '== {number}'; words=(kvcost {quoted(typed)}) CURRENT={len(typed) + 1}; _kvcost"
        ]
    out = shell_output("zsh", written, "\n".join(program), "-f")
    offered = said(out)
    for (_, wanted, _), found in zip(CASES, offered, strict=True):
        if "budgets.toml" not in wanted:
            found.discard("budgets.toml")
    judge(offered)


def test_fish_offers_what_the_parsers_take(written):
    program = ["source script.fish"]
    for number, (typed, _, _) in enumerate(CASES):
        program += [f"echo '== {number}'; complete -C 'kvcost {' '.join(typed)}'"]
    offered = said(shell_output("fish", written, "\n".join(program), "--no-config"))
    for (typed, wanted, _), found in zip(CASES, offered, strict=True):
        # where nothing begins with the word, fish offers what holds it
        assert wanted <= found, typed


def test_everything_the_parsers_take_is_there():
    root = words.gather(command_parser(COMMANDS))
    by_path = {command.path: command for command in root.walk()}
    assert {path[0] for path in by_path if path} == set(COMMANDS)
    assert {("facts", "list"), ("facts", "show")} <= by_path.keys()
    for path, command in by_path.items():
        flags = {flag for slot in command.flags for flag in slot.flags}
        assert {"-h", "--help"} <= flags, path
    place = by_path["kv",].places[0]
    assert set(catalogue_names()) <= set(place.values)
    assert place.files
    assert set(by_path["route",].places[0].values) == set(shipped_scenarios())


def test_another_shell_is_refused(run):
    code, out, err = run("completion", "tcsh")
    assert (code, out) == (2, "")
    assert "bash" in err
