"""The JSON text of values is that of their plain data."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.spec import scuttlebutt
from peerproof.spec.core import CancelTimer, Duration, NodeId, Notify, Send, SetTimer
from peerproof.spec.forms.form import U64_MAX, Text
from peerproof.spec.forms.json_text import LONGEST_REMEMBERED, MOST_REMEMBERED, dumps, effect_writer, remembering, writer
from peerproof.spec.scuttlebutt import Delta, DeltaEntry, DigestEntry, DigestRequest, Heartbeat, Round, Up
from peerproof.spec.traces.trace import effect_plain

TEXTS = ["", "a", 'quoted "and" \\ slashed', "line\nend\x00\x1f\x7f", "é ключ \U0001f600 \u2028", "\udcff\udcfe", "100 %s %%"]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_written_as_its_plain_data(text: str) -> None:
    """Values of all other forms are those of the protocols, in `tests/spec/test_codecs.py`."""
    form = Text(most=255)

    assert writer(form)(text) == dumps(form.plain(text))


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
