"""The help of commands that have one command for each protocol."""

from __future__ import annotations

import pytest

from peerproof.cli.main import main

PROTOCOLS = ("scuttlebutt", "swim", "wendy", "peter", "distkv")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("command", ["start", "simulate"])
def test_help_about_a_protocol_names_no_other(command: str, protocol: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", command, protocol, "--help"]) == 0

    shown = capsys.readouterr().out.replace("spec/scuttlebutt.md", "").lower()
    assert f"  peerproof node {command} {protocol} --" in shown
    assert not [other for other in PROTOCOLS if other != protocol and other in shown]


def test_every_option_of_a_configuration_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "start", "swim", "--help"]) == 0

    options = capsys.readouterr().out.partition("configuration of swim:")[2].partition("exit codes")[0]
    assert "how many live nodes a ping names" in options
    assert "  at least" not in options  # a bound without what it bounds: the comment of the member was not found
