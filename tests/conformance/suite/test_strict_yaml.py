"""The part of YAML that every reader reads alike."""

from __future__ import annotations

import pytest
import yaml

from peerproof.conformance.suite.strict_yaml import MAX_DEPTH, Place, VectorError, parse


def test_what_is_left_of_yaml_is_json_data() -> None:
    source = b"""\
a: [1, -20, true, false, null, {}, []]
"b c": {d: plain text, e: 'it''s', f: "\\u00e9", g: "017"}
h: |
  two
  lines
addr: b:1
hex: 03613a31 00ff
fractions: [1.5, -0.25, 1234.0625]
"""

    document = parse(source, "file")

    assert document.data == {
        "a": [1, -20, True, False, None, {}, []],
        "b c": {"d": "plain text", "e": "it's", "f": "é", "g": "017"},
        "h": "two\nlines\n",
        "addr": "b:1",
        "hex": "03613a31 00ff",
        "fractions": [1.5, -0.25, 1234.0625],
    }
    assert document.data == yaml.safe_load(source)


def test_each_part_knows_its_place() -> None:
    document = parse(b"a:\n- b: [x,\n    z]\n", "file")

    assert document.keys["a",] == Place(1, 1)
    assert document.keys["a", 0, "b"] == Place(2, 3)
    assert document.values["a", 0, "b", 1] == Place(3, 5)


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("a: &x 1\n", (1, 4), "anchor &x"),
        ("a: 1\nb: *x\n", (2, 4), "alias *x"),
        ("a: !!str 1\n", (1, 4), "tag tag:yaml.org,2002:str"),
        ("%YAML 1.1\n---\na: 1\n", (1, 1), "directives"),
        ("a: 1\n---\nb: 2\n", (2, 1), "a second document"),
        ("a: 1\nb: 2\na: 3\n", (3, 1), "key 'a' occurs twice, first in line 1"),
        ("a: {b: 1, b: 1}\n", (1, 11), "key 'b' occurs twice"),
        ("<<: {a: 1}\n", (1, 1), "a key of its own kind"),
        ("? [a]\n: 1\n", (1, 3), "a key must be a string"),
        ("1: a\n", (1, 1), "a key must be a string, not 1"),
        ("on: a\n", (1, 1), "on is a boolean to some readers"),
        ("a:\n", (1, 3), "nothing is null to some readers"),
        ("a: ~\n", (1, 4), "write null"),
        ("a: No\n", (1, 4), "a boolean"),
        ("a: y\n", (1, 4), "a boolean"),
        ("a: TRUE\n", (1, 4), "write true or false"),
        ("a: 017\n", (1, 4), "an octal number"),
        ("a: 0o17\n", (1, 4), "an octal number"),
        ("a: 0x1f\n", (1, 4), "a number"),
        ("a: 1_000\n", (1, 4), "a number"),
        ("a: 1.0\n", (1, 4), "a number to some readers; write a whole number, a fraction in its shortest form"),
        ("a: 1.50\n", (1, 4), "a number"),
        ("a: .5\n", (1, 4), "a number"),
        ("a: 0.1000000000000000055511151231257827\n", (1, 4), "a number"),
        ("a: 6e31\n", (1, 4), "a number"),
        ("a: .nan\n", (1, 4), "a number"),
        ("a: 12:30\n", (1, 4), "a number to the base 60"),
        ("a: 2024-01-31\n", (1, 4), "a date"),
        ("a: 9007199254740993\n", (1, 4), 'write {u64: "9007199254740993"}'),
        ("", (1, 1), "the file is empty"),
        ("a: [1\n", (2, 1), "not YAML"),
        ("a: 1\n\tb: 2\n", (2, 1), "not YAML"),
        ("a: 1\nb: \x07\n", (2, 4), "not YAML"),
        ("[" * (MAX_DEPTH + 1), (1, MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH}"),
    ],
)
def test_the_rest_is_an_error_with_its_place(source: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(VectorError) as caught:
        parse(source.encode(), "some.yaml")

    assert (caught.value.line, caught.value.column) == place
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"some.yaml:{place[0]}:{place[1]}: ")


def test_bytes_that_are_no_utf_8_are_an_error_with_their_place() -> None:
    with pytest.raises(VectorError, match=r"^some.yaml:2:5: byte ff is not UTF-8$"):
        parse(b"a: 1\nb: \xc3\xa9\xff\n".replace(b"\xc3\xa9", b"e"), "some.yaml")


def test_without_the_parser_in_c_the_errors_are_in_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)

    assert parse(b"a: [x, {b: c}]\n", "file").data == {"a": ["x", {"b": "c"}]}
    with pytest.raises(VectorError, match=r"^file:2:4: alias \*x"):
        parse(b"a: 1\nb: *x\n", "file")
