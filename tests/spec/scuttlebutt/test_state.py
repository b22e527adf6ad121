"""What can be asked of a node without changing it."""

from __future__ import annotations

from collections.abc import Callable

from peerproof.spec.scuttlebutt import QUERIES, Config, State

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
