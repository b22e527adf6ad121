"""A line of a trace is read whole or refused with the place where it is wrong."""

from __future__ import annotations

import json

import pytest

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.traces.trace import parse

GOOD = {
    "run": "r",
    "protocol": "p",
    "impl": "i",
    "node": "n",
    "seq": 0,
    "t_us": 0,
    "kind": "start",
    "peer": None,
    "args": {},
    "picks": [["why", ["a", 1]]],
    "effects": [],
    "state": None,
}


def test_options_of_a_pick_may_be_texts_or_numbers() -> None:
    assert parse(json.dumps(GOOD)).picks == (("why", ("a", 1)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a trace line: "),
        ("{", "not a trace line: "),
        ("[" * 100_000, "not a trace line: it nests too deep"),
        ("9" * 5000, "not a trace line: a number has too many digits"),
        ("\x00\xff", "not a trace line: "),
        ("null", "expected an object with run, "),
        ("[]", "expected an object with run, "),
        ("{}", "expected a member 'run', found {}"),
        (json.dumps({**GOOD, "more": 1}), "more: expected one of run, "),
        (json.dumps({**GOOD, "seq": "0"}), "seq: expected an integer"),
        (json.dumps({**GOOD, "seq": True}), "seq: expected an integer"),
        (json.dumps({**GOOD, "seq": -1}), "seq: expected an integer"),
        (json.dumps({**GOOD, "t_us": 1.5}), "t_us: expected an integer"),
        (json.dumps({**GOOD, "t_us": float("nan")}), "t_us: expected an integer"),
        (json.dumps({**GOOD, "node": ["n"]}), "node: expected a string"),
        (json.dumps({**GOOD, "node": "\ud800"}), "node: expected a string"),
        (json.dumps({**GOOD, "peer": 1}), "peer: expected a string"),
        (json.dumps({**GOOD, "picks": None}), "picks: expected a list, found None"),
        (json.dumps({**GOOD, "picks": [["why"]]}), "picks[0]: expected a place and the options taken there, found ['why']"),
        (json.dumps({**GOOD, "picks": [["why", "ab"]]}), "picks[0]: expected a place and the options"),
        (json.dumps({**GOOD, "picks": [[1, []]]}), "picks[0]: expected a place and the options"),
        (json.dumps({**GOOD, "picks": [["why", [["a"]]]]}), "picks[0]: expected a string"),
        (json.dumps({**GOOD, "picks": [["why", [1.5]]]}), "picks[0]: expected a string"),
        (json.dumps({**GOOD, "effects": {}}), "effects: expected a list, found {}"),
        (json.dumps({**GOOD, "state": 5}), "state: expected a string"),
        (json.dumps({key: GOOD[key] for key in GOOD if key != "picks"}), "expected a member 'picks'"),
    ],
)  # fmt: skip
def test_garbage_is_named_and_not_a_crash(text: str, message: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        parse(text)

    assert caught.value.detail.startswith(message)
