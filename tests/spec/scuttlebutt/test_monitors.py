"""What breaks the rules for messages alone, and what does not: tables of `tests/spec/test_monitors.py`; lives, and memory."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.watched import Watched

from peerproof.spec.core import NodeId
from peerproof.spec.scuttlebutt import Config, Delta, DeltaEntry, DigestEntry, DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.model import monitors

A, B, C, D = (NodeId(f"{name}:1") for name in "abcd")
NODE = Watched("scuttlebutt", A, Config, B)
said, got = NODE.said, NODE.got


def request(*entries: tuple[NodeId, int]) -> DigestRequest:
    return DigestRequest(tuple(DigestEntry(*entry) for entry in entries))


def response(*entries: tuple[NodeId, int]) -> DigestResponse:
    return DigestResponse(tuple(DigestEntry(*entry) for entry in entries))


def delta(*entries: tuple[NodeId, str, int]) -> Delta:
    return Delta(tuple(DeltaEntry(addr, key, "v", version) for addr, key, version in entries))


ASKED = got(request((B, 5), (C, 3), (D, 4)))
ANSWERED = said(delta((C, "k", 4)))

#: The node has shown to know C at 4, and C is not heard again: whatever it forgets then, it has not restarted.
KNOWS = [got(request((A, 0))), got(delta((C, "k", 4))), said(request((A, 3), (C, 4)))]

BREACHES = {
    "WithinLimit": [said(request((A, 0), (B, 0)))],
    "TypeWithinLimit": [said(request((A, 0)))],
    "EachPeerOnce": [said(request((A, 1), (B, 1), (B, 1)))],
    "ListsItself": [said(request((A, 1))), said(request((B, 1)))],
    "ListsKnown": [*KNOWS, said(request((A, 3), (B, 0), (C, 4))), said(request((A, 3), (C, 4)))],
    "OwnVersionGrows": [*KNOWS, *[said(request((A, 2), (C, 4)))] * 3],  # which is told once
    "KnownVersionsGrow": [*KNOWS, said(request((A, 3), (C, 3)))],
    "OneValue": [*KNOWS, said(delta((C, "k", 4))), said(Delta((DeltaEntry(C, "k", "other", 4),)))],
    "DeltaOrder": [ASKED, said(delta((C, "k", 5), (C, "l", 4)))],
    "DeltaByPeer": [ASKED, said(delta((C, "k", 4), (D, "k", 5), (C, "l", 5)))],
    "DeltaOfListed": [ASKED, ANSWERED, said(delta((A, "k", 1)))],
    "DeltaIsNewer": [ASKED, ANSWERED, said(delta((C, "k", 4), (D, "k", 4)))],
    "ResponseNotEmpty": [ASKED, said(response())],
    "ResponseAfterDelta": [ASKED, said(delta()), said(response((B, 4))), ASKED, said(response((B, 4)))],
    "ResponseNotOfOneself": [got(request((A, 9))), said(response((A, 1)))],
    "ResponseToRequest": [got(response((B, 5))), said(response((B, 4)))],
    "ResponseIsBehind": [ASKED, said(response((C, 4)))],
    "ResponseIsOwn": [ASKED, said(response((C, 3)))],
    "ResponseInOrder": [ASKED, said(response((C, 2), (B, 1)))],
}

MORE: dict[str, Any] = {}

#: Limits in bytes under which the first message is too large.
SETTINGS = {"WithinLimit": {"max_payload": 20}, "TypeWithinLimit": {"max_payload": 12}}


FINE = {
    "an answer to what was said before the capture began": [said(delta((C, "k", 5)))],
    "a response to what was said before the capture began": [said(response((C, 5)))],
    "the usual answer": [ASKED, said(delta()), said(response((B, 0), (D, 1)))],
    "a node that is known under another address": [said(request((B, 1))), said(request((B, 1)))],
    "a digest that lists a peer twice": [
        got(request((C, 0), (C, 0))),
        said(delta((C, "k", 1), (C, "l", 2), (C, "k", 1), (C, "l", 2))),
    ],
    "a digest that comes twice": [ASKED, ASKED, ANSWERED, ANSWERED],
    "the same version again": [said(request((A, 3))), said(request((A, 3)), to=C)],
    "a node that restarts and knows nothing any more": [*KNOWS, said(request((A, 0)))],
    "its first answer": [*KNOWS, ASKED, said(delta()), said(response((C, 0))), said(request((A, 0), (C, 0)))],
    "a node that restarts and is told all before it says a word": [
        *KNOWS,
        got(delta((C, "k", 4))),
        said(delta()),
        said(request((A, 0), (C, 4))),
    ],
    "another value at a version of the life before": [
        *KNOWS,
        said(delta((A, "k", 3))),
        said(request((A, 0))),
        said(Delta((DeltaEntry(A, "k", "other", 3),))),
    ],
    "two values that others have sent": [got(delta((C, "k", 4))), got(Delta((DeltaEntry(C, "k", "w", 4),)))],
    "a node that is told after a restart what it knew": [
        *(*KNOWS, said(request((A, 0)))),
        *(got(delta((C, "k", 4))), said(request((A, 3), (C, 4)))),
    ],
    "a digest of less after a restart": [*KNOWS, said(request((A, 3), (C, 4))), said(request((A, 3)))],
}


def test_a_restart_counts_a_life() -> None:
    watch = NODE.monitor()
    lives = [watch.lives for each in (*KNOWS, said(request((A, 0))), said(request((A, 1)))) if list(watch.see(each)) == []]

    assert lives == [1, 1, 1, 2, 2]


def test_who_knows_after_a_restart_what_nobody_has_told_it_since_has_not_restarted() -> None:
    watch = NODE.monitor()
    excused = [violation for each in (*KNOWS, said(request((A, 0)))) for violation in watch.see(each)]
    refuted = [violation.rule.name for violation in watch.see(said(request((A, 3), (C, 4))))]

    assert (excused, refuted, watch.lives) == ([], ["OwnVersionGrows", "ListsKnown"], 1)


def test_the_memory_of_values_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitors, "VALUES", 50)
    watch = NODE.monitor()
    for number in range(monitors.VALUES + 10):
        list(watch.see(said(delta((C, str(number), 1)))))

    assert len(watch._values) <= monitors.VALUES
