"""What breaks the rules for messages alone, and what does not: tables of `tests/spec/test_monitors.py`; and memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tests.support.distkv_samples import chain, ping, sets, ticks, update
from tests.support.watched import Watched

from peerproof.spec.core import EVERYBODY, Duration, NodeId
from peerproof.spec.distkv import Config, Info
from peerproof.spec.distkv.model import monitors

#: A node says everything to everybody; times are in clocks.
NODE = Watched("distkv", NodeId("n"), partial(Config, clock=Duration(1000)), EVERYBODY)
said, got = NODE.said, NODE.got


def info(of: str = "n1", tock: int = 1, **members: Any) -> Info:
    return Info(chain(f"{of} …"), tock, **members)


BREACHES = {
    "WithinLimit": [said(update("n1", "x" * 500))],
    "ChainsBounded": [said(ping("n1 b1 a1 b1 a1"))],
    "OwnName": [said(ping("n1", 1)), said(ping("m1", 2))],
    "TockRises": [said(ping("n1", 5)), said(info(tock=5))],
    "TicksHaveNoGaps": [said(ping("n1", 1)), said(update("n2", tock=2)), said(update("n4", tock=3))],
    "TickShown": [said(ping("n1", 1)), said(update("n2", tock=2)), said(info("n1", 3))],
    "SentAsItWas": [got(update("a1", "x", 5)), said(update("a1", "x", 6))],
    "BasedOnPing": [got(ping("a1", 1)), said(ping("n1 a1", 2), 2), said(ping("n1 a1", 3), 3)],
    "ZeroIsSilent": [said(ping("n0", 1)), got(ping("z0 y0 a5", 2)), said(ping("n0 z0 y0 a5", 3), 2)],
    "TicksGrow": [said(info(tock=1, ticks=ticks(a=3, n=1))), said(info(tock=2, ticks=ticks(a=2, n=1)))],
    "KnownWasAsked": [got(info("a1", missing=sets(b=(1,)))), said(info(tock=3, known=sets(b=(1, 2))), 3)],
}


FINE = {
    "a message that waits": [got(ping("a1", 9)), said(ping("n1", 5), 0.9)],
    "a node that has lost its data": [said(ping("n1", 9)), said(ping("n0", 2))],
    "one that had no tick either": [said(ping("n0", 9)), got(ping("a1", 3)), said(ping("n0 a1", 4), 2)],
    "a tick that is given again, because nobody knew it": [
        said(ping("n1", 1)),
        said(update("n2", "x", 2)),
        said(ping("n0", 1)),
        said(ping("n1", 2)),
        said(update("n2", "y", 3)),
    ],
    "a tick of its own that it has learnt of": [
        said(ping("n1", 1)),
        said(update("n2", tock=2)),
        got(ping("a1 n5", 1)),
        said(ping("n5", 3)),
    ],
    "old changes": [said(ping("n3", 1)), said(update("n3 a1", tock=1)), said(update("n1", tock=1))],
    "a chain that was cut to be kept": [got(update("a1 b1 c1", 5)), said(update("a1 b1 …", 5))],
    "a change of which there are two": [got(update("a1", 5)), got(update("a1", 6)), said(update("a1", 6))],
    "a ping before the log began": [said(ping("n1 a1", 1)), said(ping("n1 n1 a1", 2))],
    "a ping that is next": [said(ping("n1", 1)), got(ping("a1 n1", 2)), said(ping("n1 a1 n1", 3), 3)],
    "a ping that waits while the node pings": [
        said(ping("n1", 1)),
        got(ping("a1 n1", 2), 2),
        said(ping("n1 n1", 3), 2.5),
        said(ping("n1 a1 n1", 4), 4),
    ],
    "a chain that is long": [said(ping("n0", 1)), got(ping("z0 a5 b5", 2)), said(ping("n0 z0 a5 …", 3), 2)],
    "an answer to what came before the log began": [said(info(tock=1, known=sets(b=(1,))), 2)],
    "ticks in two messages": [said(info(tock=1, ticks=ticks(a=3))), said(info(tock=2, ticks=ticks(b=1)))],
}


MORE = {
    "messages in the order of being sent": (["TockRises"], [got(ping("a1", 9), None), said(ping("n1", 5), None)]),
    "an answer without a question, in the order of being sent": (
        ["KnownWasAsked"],
        [said(info(tock=1, known=sets(b=(1,))), None)],
    ),
}
SETTINGS: dict[str, Any] = {}


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHANGES", "WAITING", "PINGS", "RANGES"):
        monkeypatch.setattr(monitors, name, 10)
    watch = NODE.monitor()
    for number in range(1, 50):
        for seen in (got(update(f"a{number}")), got(ping(f"a{number}", number)), got(info("a1", missing=sets(b=(2 * number,))))):
            assert list(watch.see(seen)) == []

    kept = watch._life.waiting, watch._changes, watch._life.pings
    assert [len(each) for each in kept] == [10] * 3
    assert len(watch._asked[NodeId("b")].begins) <= 10
    assert list(watch.see(said(info(tock=99, known=sets(b=(2, 48, 98))), 5))) == []
