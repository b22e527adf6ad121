"""What an adapter says of itself steers no terminal."""

from __future__ import annotations

import json
import sys

import pytest
from tests.conformance.conftest import Capture
from tests.support.reports import MISSED, report

from peerproof.cli.main import main
from peerproof.conformance.report.renderings import FORMATS
from peerproof.conformance.suite.output import write_whole
from peerproof.conformance.suite.printable import Printable, escape_controls, print_printable, steerable

RED = "mine\x1b[31m\r\x9b2J\u202e\x7f\udcff"


def test_controls_are_escapes_and_everything_else_stays() -> None:
    assert escape_controls(RED) == r"mine\u001b[31m\u000d\u009b2J\u202e\u007f\udcff"
    assert escape_controls("tab\tand\nline, é and 𝒳") == "tab\tand\nline, é and 𝒳"


def test_a_report_as_json_still_says_the_same() -> None:
    assert json.loads(escape_controls(json.dumps({"name": "\x7f\x9b\udcff"}, ensure_ascii=False))) == {"name": "\x7f\x9b\udcff"}


@pytest.mark.parametrize("form", ["text", "md", "github", "json"])
def test_no_report_on_standard_output_has_them(form: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_whole(None, FORMATS[form](report(MISSED, implementation={"name": RED, "version": RED}), {}))

    assert not set(capfdbinary.readouterr().out.decode()) & set(RED) - set("mine[312J")


def test_what_a_command_prints_has_none_and_a_line_of_ours_may(capsys: Capture) -> None:
    before = sys.stdout
    with print_printable():
        print(RED)
        sys.stdout.writelines([RED])
        print("\r", end="", file=steerable(sys.stdout))
        assert isinstance(sys.stdout, Printable)

    assert sys.stdout is before
    assert capsys.readouterr().out == f"{escape_controls(RED)}\n{escape_controls(RED)}\r"


def test_an_error_message_has_none(capsys: Capture) -> None:
    assert main(["run", "--vectors", "no\x1b[31m"]) == 2
    assert "\x1b" not in capsys.readouterr().err
