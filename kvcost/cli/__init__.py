"""The ``kvcost`` command: it parses, calls and prints."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from kvcost import __version__
from kvcost.cli.parser import Parser
from kvcost.errors import KvcostError

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

__all__ = ["COMMANDS", "command_parser", "main"]

COMMANDS = {
    "kv": "bytes that a token and a request of a model weigh",
    "breakeven": "fetch the KV of a prompt, or recompute it",
    "tiers": "recompute against each tier, for a list of lengths",
    "queue": "how long requests wait for a server, steady or in a burst",
    "check": "judge the budgets of a file",
    "sheet": "a spreadsheet of live formulas, or the text of one cell",
    "route": "what requests wait under each routing policy",
    "simulate": "a seeded run of a cluster behind a router",
    "report": "one page about a scenario, for those who decide",
    "facts": "the numbers kvcost knows, with their sources",
    "doctor": "what is installed, and what each missing part would bring",
    "completion": "a script that lets the Tab key complete commands",
}
"""The commands, and what each is about."""

_OK, _MISSED, _BAD_INPUT, _BUG, _INTERRUPTED = 0, 1, 2, 3, 130

_DESCRIPTION = """\
What a KV cache costs in LLM serving.

Try:
  kvcost breakeven --deployment glm-5.3-8xb300

exit codes: 0 answered, 1 answered and a budget was missed, 2 bad input
"""


_FLAGS = {
    "uneven_heads='pad'": "--pad-heads",
    "state active_parameters": "add --active-parameters 40e9",
    "group_size and group_scale_bytes": "--group-size and --group-scale",
    "group_size": "--group-size",
    "group_scale_bytes": "--group-scale",
    "source_tokens": "--source-tokens",
    "store_bandwidth": "--bandwidth",
    "shard_efficiency": "--shard-efficiency",
    "chunk_tokens": "--chunk",
    "per_key_seconds": "--per-key",
    "copies": "--copies",
    "index_on_every_layer": "--index-on-every-layer",
    "overhead_seconds": "--overhead",
}
"""What the library's arguments are called here, longer ones before their parts."""

_OUR_WORDS = frozenset({"field", "fact", "bound", "remedy", "what", "limit"})


def _in_flags(error: KvcostError) -> str:
    """Return the message with the library's names as flags, but what the user gave as it is."""
    fields = {
        name: _translated(value) if name in _OUR_WORDS and isinstance(value, str) else value
        for name, value in vars(error).items()
        if not name.startswith("_")
    }
    return str(type(error)(**fields))


def _translated(text: str) -> str:
    for name, flag in _FLAGS.items():
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", flag, text)
    return text


def command_parser(wanted: Container[str]) -> Parser:
    """Return the parser of ``kvcost``, with the flags of some commands.

    Parameters
    ----------
    wanted : container of str
        Commands to configure; the others are only named, so that theirs need not be imported.

    Returns
    -------
    Parser
        Its subparsers are in the order in which ``--help`` lists them.
    """
    parser = Parser(prog="kvcost", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"kvcost {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, summary in COMMANDS.items():
        # only what is wanted is imported, to start fast
        if name in wanted:
            module = import_module(f"kvcost.cli.{name}")
            command = commands.add_parser(name, help=summary, description=module.__doc__)
            module.configure(command)
            command.set_defaults(run=module.run, refuse=command.refuse_flags)
        else:
            commands.add_parser(name, help=summary)
    return parser


def _run(arguments: Sequence[str]) -> int:
    wanted = next((word for word in arguments if word in COMMANDS), None)
    parser = command_parser(() if wanted is None else (wanted,))
    args, unknown = parser.parse_known_args(arguments)
    if args.command is None:
        if unknown:
            parser.refuse_flags(unknown)
        parser.print_help()
        return _OK
    if unknown:
        args.refuse(unknown)
    code: int = args.run(args)
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``kvcost``; those of the process by default.

    Returns
    -------
    int
        0 answered, 1 answered and a budget was missed, 2 bad input, 3 a bug in kvcost.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except KvcostError as error:
        print(f"kvcost: {_in_flags(error)}", file=sys.stderr)
        return _BAD_INPUT
    except BrokenPipeError:
        # the reader has gone; keep the interpreter from complaining about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _OK
    except OSError as error:
        print(f"kvcost: the output cannot be written: {error.strerror}", file=sys.stderr)
        # the interpreter would try once more at exit, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BAD_INPUT
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:
        if os.environ.get("KVCOST_TRACEBACK"):
            raise
        print(
            f"kvcost: a bug in kvcost ({type(error).__name__}: {error}): "
            "set KVCOST_TRACEBACK=1 and report what it shows",
            file=sys.stderr,
        )
        return _BUG
