"""The JSON text of values is that of their plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import pytest

from peerproof.spec import scuttlebutt
from peerproof.spec.core import CancelTimer, Duration, NodeId, Notify, Send, SetTimer
from peerproof.spec.forms.form import U64, U64_MAX, Form, Integer, ListOf, OneOf, Optional, Record, Tagged, Text
from peerproof.spec.forms.json_text import LONGEST_REMEMBERED, MOST_REMEMBERED, dumps, effect_writer, remembering, writer
from peerproof.spec.scuttlebutt import Delta, DeltaEntry, DigestEntry, DigestRequest, Heartbeat, Round, Up
from peerproof.spec.traces.trace import effect_plain


class Colour(Enum):
    """Something with a value."""

    RED = "red"


class Pair(NamedTuple):
    """Two things."""

    second: int
    first: str


@dataclass(frozen=True)
class Nothing:
    """No members."""


@dataclass(frozen=True)
class Box:
    """Some members, not in the order of the alphabet."""

    pairs: tuple[Pair, ...]
    colour: Colour
    maybe: int | None


PAIR = Record(Pair, second=U64(), first=Text(most=255))
BOX = Record(Box, pairs=ListOf(PAIR), colour=OneOf(Colour), maybe=Optional(Integer()))
TEXTS = ["", "a", 'quoted "and" \\ slashed', "line\nend\x00\x1f\x7f", "é ключ \U0001f600 \u2028", "\udcff\udcfe", "100 %s %%"]

VALUES: list[tuple[Form, Any]] = [
    *((Text(most=255), text) for text in TEXTS),
    (U64(), 0),
    (U64(), U64_MAX),
    (Integer(), 2**53),
    (Optional(Text(most=9)), None),
    (Optional(Text(most=9)), "a"),
    (OneOf(Colour), Colour.RED),
    (ListOf(Integer()), ()),
    (ListOf(Text(most=255)), tuple(TEXTS)),
    (PAIR, Pair(1, "%d")),
    (BOX, Box((Pair(1, "a"), Pair(1, "a"), Pair(2, "\udcff")), Colour.RED, None)),
    (Record(Nothing), Nothing()),
    (Tagged(box=(1, BOX), nothing=(2, Record(Nothing))), Box((), Colour.RED, 7)),
    (Tagged(box=(1, BOX), nothing=(2, Record(Nothing))), Nothing()),
]


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize(("form", "value"), VALUES)
def test_a_value_is_written_as_its_plain_data(form: Form, value: Any, sort: bool) -> None:
    write = writer(form, sort=sort)

    assert write(value) == dumps(form.plain(value), sort=sort)
    assert write(value) == dumps(form.plain(value), sort=sort)  # now remembered


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize(
    "effect",
    [
        Send(NodeId("\udcff"), DigestRequest((DigestEntry(NodeId("a:1"), 1), DigestEntry(NodeId("é"), U64_MAX)))),
        Send(NodeId("a:1"), Delta((DeltaEntry(NodeId("a:1"), 'k"', "v\\", 3),))),
        SetTimer(Round(), Duration(1000)),
        CancelTimer(Round()),
        Notify(Heartbeat(NodeId("a:1"), None)),
        Notify(Heartbeat(NodeId("a:1"), Duration(12))),
        Notify(Up(NodeId("a:1"))),
    ],
)
def test_an_effect_is_written_as_its_plain_data(effect: Any, sort: bool) -> None:
    assert effect_writer(scuttlebutt, sort=sort)(effect) == dumps(effect_plain(scuttlebutt, effect), sort=sort)


def test_what_is_remembered_is_bounded() -> None:
    asked: list[str] = []

    def shout(text: str) -> str:
        asked.append(text)
        return text.upper()

    remembered = remembering(shout)
    long = "x" * (LONGEST_REMEMBERED + 1)

    assert [remembered(text) for text in ("a", "a", "b", "a", long, long)] == ["A", "A", "B", "A", long.upper(), long.upper()]
    assert asked == ["a", "b", long, long]
    for number in range(MOST_REMEMBERED):
        remembered(str(number))
    assert remembered("a") == "A"
    assert asked.count("a") == 2
