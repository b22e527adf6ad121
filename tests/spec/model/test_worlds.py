"""Bounded worlds: the graphs that TLC finds, and the same ones by several processes and after an interruption."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from peerproof.spec.model.bounded import Model
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla.manifest import configurations

#: Those of DistKV and Peter are in `tests/conformance/models`.
GRAPHS = [("scuttlebutt", "tiny")] + [
    ("wendy", name)
    for name, configuration in configurations("wendy").items()
    if "digest" in configuration.expected and name.startswith(("tiny", "small"))
]

#: Of each protocol one in which nearly everything happens; Peter's messages are in order or not.
SHARED = [
    ("wendy", "small-crash"),
    ("peter", "small-churn"),
    ("peter", "small-bag"),
    ("distkv", "small-split"),
    ("swim", "small-restart"),
]


def model(protocol: str, name: str) -> Model:
    found: Model = PROTOCOLS[protocol].bounded.load().Model(configurations(protocol)[name].constants)
    return found


@pytest.mark.parametrize(("protocol", "name"), GRAPHS)
def test_graph_is_the_one_that_is_written_down(protocol: str, name: str) -> None:
    found = explore(model(protocol, name), digest=True)

    counts = {"distinct": len(found.depths), "generated": found.edges.total() + 1, "depth": max(found.depths.values()) + 1}
    assert {**counts, "digest": str(found.digest)}.items() <= configurations(protocol)[name].expected.items()


def everything(explored: Exploration) -> tuple[Any, ...]:
    """All that can be asked of an exploration, orders and numbers included."""
    orders = list(explored.depths.items()), list(explored.parents.items())
    return *orders, explored.edges, str(explored.digest), explored.system.states, explored.system.messages


@pytest.mark.parametrize(("protocol", "name"), SHARED)
def test_graph_is_the_same_by_several_processes_and_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, name: str
) -> None:
    monkeypatch.setattr("peerproof.spec.model.explorer.WORTH_SHARING", 2)

    def interrupt(_seen: int, _waiting: int, depth: int) -> None:
        if depth == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(model(protocol, name), digest=True, checkpoint=tmp_path, processes=2, progress=interrupt)
    resumed = explore(model(protocol, name), digest=True, checkpoint=tmp_path, processes=2)

    assert len(resumed.depths) > 500
    assert everything(resumed) == everything(explore(model(protocol, name), digest=True))
