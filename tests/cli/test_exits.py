"""The exit codes that the help of a command lists."""

from __future__ import annotations

import inspect
import re

import pytest

from peerproof.cli import exits
from peerproof.cli.commands import command_names, find_command

#: What a command's module has -> the exit code that it may end with.
SIGNS = {
    r"\bFAILED\b": exits.FAILED,
    r"\bUNUSABLE\b|@stage\b|\brefuse_unavailable\b": exits.UNUSABLE,
    r"\bNOTHING\b|\boptions\.select\(": exits.NOTHING,
}


@pytest.mark.parametrize("name", [name for name in command_names() if not name.startswith("report ")])
def test_help_lists_every_exit_code_that_a_command_may_end_with(name: str) -> None:
    command, parser = find_command(name)
    own = (each for each in vars(command).values() if inspect.isfunction(each) and each.__module__ == command.__name__)
    body = "\n".join(map(inspect.getsource, own))

    listed = {int(code) for code in re.findall(r"^ +(\d+) ", (parser.epilog or "").partition("exit codes:")[2], re.MULTILINE)}

    assert listed >= {code for sign, code in SIGNS.items() if re.search(sign, body)}
