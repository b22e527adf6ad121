"""`peerproof --print-completion SHELL`: a script that completes commands and options in a shell."""

from __future__ import annotations

from peerproof.cli.commands import GROUPS, command_names, find_command
from peerproof.cli.exits import OK, Refusal
from peerproof.cli.parser import Parser


def print_completion(shell: str) -> int:
    """Prints the completion script of a shell: bash, zsh or tcsh. Raises Refusal."""
    import shtab

    if shell not in shtab.SUPPORTED_SHELLS:
        raise Refusal(f"no completion for {shell!r}", tip=f"there is one for {', '.join(shtab.SUPPORTED_SHELLS)}")
    print(shtab.complete(_whole_parser(), shell))
    return OK


def _whole_parser() -> Parser:
    """Returns one parser with all commands, which only the completion needs."""
    whole = Parser(prog="peerproof")
    commands = whole.add_subparsers()
    groups = {name: commands.add_parser(name, help=about).add_subparsers() for name, (about, _) in GROUPS.items()}
    for name in command_names():
        group, _, word = name.rpartition(" ")
        _, parser = find_command(name)
        made = (groups[group] if group else commands).add_parser(
            word, parents=[parser], add_help=False, conflict_handler="resolve"
        )
        made.prog = f"peerproof {name}"
    return whole
