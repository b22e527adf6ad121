"""DistKV's models in pictures: what messages say, and what a step has changed at a node."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.spec.distkv.model.notation import change_texts, content_text

A, B, CUT = (((1, 2),), False), (((2, 1), (1, 2)), False), (((2, 1), (1, 2)), True)
NOTHING: frozenset[Any] = frozenset()


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ((2, 1, "update", 1, B, 7, 3), "update: /1 = 7 [n2@1 n1@2] tock 3"),
        ((2, 1, "update", 0, A, 0, 3), "update: / = Null [n1@2] tock 3"),
        ((2, 1, "ping", CUT, 3), "ping: [n2@1 n1@2 …] tock 3"),
        ((2, 1, "info", 4, (), 3, NOTHING, frozenset({(2, 4), (1, 2)}), NOTHING, (CUT,)),
         "info of n2@4: ticks n1@2 n2@4, reason [n2@1 n1@2 …], tock 3"),
        ((2, 1, "info", 4, (A,), 3, frozenset({(1, 1)}), NOTHING, frozenset({(1, 2)}), ()),
         "info of n2@4: known n1@1, missing n1@2, prev [n1@2], tock 3"),
        ((2, 1, "load"), "load"),
        ((2, 1, "refused"), "refused"),
        ((2, 1, "loaded", frozenset({(1, A, 7, 2)}), frozenset({(1, 1)}), frozenset({(1, 2)}), 3),
         "loaded: /1 = 7 [n1@2] tock 2, superseded n1@1, ticks n1@2, tock 3"),
    ],
)  # fmt: skip
def test_message_says_all_that_it_holds(message: Any, text: str) -> None:
    assert content_text(message) == text


@pytest.mark.parametrize(
    ("name", "was", "now", "texts"),
    [
        ("phase", "empty", "ready", ["ready"]),
        ("ticks", frozenset({(1, 1), (2, 4)}), frozenset({(1, 2), (2, 4)}), ["ticks n1@2"]),
        ("entries", frozenset({(1, A, 7, 2)}), frozenset({(1, B, 8, 3)}), ["/1 = 8 [n2@1 n1@2] tock 3"]),
        ("entries", frozenset({(0, A, 7, 2)}), NOTHING, ["/ is gone"]),
        ("superseded", frozenset({(1, 1)}), frozenset({(1, 2)}), ["superseded n1@2", "no longer superseded n1@1"]),
        ("last", (), (A, 2), ["last [n1@2] tock 2"]),
        ("last", (A, 2), (), ["no last"]),
        ("wanted", frozenset({(1, 1)}), NOTHING, ["wanted nothing"]),
        ("tried", NOTHING, frozenset({2, 1}), ["tried n1 n2"]),
        ("source", 0, 2, ["downloads from n2"]),
        ("source", 2, 0, ["no download under way"]),
        ("newcomer", (), (A,), ["newcomer [n1@2]"]),
        ("newcomer", (A,), (), ["no newcomer"]),
        ("timers", frozenset({"ping"}), frozenset({"known", "ping"}), ["timers known ping"]),
        ("up", True, False, ["down"]),
        ("tock", 1, 2, ["tock 2"]),
        ("recovery", (), (A, frozenset({2, 1}), True, (B,), NOTHING),
         ["recovers because of the ping [n2@1 n1@2]: mine [n1@2], side n1 n2, lost"]),
        ("recovery", (), (A, frozenset({1}), False, (), NOTHING), ["recovers because of a reason: mine [n1@2], side n1, won"]),
        ("recovery", (A, frozenset({1}), False, (), NOTHING), (A, frozenset({1}), False, (), frozenset({(1, 1)})),
         ["covered n1@1"]),
        ("recovery", (A, frozenset({1}), False, (), NOTHING), (), ["the recovery is over"]),
    ],
)  # fmt: skip
def test_only_what_is_new_is_said(name: str, was: Any, now: Any, texts: list[str]) -> None:
    assert list(change_texts(name, was, now)) == texts
