"""Clauses, citations of them, and the matrix."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import suite

from peerproof.cli.main import main
from peerproof.conformance.authoring import clause_report
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.clauses.catalogue import Citation, Clause, Clauses
from peerproof.conformance.suite.strict_yaml import VectorError

#: The beginning of a citation that does not end on its line.
_BROKEN = re.compile(r"\[[A-Z]{1,3}-\d{2,3}[^\]]*$")

PROSE = """\
# Some protocol

## State

- **B-01** *must* — The first clause, which goes on
  in a second line.
- **B-02** *should* — The second.
  Not testable, because it is hidden; nobody sees it. More words.

A paragraph cites [B-01…B-02].

- **BX-01** — Something false.
"""


def test_an_item_is_an_id_a_level_and_a_text_that_goes_on() -> None:
    items = catalogue.parse(PROSE, "some.md")

    assert list(items) == ["B-01", "B-02", "BX-01"]
    assert items["B-01"] == Clause("B-01", "must", "The first clause, which goes on in a second line.", "State", 5)
    assert items["B-02"].untestable == "it is hidden; nobody sees it"
    assert items["BX-01"].level is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("*must*", "*shall*", "some.md:5:13: expected must, should or may, found shall"),
        ("**B-02**", "**B-01**", "some.md:7:5: B-01 is already defined, in line 5"),
        ("- **B-02** *should* —", "- **B-02** *should*:", "some.md:7:1: expected an item like"),
        ("- **B-02**", "  - **B-02**", "some.md:7:1: expected an item like"),
    ],
)
def test_an_item_that_is_written_otherwise_is_an_error(old: str, new: str, message: str) -> None:
    with pytest.raises(VectorError) as caught:
        catalogue.parse(PROSE.replace(old, new), "some.md")

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[B-07]", ["B-07"]),
        ("[B-09…B-11, BA-05]", ["B-09", "B-10", "B-11", "BA-05"]),
        ("[B-01] and [BX-02]", ["B-01", "BX-02"]),
        ("[BL-01…BX-02]", ["BL-01", "BX-02"]),
        ("B-07, list[int], [B-7], [see B-07]", []),
    ],
)
def test_a_citation_stands_in_brackets(text: str, expected: list[str]) -> None:
    assert catalogue.find_clause_ids(text) == expected


def test_code_that_cites_is_named_by_the_innermost_object(tmp_path: Path) -> None:
    source = '''\
"""The module. [B-01]"""

#: A table. [B-02]
TABLE = {}


class Node:
    """A class. [B-03]"""

    size: int = 0  #: [B-04]

    @property
    def on_round(self):
        """A method. [B-05]"""
'''
    file = tmp_path / "parts.py"
    file.write_text(source)
    ast.parse(source)

    cited = dict(catalogue._code_citations(file))

    assert {clause: citation.within for clause, citation in cited.items()} == {
        "B-01": "parts",
        "B-02": "parts.TABLE",
        "B-03": "parts.Node",
        "B-04": "parts.Node.size",
        "B-05": "parts.Node.on_round",
    }
    assert cited["B-05"] == Citation(file, 14, "parts.Node.on_round")


def test_scuttlebutts_clauses_are_all_there() -> None:
    found = catalogue.load("scuttlebutt")

    assert [f"B-{number:02}" for number in range(1, 46)] == [name for name in found.items if name.startswith("B-")]
    assert {f"BA-{number:02}" for number in range(1, 28)} <= set(found.items)
    assert all(item.level for name, item in found.items.items() if name.startswith(("B-", "BA-")))


def test_a_row_without_code_or_vector_is_a_hole_unless_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Clauses("scuttlebutt", Path("some.md"), catalogue.parse(PROSE, "some.md"))
    monkeypatch.setitem(found.__dict__, "code", {"BX-01": []})
    for column in ("properties", "models", "proofs"):
        monkeypatch.setitem(found.__dict__, column, {"B-01": [f"one of {column}"]})

    first, second = clause_report.matrix(found, [])

    assert first.holes == ("code", "vector")
    assert second.holes == ()
    text = clause_report.as_text([first, second])
    assert "hole: B-01 has no code and no vector" in text
    assert "not testable: B-02, because it is hidden; nobody sees it" in text
    assert text.endswith("2 clauses, 0 with vectors, 1 hole")
    table = clause_report.as_markdown([first, second])
    assert "| B-01 | must | **hole** | **hole** | one of properties | one of models | one of proofs |" in table
    assert table.count("**hole**") == 2
    assert json.loads(clause_report.as_json({"some": [first]}))["some"][0]["holes"] == ["code", "vector"]


def test_clauses_are_sorted_by_kind_and_number() -> None:
    assert sorted(["BA-01", "B-10", "B-09", "B-100"], key=catalogue.in_order) == ["B-09", "B-10", "B-100", "BA-01"]


@pytest.mark.slow
def test_every_clause_of_scuttlebutt_is_held_by_code_and_vectors_or_says_why_not() -> None:
    rows = clause_report.matrix(catalogue.load("scuttlebutt"), suite().vectors)

    assert [f"{row.clause} has no {' and no '.join(row.holes)}" for row in rows if row.holes] == []


@pytest.mark.slow
def test_of_the_vectors_of_a_clause_the_one_with_the_fewest_others_meets_it(capsys: Capture) -> None:
    vectors = suite().vectors
    meetings = {each.clause: each for each in clause_report.find_meetings(catalogue.load("scuttlebutt"), vectors)}
    by_id = {vector.id: vector for vector in vectors}

    assert meetings["BA-12"].is_alone
    near = next(each for each in meetings.values() if each.vector and not each.is_alone)
    assert near.vector is not None
    assert set(by_id[near.vector].clauses) == {near.clause, *near.others}
    fewest = min(len(vector.clauses) for vector in vectors if vector.layer != "model" and near.clause in vector.clauses)
    assert len(near.others) == fewest - 1
    assert "B-21" not in meetings  # the prose says why nothing can test it

    assert main(["vectors", "coverage", "--alone", "scuttlebutt"]) == 0
    text = capsys.readouterr().out
    assert f"{near.clause}: {near.vector} with {' '.join(near.others)}\n" in text
    assert "BA-12: " not in text


def test_no_citation_in_code_is_broken_over_two_lines() -> None:
    """Code is searched line by line, so such a citation would be none."""
    sources = [path for part in ("spec", "reference") for path in (Path(__file__).parents[3] / part).rglob("*.py")]
    broken = [(path.name, line) for path in sources for line in path.read_text("utf-8").splitlines() if _BROKEN.search(line)]

    assert sources
    assert broken == []
