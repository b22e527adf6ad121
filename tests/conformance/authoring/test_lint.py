"""What lint finds, each by spoiling vectors that are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from peerproof.cli.main import main
from peerproof.conformance.authoring import lint
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.suite import locations

if TYPE_CHECKING:
    from tests.conformance.conftest import Capture, Written


def found_in(root: Path) -> list[str]:
    readable, errors = lint.read(root)
    assert errors == []
    return [str(finding).removeprefix(locations.path_text(root) + "/") for finding in lint.findings(readable)]


def assert_found(written: Written, layer: str, text: str, old: str, new: str, finding: str | None) -> None:
    """The text with something else in one place has the finding, or cannot be read."""
    assert old in text
    root = written(**{layer: text.replace(old, new, 1)})

    if finding is None:
        assert lint.read(root)[1]
    else:
        assert any(line.startswith(f"scuttlebutt/{layer}/some.yaml:{finding}") for line in found_in(root)), found_in(root)


OBSERVED = '{multiset: ["a:1", "b:1"]}'


def test_right_vectors_give_no_finding(written: Written) -> None:
    assert found_in(written()) == []


@pytest.mark.parametrize(
    ("old", "new", "finding"),  # None: the file cannot be read
    [
        ("[B-40, B-43]", "[B-40, B-49]", "11:19: clause: scuttlebutt has no clause B-49"),
        ("[B-40, B-43]", "[B-40, BX-01]", "11:19: clause: BX-01 is neither clause nor decision"),
        ("[B-40, B-43]", "[B-40, BA-28]", "10:10: level: must, but the clauses B-40, BA-28 say should"),
        ("[B-40, B-43]", "[B-25]", "10:10: level: must, but the clauses B-25 say may"),
        ("flags: [edge]", "flags: [egde]", "12:11: flag: 'egde' is not defined in this file's notes (did you mean 'edge'?)"),
        ("  flags: [edge]\n", "", "5:3: flag: 'edge' is defined but not used in this file"),
        ("  flags: [edge]\n", "  flags: [edge]\n  needs: [codec]\n", "13:11: needs: 'codec' follows from what the vector does"),
        ("[B-40, B-43]", "[B-43, B-40]", "11:12: format: expected the order B-40, B-43"),
        ("000000000000000e", "000000000000000E", "14:10: format: expected lower-case digits"),
        ("01 046e", "01  046e", "14:10: format: expected lower-case digits, single blanks"),
        ("level: must\n", "level: must \n", "10:14: format: blanks at the end"),
        ("  rev: 1\n  title", "  title", None),
        ('addr: "n1:1"', 'adr: "n1:1"', "13:12: specification: entries[0].adr: expected one of addr, version"),
        ("version: 14", "version: 15", "14:10: specification: the specification decodes them to"),
        ('"01 046e', '"05 046e', "14:10: specification: the specification rejects them: 5 is no message type"),
        ("class: truncated", "class: trailing", "23:20: specification: of variant truncate 0 the specification says truncated"),
    ],
)
def test_a_spoilt_codec_vector_is_found(written: Written, codec: str, old: str, new: str, finding: str | None) -> None:
    assert_found(written, "codec", codec, old, new, finding)


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("max_payload: 512", "max_payload: 0", "11:33: specification: max_payload: expected an integer from 1"),
        ("op: update_local", "op: update", "15:11: specification: type: expected one of update_local, found 'update'"),
        ("{key: k, value: v}", "{key: k}", "15:11: specification: expected a member 'value'"),
        ("query: peers", "query: poors", "26:34: specification: expected one of peers, view, status, state, found 'poors'"),
        ('"03 03623a31', '"03 04623a31', "22:29: specification: need 107 bytes, have 10"),
        ('version: "0"', "version: -1", "23:31: specification: entries[0].version: expected an unsigned 64-bit integer"),
        ("{multiset: [", "{mulitset: [", "26:41: matcher: 'mulitset' is not a matcher (did you mean 'multiset'?)"),
        (OBSERVED, "{ref: x}", "26:49: matcher: 'x' is not bound before"),
        (OBSERVED, "{any: true, x: 1}", "26:49: matcher: 'any' beside other fields is a literal, not a matcher"),
        ("    call: {node: node, op: update_local, args: {key: k, value: v}}\n", "", None),
    ],
)
def test_a_spoilt_exchange_is_found(written: Written, exchange: str, old: str, new: str, finding: str | None) -> None:
    assert_found(written, "exchange", exchange, old, new, finding)


def test_the_order_within_the_parts_of_a_step_is_free(written: Written, exchange: str) -> None:
    assert found_in(written(exchange=exchange.replace("{from: peer, to: node, ", "{to: node, from: peer, ", 1))) == []


def test_a_family_of_which_nothing_is_malformed_is_found(written: Written, codec: str) -> None:
    cut, flipped = (
        '{truncate: {bytes: "01 046e313a31 000000000000000e"}}',
        '{flip: {bytes: "01 01 61 0000000000000000", at: [10]}}',
    )

    assert found_in(written(codec=codec.replace(cut, flipped))) == [
        "scuttlebutt/codec/some.yaml:22:11: specification: no variant is left: the specification decodes all of them as messages"
    ]


def test_two_vectors_that_do_the_same_are_found_whatever_they_are_called(written: Written, codec: str) -> None:
    last = codec[codec.index("- id: scuttlebutt/codec/request-cut") :]
    twin = last.replace("request-cut", "other").replace("000e", "00 0e")

    assert found_in(written(codec=codec + twin)) == [
        "scuttlebutt/codec/some.yaml:24:3: twin: scuttlebutt/codec/other does the same as scuttlebutt/codec/request-cut"
    ]


def test_a_flag_means_one_thing_in_all_files(written: Written, codec: str, exchange: str) -> None:
    other = exchange.replace("vectors:\n", "notes:\n  edge: {kind: edge, text: Something else.}\nvectors:\n").replace(
        "  nodes:\n", "  flags: [edge]\n  nodes:\n"
    )

    (finding,) = found_in(written(codec=codec, exchange=other))

    assert "flag: 'edge' means something else at" in finding


def test_every_unreadable_file_is_named_not_only_the_first(written: Written, codec: str, exchange: str) -> None:
    _, errors = lint.read(written(codec=codec.replace("rev", "rve"), exchange=exchange.replace("rev", "rve")))

    assert [error.message.split(";")[0] for error in errors if "unknown" in error.message] == [
        "unknown field 'rve' (did you mean 'rev'?)"
    ] * 3


def test_a_citation_of_a_clause_that_is_not_there_is_found(tmp_path: Path) -> None:
    prose = tmp_path / "scuttlebutt.md"
    prose.write_text("- **B-01** *must* — As [B-02] says.\n")
    cut = catalogue.Clauses("scuttlebutt", prose, catalogue.parse(prose.read_text(), str(prose)))

    found = [str(finding) for finding in lint.citations(cut)]

    assert any(line.endswith("scuttlebutt.md:1:24: clause: scuttlebutt has no clause B-02") for line in found)
    assert any("transitions.py" in line and "no clause B-22" in line for line in found)
    assert any("property DeltaBounded: scuttlebutt has no clause B-24" in line for line in found)


@pytest.mark.slow
def test_the_suites_own_vectors_give_no_finding() -> None:
    readable, errors = lint.read(locations.vectors_root())

    assert [str(error) for error in errors] == []
    assert [str(finding) for finding in lint.findings(readable)] == []


def test_only_one_protocol_or_one_file_is_looked_at(written: Written, codec: str, capsys: Capture) -> None:
    root = written(codec=codec.replace("[B-40, B-43]", "[B-43, B-40]"))
    file, alone = root / "scuttlebutt/codec/some.yaml", root.parent / "alone.yaml"
    alone.write_bytes(file.read_bytes())

    for place in (root, file):
        assert main(["vectors", "lint", "swim", "--vectors", str(place)]) == 0
        assert capsys.readouterr().err == "0 vectors in 0 files, 0 findings\n"
    for where in ([str(root), "scuttlebutt"], [str(file)], [str(alone)]):
        assert main(["vectors", "lint", "--vectors", *where]) == 1
        assert ":11:12: format: expected the order B-40, B-43\n" in capsys.readouterr().out
