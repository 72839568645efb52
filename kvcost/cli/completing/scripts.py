"""The scripts of three shells.

bash and zsh share two tables, written as ``case``: which flags take a word, and what may stand at a
place. What remains is how each shell is told. fish has one line for each thing that may be said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kvcost.cli.completing.words import Command, Slot

__all__ = ["WRITERS", "bash", "fish", "zsh"]

_DRIVER = """\
    local at=kvcost place=0 expected= i word
    for ((i = FIRST; i < LAST; i++)); do
        word=${WORDS[i]}
        if [[ -n $expected ]]; then
            [[ $word == = ]] || expected=
        elif [[ $word == -* ]]; then
            _kvcost_takes "$at $word" && expected="$at $word"
        elif _kvcost_leads "$at $word"; then
            at="$at $word" place=0
        else
            place=$((place + 1))
        fi
    done
"""

_BASH = """\
_kvcost() {
    # a word such as --flag=value comes in three parts
    local cur=${COMP_WORDS[COMP_CWORD]} IFS=$'\\n'
    [[ $cur == = ]] && cur=
DRIVER
    if [[ -z $expected && $cur == -* ]]; then
        expected="$at -"
    elif [[ -z $expected ]]; then
        expected="$at @$place"
    fi
    COMPREPLY=($(compgen -W "$(_kvcost_words "$expected")" -- "$cur"))
    if _kvcost_files "$expected"; then
        compopt -o filenames 2>/dev/null
        COMPREPLY+=($(compgen -f -- "$cur"))
    fi
}
complete -F _kvcost kvcost
"""

_ZSH = """\
_kvcost() {
    local cur=${words[CURRENT]}
DRIVER
    # --flag=value is one word here
    if [[ -z $expected && $cur == --*=* ]] && _kvcost_takes "$at ${cur%%=*}"; then
        expected="$at ${cur%%=*}"
        compset -P '*='
    elif [[ -z $expected && $cur == -* ]]; then
        expected="$at -"
    elif [[ -z $expected ]]; then
        expected="$at @$place"
    fi
    compadd -- ${(f)"$(_kvcost_words "$expected")"}
    _kvcost_files "$expected" && _files
    return 0
}
if [[ ${funcstack[1]} == _kvcost ]]; then
    _kvcost "$@"
else
    compdef _kvcost kvcost
fi
"""


def _arms(arms: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    """Return the arms of a ``case`` that print words, one a line."""
    lines = []
    for key, words in arms:
        if words:
            text = "\n".join(words)
            lines.append(f"        '{key}') printf '%s\\n' '{text}' ;;")
    return "\n".join(lines)


def _keys(keys: Iterable[str]) -> str:
    """Return a ``case`` that succeeds for some keys."""
    listed = "|\\\n        ".join(f"'{key}'" for key in keys)
    return f'    case "$1" in\n        {listed}) return 0 ;;\n    esac\n    return 1'


def _title(command: Command) -> str:
    return " ".join(("kvcost", *command.path))


def _slots(root: Command) -> Iterable[tuple[str, Slot]]:
    """Yield each thing that takes a word, under the key that the tables use for it."""
    for command in root.walk():
        for slot in command.flags:
            if slot.takes_value:
                yield from ((f"{_title(command)} {flag}", slot) for flag in slot.flags)
        for place, slot in enumerate(command.places):
            yield f"{_title(command)} @{place}", slot


def _tables(root: Command) -> str:
    found = dict(_slots(root))
    words = [(key, slot.values) for key, slot in found.items()]
    for command in root.walk():
        flags = tuple(flag for slot in command.flags for flag in slot.flags)
        words.append((f"{_title(command)} -", flags))
        if command.actions:
            names = tuple(action.path[-1] for action in command.actions)
            words.append((f"{_title(command)} @0", names))
    takes = [key for key in found if " @" not in key]
    leads = [_title(command) for command in root.walk() if command.path]
    files = [key for key, slot in found.items() if slot.files]
    functions = {
        "_kvcost_words": f'    case "$1" in\n{_arms(words)}\n    esac',
        "_kvcost_takes": _keys(takes),
        "_kvcost_leads": _keys(leads),
        "_kvcost_files": _keys(files),
    }
    return "\n".join(f"{name}() {{\n{body}\n}}" for name, body in functions.items()) + "\n"


def _driver(first: int, last: str, words: str) -> str:
    text = _DRIVER.replace("FIRST", str(first)).replace("LAST", last).replace("WORDS", words)
    return text.rstrip("\n")


def bash(root: Command) -> str:
    """Return the script for bash."""
    driver = _driver(1, "COMP_CWORD", "COMP_WORDS")
    return _tables(root) + _BASH.replace("DRIVER", driver)


def zsh(root: Command) -> str:
    """Return the script for zsh, to be autoloaded or sourced."""
    driver = _driver(2, "CURRENT", "words")
    return "#compdef kvcost\n" + _tables(root) + _ZSH.replace("DRIVER", driver)


_FISH = """\
function __kvcost_at
    # whether the words so far lead to this command, and to none below it
    set -l path
    for word in (commandline -opc)[2..-1]
        contains -- (string join -- ' ' $path $word) $__kvcost_paths; and set -a path $word
    end
    test "$path" = "$argv"
end
"""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def fish(root: Command) -> str:
    """Return the script for fish."""
    paths = " ".join(_quoted(" ".join(command.path)) for command in root.walk() if command.path)
    lines = [f"set -g __kvcost_paths {paths}", _FISH + "complete -c kvcost -f"]
    for command in root.walk():
        here = f"complete -c kvcost -n {_quoted(' '.join(('__kvcost_at', *command.path)))}"
        lines += [
            f"{here} -a {_quoted(action.path[-1])} -d {_quoted(action.help)}"
            for action in command.actions
        ]
        for slot in command.flags:
            names = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in slot.flags
            )
            value = " -r" if slot.files else " -x" if slot.takes_value else ""
            values = f" -a {_quoted(' '.join(slot.values))}" if slot.values else ""
            more = " -F" if slot.files else ""
            lines.append(f"{here} {names}{value}{more}{values} -d {_quoted(slot.help)}")
        for slot in command.places:
            if slot.values:
                lines.append(f"{here} -a {_quoted(' '.join(slot.values))}")
            if slot.files:
                lines.append(f"{here} -F")
    return "\n".join(lines) + "\n"


WRITERS: dict[str, Callable[[Command], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""How the script of each shell is written."""
