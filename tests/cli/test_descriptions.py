"""The help of commands that have one command for each protocol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import peerproof.cli
from peerproof.cli.main import main

PROTOCOLS = ("scuttlebutt", "swim", "wendy", "peter", "distkv")


PAGES = "".join(page.read_text(encoding="utf-8") for page in sorted(Path(__file__).parents[2].glob("docs/*/*.md")))
MODULES = [file for folder in peerproof.cli.__path__ for file in Path(folder).rglob("*.py")]


def test_what_a_command_says_names_pages_by_their_titles_and_no_file_of_the_repository() -> None:
    """An installed package has no repository around it."""
    texts = [re.sub(r"#:? .*", "", module.read_text(encoding="utf-8")) for module in MODULES]

    assert [
        found for text in texts for found in re.findall(r"(?:docs|spec|conformance|tla)/[\w./-]+\.(?:md|yaml|json)", text)
    ] == []
    titles = {" ".join(title.split()) for text in texts for title in re.findall(r'[Pp]age "([^"]+)"', text)}
    assert titles
    assert [title for title in titles if f"# {title}\n" not in PAGES and f"[{title}]" not in PAGES] == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("command", ["start", "simulate"])
def test_help_about_a_protocol_names_no_other(command: str, protocol: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", command, protocol, "--help"]) == 0

    shown = capsys.readouterr().out.lower()
    assert f"  peerproof node {command} {protocol} --" in shown
    assert not [other for other in PROTOCOLS if other != protocol and other in shown]


def test_every_option_of_a_configuration_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "start", "swim", "--help"]) == 0

    options = capsys.readouterr().out.partition("configuration of swim:")[2].partition("exit codes")[0]
    assert "how many live nodes a ping names" in options
    assert "  at least" not in options  # a bound without what it bounds: the comment of the member was not found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_help_of_a_simulation_says_how_long_its_rounds_are(protocol: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In SWIM the word has another meaning."""
    assert main(["node", "simulate", protocol, "--help"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"a round is as long as --[a-z-]+\. ", shown)
    assert ("That is a quantum of SWIM, whose own rounds have several." in shown) == (protocol == "swim")


def test_the_help_of_swim_says_how_nodes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "start", "swim", "--help"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert "--peer UUID@HOST:PORT" in shown
    assert "Nodes know each other by uuid and address" in shown
    assert "--set colour=red" not in shown
