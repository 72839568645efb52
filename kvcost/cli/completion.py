r"""A script that lets the Tab key complete commands, flags, choices and shipped names.

Try:
  kvcost completion bash

Keep what it prints, once for each installed version:
  kvcost completion bash > ~/.local/share/bash-completion/completions/kvcost
  kvcost completion zsh > "${fpath[1]}/_kvcost"
  kvcost completion fish > ~/.config/fish/completions/kvcost.fish
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["configure", "run"]

_SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("shell", choices=_SHELLS, help="the shell that will read the script")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from kvcost.cli import COMMANDS, command_parser  # noqa: PLC0415 - it imports every command
    from kvcost.cli.completing import scripts, words  # noqa: PLC0415

    print(scripts.WRITERS[args.shell](words.gather(command_parser(COMMANDS))), end="")
    return 0
