"""What can be asked of a node without changing it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from peerproof.spec.core import Duration, Instant, NodeId, Table
from peerproof.spec.forms.form import U64_MAX
from peerproof.spec.scuttlebutt import QUERIES, STATE, Config, Liveness, State, Status
from peerproof.spec.scuttlebutt.arrival import ArrivalWindow

Node = Callable[..., State]


def test_queries_show_a_node_as_plain_data(node: Node) -> None:
    state = node("b:1", {"b:1": {"k": ("v", 2**53 + 1), "a": ("", 1)}, "\udcff": {}, "a:1": {"k": ("\udcfe", 3)}})

    assert QUERIES["peers"](state) == ["a:1", "b:1", {"hex": "ff"}]
    assert QUERIES["view"](state) == [
        {"addr": "a:1", "version": "3", "pairs": [{"key": "k", "value": {"hex": "fe"}, "version": "3"}]},
        {
            "addr": "b:1",
            "version": "9007199254740993",
            "pairs": [{"key": "a", "value": "", "version": "1"}, {"key": "k", "value": "v", "version": "9007199254740993"}],
        },
        {"addr": {"hex": "ff"}, "version": "0", "pairs": []},
    ]
    assert QUERIES["status"](state) == [{"addr": "a:1", "status": "up"}, {"addr": {"hex": "ff"}, "status": "up"}]


def test_without_a_failure_detector_all_others_are_up(node: Node) -> None:
    assert QUERIES["status"](node("b:1", {"a:1": {}}, Config(detector=None))) == [{"addr": "a:1", "status": "up"}]


def test_a_state_shows_all_that_it_takes_to_be_that_state_again(node: Node) -> None:
    state = node("b:1", {"b:1": {"k": ("v", U64_MAX)}, "\udcff": {}, "a:1": {"k": ("\udcfe", 3), "": ("", 1)}})
    watched = Liveness(ArrivalWindow(Instant(7), (Duration(2000), Duration(0))), Status.DOWN, Instant(5))
    state = replace(state, liveness=Table({NodeId("a:1"): watched, NodeId("\udcff"): replace(watched, digest_sent=None)}))

    shown = json.loads(json.dumps(STATE.plain(state)))

    assert STATE.value(shown, state.self_id, state.config) == state
    assert shown["liveness"][0] == {"addr": "a:1", "status": "down", "last": 7, "intervals": [2000, 0], "digest_sent": 5}
